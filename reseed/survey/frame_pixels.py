"""The pixels of a frame, whether it came as one image or as patches that somebody cut beforehand."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.survey.imagery import decode_at_least, decode_rgb, read_image_file


def pieces_of_frames(pieces: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the pieces of each frame that came in pieces, by frame_id, by row and column.

    Args:
        pieces: Table PIECES.
    """
    return {str(frame_id): part for frame_id, part in pieces.sort_values(["row", "col"]).groupby("frame_id")}


def frame_pixels(
    raw: Path,
    frame_id: str,
    pieces: pd.DataFrame | None,
    width_px: int,
    height_px: int,
    least_px: int | None = None,
) -> NDArray[np.uint8]:
    """Decode a frame.

    Args:
        raw: Folder that frame ids are relative to.
        frame_id: Frame.
        pieces: Its rows of PIECES, None if it is one image.
        width_px: Its width by the catalog.
        height_px: Its height by the catalog.
        least_px: A height that is enough: a JPEG may then be decoded smaller, at an eighth to seven eighths.

    Returns:
        (height_px, width_px, 3) uint8, or smaller if `least_px` is given; black where a frame in pieces lacks one.

    Raises:
        ImageError: If an image cannot be decoded, or is larger than the catalog says.
    """
    if pieces is None and least_px is not None:
        data = read_image_file(raw / frame_id)
        return decode_at_least(data, width_px * height_px, lambda w, h: (-(-least_px * w // h), least_px)).pixels
    if pieces is None:
        return decode_rgb(raw / frame_id, max_pixels=width_px * height_px)
    frame = np.zeros((height_px, width_px, 3), np.uint8)
    for piece in pieces.to_dict("records"):
        x0, y0, x1, y1 = (int(piece[edge]) for edge in ("x0", "y0", "x1", "y1"))
        frame[y0:y1, x0:x1] = decode_rgb(raw / str(piece["path"]), max_pixels=(x1 - x0) * (y1 - y0))
    return frame
