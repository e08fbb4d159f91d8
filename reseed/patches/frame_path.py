"""The frame path: from an image file to the patches the network sees, the same in training and on the boat."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reseed.field.imagery import decode_rgb
from reseed.patches.grid import Grid, grid_of
from reseed.patches.resize import grid_patches


@dataclass(frozen=True)
class FramePatches:
    """A frame as its grid of patches.

    Args:
        width_px: Stored width.
        height_px: Stored height.
        grid: Rows and columns.
        images: (rows * cols, input_size, input_size, 3) uint8, RGB, row by row.
    """

    width_px: int
    height_px: int
    grid: Grid
    images: NDArray[np.uint8]


def load_frame_patches(path: Path, patch_size_px: int, input_size_px: int, max_pixels: int) -> FramePatches:
    """Read a frame and cut it into its grid of patches.

    Args:
        path: Any JPEG, PNG, BMP or TIFF file, whatever its name.
        patch_size_px: Target edge of a patch in stored pixels.
        input_size_px: Edge of a patch as the network sees it.
        max_pixels: An image that declares more is not decoded.

    Raises:
        ImageError: If the file holds no whole image.
    """
    image = decode_rgb(path, max_pixels)
    height_px, width_px = image.shape[:2]
    grid = grid_of(width_px, height_px, patch_size_px)
    return FramePatches(width_px, height_px, grid, grid_patches(image, grid, input_size_px))
