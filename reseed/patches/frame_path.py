"""The frame path: from an image file to the patches the network sees, the same in training and on the boat.

Of a frame that the network sees at a third of its size, most pixels are only averaged away: a JPEG is decoded at the
smallest eighth of its size that still has a pixel for each one asked for, and then resized once, as a whole.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reseed.base.grid import Grid, grid_of
from reseed.base.memory import keep_freed_memory
from reseed.patches.resize import grid_patches
from reseed.survey.imagery import decode_at_least, read_image_file


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
    keep_freed_memory()

    def need(width_px: int, height_px: int) -> tuple[int, int]:
        grid = grid_of(width_px, height_px, patch_size_px)
        return grid.cols * input_size_px, grid.rows * input_size_px

    frame = decode_at_least(read_image_file(path), max_pixels, need)
    grid = grid_of(frame.width_px, frame.height_px, patch_size_px)
    # A reduced edge is rounded up: its last pixel reaches over the border of the frame, and is used in part.
    used_px = (frame.width_px * frame.eighths / 8, frame.height_px * frame.eighths / 8)
    images = grid_patches(frame.pixels, grid, input_size_px, used_px)
    return FramePatches(frame.width_px, frame.height_px, grid, images)
