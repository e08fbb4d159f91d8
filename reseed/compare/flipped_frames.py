"""Pictures of the frames whose decision flipped, from the images that the audited state stores."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reseed.artifacts.frames import FRAMES
from reseed.artifacts.pieces import PIECES
from reseed.base.errors import ReseedError
from reseed.figures.contact_sheet import MAX_COLUMNS, contact_sheet
from reseed.figures.style import counted
from reseed.history.run_files import RAW
from reseed.history.snapshot import Snapshot
from reseed.patches.resize import resize
from reseed.sources.folder import copy_file
from reseed.survey.frame_pixels import frame_pixels, pieces_of_frames

_WIDTH_PX: Final = 320


def flipped_figure(state: Snapshot, rows: Mapping[str, Sequence[str]], *, synthetic: bool) -> Figure:
    """Draw the first frames of each row.

    Args:
        state: Stores catalog and images.
        rows: What happened, such as "now wrong", and the frames it happened to; no row is empty.
        synthetic: Whether the frames are rendered.

    Raises:
        ReseedError: If an image is not stored here.
    """
    shown = [(row, frame) for row, frames in rows.items() for frame in frames[:MAX_COLUMNS]]
    total = sum(map(len, rows.values()))
    return contact_sheet(
        _thumbnails(state, [frame for _, frame in shown]),
        [row for row, _ in shown],
        f"{counted(total, 'frame')} decided differently by head",
        details=[counted(len(rows[row]), "frame") for row, _ in shown],
        subtitle=f"The first {MAX_COLUMNS} of each row." if len(shown) < total else "All of them.",
        synthetic=synthetic,
    )


def _thumbnails(state: Snapshot, frame_ids: Sequence[str]) -> list[NDArray[np.uint8]]:
    catalog = state.table("data/catalog/frames.csv", FRAMES).set_index("frame_id")
    pieces_of = pieces_of_frames(state.table("data/catalog/pieces.csv", PIECES))
    digest_of = dict(state.members(RAW) or [])
    images = []
    with tempfile.TemporaryDirectory(prefix="reseed-frames-") as folder:
        raw = Path(folder)
        for frame_id in frame_ids:
            pieces = pieces_of.get(frame_id)
            for path in [frame_id] if pieces is None else [str(path) for path in pieces["path"]]:
                _lay_out(state, digest_of, path, raw)
            row: Any = catalog.loc[frame_id]
            image = frame_pixels(raw, frame_id, pieces, int(row["width_px"]), int(row["height_px"]))
            images.append(resize(image, _WIDTH_PX, max(1, round(_WIDTH_PX * image.shape[0] / image.shape[1]))))
    return images


def _lay_out(state: Snapshot, digest_of: Mapping[str, str], path: str, raw: Path) -> None:
    digest = digest_of.get(f"{RAW}/{path}")
    stored = None if digest is None else state.object(digest)
    if stored is None:
        raise ReseedError(f"{RAW}/{path} of {state.name}: its object is not here; `dvc pull` gets it")
    (raw / path).parent.mkdir(parents=True, exist_ok=True)
    copy_file(stored, raw / path)
