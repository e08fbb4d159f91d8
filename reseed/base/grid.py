"""The grid that cuts a frame into patches."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Grid:
    """Rows and columns of patches on one frame.

    Args:
        rows: Tiles from top to bottom, at least 1.
        cols: Tiles from left to right, at least 1.
    """

    rows: int
    cols: int

    @property
    def n_patches(self) -> int:
        """Patches of a frame."""
        return self.rows * self.cols


def grid_of(width_px: int, height_px: int, patch_size_px: int) -> Grid:
    """Return the grid of a frame: ceil(edge / patch_size) tiles along each edge.

    >>> grid_of(5312, 3040, 800)
    Grid(rows=4, cols=7)
    """
    return Grid(rows=-(-height_px // patch_size_px), cols=-(-width_px // patch_size_px))


def tile_boxes(width_px: int, height_px: int, grid: Grid) -> NDArray[np.int64]:
    """Return the tiles of a frame, row by row.

    Tile i of n along an edge W spans floor(W*i/n) to floor(W*(i+1)/n), so tiles differ by one pixel at most
    and cover the frame without gap or overlap.

    Returns:
        (rows * cols, 4) int64: x0, y0, x1, y1 in stored pixels, x1 and y1 exclusive.
    """
    xs = width_px * np.arange(grid.cols + 1, dtype=np.int64) // grid.cols
    ys = height_px * np.arange(grid.rows + 1, dtype=np.int64) // grid.rows
    y0, x0 = np.meshgrid(ys[:-1], xs[:-1], indexing="ij")
    y1, x1 = np.meshgrid(ys[1:], xs[1:], indexing="ij")
    return np.stack([x0, y0, x1, y1], axis=-1).reshape(-1, 4)


def point_boxes(points: NDArray[np.int64], patch_size_px: int) -> NDArray[np.int64]:
    """Return square boxes centred on points; they may reach over the border of the frame.

    Args:
        points: (N, 2) int64, x and y in stored pixels.
        patch_size_px: Edge of the box.

    Returns:
        (N, 4) int64: x0, y0, x1, y1.
    """
    corner = points - patch_size_px // 2
    return np.concatenate([corner, corner + patch_size_px], axis=1)


def tile_id(frame_id: str, row: int, col: int) -> str:
    """Return the patch id of a grid tile, `<frame_id>#r003c005`."""
    return f"{frame_id}#r{row:03d}c{col:03d}"


def point_id(frame_id: str, x: int, y: int) -> str:
    """Return the patch id of a point, `<frame_id>#y0671x0217`."""
    return f"{frame_id}#y{y:04d}x{x:04d}"
