"""Whole frames put together again from their packed patches, resized for one network that looks at all of it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from reseed.base.errors import TableError
from reseed.patches.resize import resize


@dataclass(frozen=True)
class WholeFrames:
    """Resized frames.

    Args:
        frame_ids: F frames, sorted.
        images: (F, H, W, 3) uint8 RGB, all of one shape.
    """

    frame_ids: tuple[str, ...]
    images: npt.NDArray[np.uint8]


def whole_frames(images: npt.NDArray[np.uint8], index: pd.DataFrame, width_px: int) -> WholeFrames:
    """Lay the patches of each frame side by side, as they were cut, and resize the whole.

    Args:
        images: (N, H, W, 3) uint8 packed patches.
        index: Table PATCH_INDEX, in their order.
        width_px: Width of the resized frame; the height follows from the most common grid.

    Returns:
        Every frame; one with another grid is stretched to the same shape.

    Raises:
        TableError: If a frame is no full grid, such as one of patches around points.
    """
    by_frame = sorted(index.groupby("frame_id", sort=True).indices.items())
    grids = [_grid(str(name), index.iloc[rows]) for name, rows in by_frame]
    shapes, counts = np.unique(np.asarray(grids), axis=0, return_counts=True)
    rows_common, cols_common = shapes[counts.argmax()]
    height_px = max(32, round(width_px * int(rows_common) / int(cols_common)))
    out = np.empty((len(by_frame), height_px, width_px, 3), np.uint8)
    edge = images.shape[1:3]
    for place, ((_, rows), (n_rows, n_cols)) in enumerate(zip(by_frame, grids, strict=True)):
        ordered = index.iloc[rows].sort_values(["row", "col"], kind="stable").index.to_numpy()
        tiles = np.asarray(images[ordered]).reshape(n_rows, n_cols, *edge, 3).swapaxes(1, 2)
        out[place] = resize(tiles.reshape(n_rows * edge[0], n_cols * edge[1], 3), width_px, height_px)
    return WholeFrames(tuple(str(name) for name, _ in by_frame), out)


def _grid(frame_id: str, patches: pd.DataFrame) -> tuple[int, int]:
    rows, cols = int(patches["row"].max()) + 1, int(patches["col"].max()) + 1
    if (patches["row"] < 0).any() or rows * cols != len(patches):
        raise TableError(
            f"baselines.image is true, but {frame_id} is not cut into a full grid ({len(patches)} patches), so there "
            "is no whole frame to look at; set baselines.image to false"
        )
    return rows, cols
