"""Frames side by side: contact sheets of the catalog, and views that train and test share."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from reseed.base.errors import TableError
from reseed.base.parallel import ordered_map
from reseed.figures.style import INK, MUTED, SMALL_PT, TEXT_PT, Sheet, counted, plain_axes, styled
from reseed.patches.resize import resize
from reseed.survey.imagery import frame_pixels, pieces_of_frames

_WIDTH_IN, _LEAST_IN, _CELL_IN = 7.2, 5.0, 1.6
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


# Colour-blind safe, and none of the three classes' colours.
_FIRST, _SECOND = "#e6550d", "#0b7285"
_COLUMNS: Final = 3
_VIEWS_WIDTH_IN: Final = 7.2
_VIEWS_MARGIN_IN, _VIEWS_GAP_IN, _CAPTION_IN, _ROW_GAP_IN = 0.25, 0.14, 0.42, 0.2
_EMPTY: Final = "#eef1f4"
_WHITE_PERCENTILE: Final = 99.5
_TILES: Final = 6  # along the shorter edge of what two views have in common


@dataclass(frozen=True)
class PairOfViews:
    """Two frames and how the second lies in the first.

    Args:
        first: (H, W, 3) uint8 RGB.
        second: (H2, W2, 3) uint8 RGB, at the same scale.
        down_px: Shift of the second in the first, positive downwards.
        right_px: The same to the right.
        names: Of the two frames, short.
        splits: Of the two.
        finding: What they have in common, in a few words.
    """

    first: NDArray[np.uint8]
    second: NDArray[np.uint8]
    down_px: int
    right_px: int
    names: tuple[str, str]
    splits: tuple[str, str]
    finding: str


@styled
def shared_views_figure(pairs: Sequence[PairOfViews], title: str, subtitle: str, *, synthetic: bool) -> Figure:
    """Draw each pair in a row: both frames with what they have in common outlined, then that part from both in turn.

    Args:
        pairs: Worst first; none gives a sheet with the words alone.
        title: The finding.
        subtitle: What was looked at.
        synthetic: Whether any frame is synthetic.
    """
    edge_in = (_VIEWS_WIDTH_IN - 2 * _VIEWS_MARGIN_IN - (_COLUMNS - 1) * _VIEWS_GAP_IN) / _COLUMNS
    heights = [edge_in * max(p.first.shape[0] / p.first.shape[1], p.second.shape[0] / p.second.shape[1]) for p in pairs]
    body_in = sum(height + _CAPTION_IN + _ROW_GAP_IN for height in heights)
    sheet = Sheet(_VIEWS_WIDTH_IN, body_in, title, subtitle, synthetic=synthetic)
    top = body_in
    for pair, height in zip(pairs, heights, strict=True):
        boxes = common_boxes(pair.first.shape, pair.second.shape, pair.down_px, pair.right_px)
        lit = _brightened(pair.first, pair.second)
        notes = ((*pair.splits, pair.finding), (*pair.names, "both in turn, the second shifted to fit"))
        axes = [
            sheet.axes(_VIEWS_MARGIN_IN + i * (edge_in + _VIEWS_GAP_IN), top - height, edge_in, height)
            for i in range(_COLUMNS)
        ]
        for column, colour in enumerate((_FIRST, _SECOND)):
            _frame(axes[column], lit[column], boxes[column], colour)
        _in_turn(axes[2], lit, boxes)
        for column, colour in enumerate((_FIRST, _SECOND, INK)):
            left = _VIEWS_MARGIN_IN + column * (edge_in + _VIEWS_GAP_IN)
            how = {"va": "top", "ha": "left"}
            sheet.text(
                left, top - height - 0.07, notes[0][column], fontsize=TEXT_PT, color=colour, weight="bold", **how
            )
            sheet.text(left, top - height - 0.25, notes[1][column], fontsize=SMALL_PT, color=MUTED, **how)
        top -= height + _CAPTION_IN + _ROW_GAP_IN
    return sheet.figure


def common_boxes(
    first: tuple[int, ...], second: tuple[int, ...], down_px: int, right_px: int
) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
    """Return the part in common as (x0, y0, x1, y1) in each of two views.

    Args:
        first: Shape of the first, height before width.
        second: Shape of the second.
        down_px: Shift of the second in the first.
        right_px: The same to the right.
    """
    y0, x0 = max(0, down_px), max(0, right_px)
    y1, x1 = min(first[0], second[0] + down_px), min(first[1], second[1] + right_px)
    y1, x1 = max(y0, y1), max(x0, x1)
    return (x0, y0, x1, y1), (x0 - right_px, y0 - down_px, x1 - right_px, y1 - down_px)


def mosaic(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], int]:
    """Return two views of one place as a chequerboard, tiles of the first and the second in turn, and a tile's edge.

    Args:
        first: (H, W, 3) uint8.
        second: The same shape.
    """
    height, width = first.shape[:2]
    tile = max(1, round(min(height, width) / _TILES))
    rows, columns = np.arange(height)[:, None] // tile, np.arange(width)[None, :] // tile
    return np.where(((rows + columns) % 2 == 0)[:, :, None], first, second), tile


def _frame(ax: Axes, image: NDArray[np.uint8], box: tuple[int, int, int, int], colour: str) -> None:
    height, width = image.shape[:2]
    ax.imshow(image, interpolation="antialiased", extent=(0, width, height, 0))
    _bare(ax, width, height)
    x0, y0, x1, y1 = box
    ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, facecolor="none", edgecolor=colour, linewidth=2, clip_on=False))


def _in_turn(ax: Axes, images: Sequence[NDArray[np.uint8]], boxes: Sequence[tuple[int, int, int, int]]) -> None:
    """Draw what two views have in common where it lies in the first."""
    height, width = images[0].shape[:2]
    _bare(ax, width, height)
    ax.add_patch(Rectangle((0, 0), width, height, facecolor=_EMPTY, edgecolor="none", zorder=-1))
    parts = [image[y0:y1, x0:x1] for image, (x0, y0, x1, y1) in zip(images, boxes, strict=True)]
    if not parts[0].size:
        return
    picture, tile = mosaic(*parts)
    x0, y0, x1, y1 = boxes[0]
    ax.imshow(picture, interpolation="antialiased", extent=(x0, x1, y1, y0))
    white = (1.0, 1.0, 1.0, 0.6)
    ax.vlines(range(x0 + tile, x1, tile), y0, y1, colors=white, linewidth=0.4)
    ax.hlines(range(y0 + tile, y1, tile), x0, x1, colors=white, linewidth=0.4)
    _bare(ax, width, height)


def _bare(ax: Axes, width: int, height: int) -> None:
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    ax.set_aspect("equal")
    ax.set_anchor("NW")  # pictures of another shape still begin at one line
    plain_axes(ax)


def _brightened(*images: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """Return both pictures brightened alike, so that a page shows what a dark reef holds."""
    white = max(float(np.percentile(image, _WHITE_PERCENTILE)) for image in images)
    scale = max(1.0, 255 / max(white, 1.0))
    return [np.asarray(np.clip(image * scale, 0, 255), dtype=np.uint8) for image in images]
