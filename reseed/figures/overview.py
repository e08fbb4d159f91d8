"""The contact sheet of a survey from its frames on disk."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reseed.base.parallel import ordered_map
from reseed.figures.contact_sheet import contact_sheet, pick_frames
from reseed.figures.style import counted
from reseed.patches.resize import resize
from reseed.survey.frame_pixels import frame_pixels, pieces_of_frames

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
