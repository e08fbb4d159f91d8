"""A small picture of a frame for the map, made of the patches that are in memory anyway."""

from typing import Final

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from reseed.base.grid import Grid

_WIDTH_PX: Final = 336
_QUALITY: Final = 58


def thumbnail_jpeg(images: NDArray[np.uint8], grid: Grid) -> bytes:
    """Return a JPEG of the whole frame, patch borders at even distances as the grid that is drawn on it has them.

    Single pixels are taken, in the middle of what each stands for: nobody sees the difference to an average at this
    size, which would take four times as long (5 ms, a twentieth of the whole frame).

    Args:
        images: (rows * cols, S, S, 3) uint8, row by row.
        grid: Rows and columns.
    """
    edge_px = images.shape[1]
    small_px = max(1, min(edge_px, _WIDTH_PX // grid.cols))
    taken = (2 * np.arange(small_px) + 1) * edge_px // (2 * small_px)
    tiles = images[:, taken[:, None], taken].reshape(grid.rows, grid.cols, small_px, small_px, 3).swapaxes(1, 2)
    whole = np.ascontiguousarray(tiles.reshape(grid.rows * small_px, grid.cols * small_px, 3))
    return bytes(simplejpeg.encode_jpeg(whole, quality=_QUALITY, colorspace="RGB", colorsubsampling="420"))
