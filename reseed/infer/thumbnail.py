"""A small picture of a frame for the map, made of the patches that are in memory anyway."""

from typing import Final

import numpy as np
import simplejpeg
from numpy.typing import NDArray
from PIL import Image

from reseed.patches.grid import Grid

_WIDTH_PX: Final = 336
_QUALITY: Final = 58


def thumbnail_jpeg(images: NDArray[np.uint8], grid: Grid) -> bytes:
    """Return a JPEG of the whole frame, patch borders at even distances as the grid that is drawn on it has them.

    Args:
        images: (rows * cols, S, S, 3) uint8, row by row.
        grid: Rows and columns.
    """
    count, edge_px = images.shape[:2]
    small_px = max(1, min(edge_px, _WIDTH_PX // grid.cols))
    # Every second line is enough for a picture five times smaller, and halves the time.
    lines = images[:, ::2] if edge_px % 2 == 0 and edge_px >= 4 * small_px else images
    # The patches one below the other are one tall picture; a box filter of whole patches mixes no neighbours.
    column = Image.fromarray(np.ascontiguousarray(lines).reshape(-1, edge_px, 3))
    small = np.asarray(column.resize((small_px, count * small_px), Image.Resampling.BOX))
    tiles = small.reshape(grid.rows, grid.cols, small_px, small_px, 3).swapaxes(1, 2)
    whole = np.ascontiguousarray(tiles.reshape(grid.rows * small_px, grid.cols * small_px, 3))
    return bytes(simplejpeg.encode_jpeg(whole, quality=_QUALITY, colorspace="RGB", colorsubsampling="420"))
