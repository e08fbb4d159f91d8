"""The contact sheet: what the survey looks like, a row of frames for each site or sequence."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reseed.base.errors import TableError
from reseed.base.parallel import ordered_map
from reseed.figures.style import MUTED, SMALL_PT, TEXT_PT, Sheet, counted, plain_axes, styled
from reseed.patches.resize import resize
from reseed.survey.frame_pixels import frame_pixels, pieces_of_frames

_WIDTH_IN, _LEAST_IN, _CELL_IN = 9.6, 6.0, 2.1
_MARGIN_IN, _GAP_IN = 0.25, 0.06
_CHAR_IN, _LINE_IN = 0.09, 0.165
MAX_ROWS = 8
MAX_COLUMNS = 6


def pick_frames(frames: pd.DataFrame, limit: int = 32) -> pd.DataFrame:
    """Choose the frames of a contact sheet: spread evenly along each sequence, or each site where there are many.

    Args:
        frames: Table FRAMES.
        limit: About how many frames in all.

    Returns:
        Columns frame_id, row (name of the row it belongs to) and detail (what the row holds, for its label), in
        drawing order. A row is a sequence if at most 8 sequences exist, else a site; with more than 8 sites, 8 of them
        spread evenly over the sorted names.

    Raises:
        TableError: If there is no frame.
    """
    if frames.empty:
        raise TableError("no frame to show; see data/catalog/quarantine.csv for what was left out and why")
    ordered = frames.sort_values("frame_id", kind="stable")
    by_sequence = len(ordered[["site", "sequence"]].drop_duplicates()) <= MAX_ROWS
    keys = ["site", "sequence"] if by_sequence else ["site"]
    groups = list(ordered.groupby(keys, sort=True))
    shown = [groups[index] for index in _spread(len(groups), MAX_ROWS)]
    per_row = min(max(limit // len(shown), 2), MAX_COLUMNS)
    picked = []
    for _, group in shown:
        site, sequence = str(group["site"].iloc[0]), str(group["sequence"].iloc[0])
        alone = len(set(ordered.loc[ordered["site"] == site, "sequence"])) == 1
        name = site if not by_sequence or alone else f"{site}\n{sequence}"
        detail = counted(len(group), "frame")
        picked += [(group["frame_id"].iloc[index], name, detail) for index in _spread(len(group), per_row)]
    return pd.DataFrame(picked, columns=["frame_id", "row", "detail"])


@styled
def contact_sheet(
    images: Sequence[NDArray[np.uint8]],
    rows: Sequence[str],
    title: str,
    *,
    details: Sequence[str] | None = None,
    subtitle: str = "",
    synthetic: bool,
) -> Figure:
    """Draw thumbnails in rows, with the name of each row at its left.

    Args:
        images: Thumbnails, each (h, w, 3) uint8 RGB, about 320 px wide; shapes may differ.
        rows: For each image the name of its row, such as its site; what follows a line break is written smaller.
        title: What the reader sees, in one sentence.
        details: For each image a last, smaller line for its row, such as a count of frames; a row's first one is shown.
        subtitle: What was left out, or how to read it.
        synthetic: Whether the frames are rendered; says so above the title.

    Raises:
        TableError: If there is no image, or not one row name for each.
    """
    if len(images) == 0 or len(images) != len(rows) or (details is not None and len(details) != len(rows)):
        raise TableError(f"{len(images)} images for {len(rows)} row names; at least one image, a row name for each")
    names = list(dict.fromkeys(rows))
    members = {name: [index for index, row in enumerate(rows) if row == name] for name in names}
    columns = max(len(indices) for indices in members.values())
    tallest = max(image.shape[0] / image.shape[1] for image in images)
    label_in = min(_CHAR_IN * max(len(line) for name in names for line in name.split("\n")) + 0.2, 2.6)
    taken_in = 2 * _MARGIN_IN + label_in + (columns - 1) * _GAP_IN
    cell_in = min((_WIDTH_IN - taken_in) / columns, _CELL_IN)
    step_in = max(cell_in * tallest, 4 * _LINE_IN) + _GAP_IN
    body_in = step_in * len(names) + 0.2
    sheet = Sheet(max(taken_in + columns * cell_in, _LEAST_IN), body_in, title, subtitle, synthetic=synthetic)
    for row, name in enumerate(names):
        top = body_in - row * step_in
        first, *more = name.split("\n")
        more += [] if details is None else [details[members[name][0]]]
        sheet.text(_MARGIN_IN, top - 0.02, first, va="top", fontsize=TEXT_PT, fontweight="bold")
        for line, text in enumerate(more, start=1):
            sheet.text(_MARGIN_IN, top - 0.04 - line * _LINE_IN, text, va="top", fontsize=SMALL_PT, color=MUTED)
        for column, index in enumerate(members[name]):
            _thumbnail(sheet, images[index], _MARGIN_IN + label_in + column * (cell_in + _GAP_IN), top, cell_in)
    return sheet.figure


def _thumbnail(sheet: Sheet, image: NDArray[np.uint8], left_in: float, top_in: float, width_in: float) -> None:
    height_in = width_in * image.shape[0] / image.shape[1]
    ax = sheet.axes(left_in, top_in - height_in, width_in, height_in)
    ax.imshow(image, interpolation="antialiased", aspect="auto")
    plain_axes(ax)


def _spread(count: int, wanted: int) -> list[int]:
    """Return at most `wanted` of `count` positions, evenly spread, first and last included."""
    if count <= wanted:
        return list(range(count))
    return [round(step * (count - 1) / (wanted - 1)) for step in range(wanted)]


_THUMBNAIL_WIDTH_PX = 320


def survey_sheet(frames: pd.DataFrame, pieces: pd.DataFrame, raw: Path) -> Figure:
    """Draw a sample of the frames by site or sequence.

    Args:
        frames: Table FRAMES.
        pieces: Table PIECES.
        raw: Folder that frame ids are relative to.
    """
    picked = pick_frames(frames)
    size_of = {row["frame_id"]: (row["width_px"], row["height_px"]) for row in frames.to_dict("records")}
    pieces_of = pieces_of_frames(pieces)

    def thumbnail(frame_id: str) -> NDArray[np.uint8]:
        image = frame_pixels(raw, frame_id, pieces_of.get(frame_id), *size_of[frame_id])
        height_px, width_px = image.shape[:2]
        return resize(image, _THUMBNAIL_WIDTH_PX, max(1, round(_THUMBNAIL_WIDTH_PX * height_px / width_px)))

    ids = picked["frame_id"].tolist()
    images = list(ordered_map(thumbnail, ids, total=len(ids), unit="frame", what="contact sheet"))
    sites, sequences = frames["site"].nunique(), frames["sequence"].nunique()
    title = f"{counted(len(frames), 'frame')} of {counted(sequences, 'sequence')} at {counted(sites, 'site')}"
    return contact_sheet(
        images,
        picked["row"].tolist(),
        title,
        details=picked["detail"].tolist(),
        subtitle="all of them" if len(ids) == len(frames) else f"{len(ids)} of them, spread evenly along each row",
        synthetic=bool((frames["synthetic"] == 1).any()),
    )
