"""The one resize rule: every path that feeds a network goes through here, in training and on the boat alike."""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from reseed.patches.grid import Grid

RESIZE_RULE: Final = "pillow antialiased bicubic, uint8, whole frame to the grid"


def resize(image: NDArray[np.uint8], width_px: int, height_px: int) -> NDArray[np.uint8]:
    """Resize an image by antialiased bicubic interpolation.

    Args:
        image: (H, W, 3) uint8.
        width_px: New width.
        height_px: New height.

    Returns:
        (height_px, width_px, 3) uint8.
    """
    return np.asarray(Image.fromarray(image).resize((width_px, height_px), Image.Resampling.BICUBIC))


def grid_patches(image: NDArray[np.uint8], grid: Grid, input_size_px: int) -> NDArray[np.uint8]:
    """Cut a frame into its grid of patches at the size the network sees.

    The frame is resized once to (rows * input_size, cols * input_size) and then only viewed as patches. Patch borders
    so lie at W*i/n instead of floor(W*i/n), less than one stored pixel away (docs/decisions.md).

    Args:
        image: (H, W, 3) uint8.
        grid: Rows and columns.
        input_size_px: Edge of a patch as the network sees it.

    Returns:
        (rows * cols, input_size, input_size, 3) uint8, row by row.
    """
    whole = resize(image, grid.cols * input_size_px, grid.rows * input_size_px)
    tiles = whole.reshape(grid.rows, input_size_px, grid.cols, input_size_px, 3).swapaxes(1, 2)
    return tiles.reshape(grid.n_patches, input_size_px, input_size_px, 3)


def box_patches(image: NDArray[np.uint8], boxes: NDArray[np.int64], input_size_px: int) -> NDArray[np.uint8]:
    """Cut boxes out of a frame; what lies over the border is filled by reflection.

    Args:
        image: (H, W, 3) uint8.
        boxes: (N, 4) int64: x0, y0, x1, y1 in stored pixels; may reach over the border.
        input_size_px: Edge of a patch as the network sees it.

    Returns:
        (N, input_size, input_size, 3) uint8.
    """
    height_px, width_px = image.shape[:2]
    patches = np.empty((len(boxes), input_size_px, input_size_px, 3), np.uint8)
    for i, (x0, y0, x1, y1) in enumerate(boxes):
        rows = _reflected(np.arange(y0, y1), height_px)
        cols = _reflected(np.arange(x0, x1), width_px)
        patches[i] = resize(image[rows[:, None], cols[None, :]], input_size_px, input_size_px)
    return patches


def _reflected(indices: NDArray[np.int64], edge_px: int) -> NDArray[np.int64]:
    """Fold indices into 0..edge-1 by mirroring at the border pixels, as often as needed."""
    period = max(2 * (edge_px - 1), 1)
    folded = np.abs(indices) % period
    return np.where(folded < edge_px, folded, period - folded)
