"""The packed store of patches: one memory-mapped array, because many small files are slow in any cache."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reseed.base.errors import TableError
from reseed.base.files import new_file


@dataclass(frozen=True)
class Geometry:
    """How patches were made; a model may only be used on patches made the same way.

    Args:
        patch_size_px: Target edge of a patch in stored pixels.
        input_size_px: Edge of a patch as the network sees it.
        resize: Name of the resize rule.
        decode: Name of the decoding rule.
    """

    patch_size_px: int
    input_size_px: int
    resize: str
    decode: str


def write_patches(path: Path, blocks: Iterable[NDArray[np.uint8]], n_patches: int, input_size_px: int) -> None:
    """Write patches block by block into one array file, so that memory does not grow with their number.

    Args:
        path: `.npy` file to make.
        blocks: (n, input_size, input_size, 3) uint8 arrays that add up to `n_patches`.
        n_patches: Rows of the array.
        input_size_px: Edge of a patch.
    """
    shape = (n_patches, input_size_px, input_size_px, 3)
    with new_file(path) as part:
        filled = 0
        header = {"descr": np.dtype(np.uint8).str, "fortran_order": False, "shape": shape}
        with part.open("wb") as writer:  # not mapped: written pages of a map count as memory of the process
            np.lib.format.write_array_header_1_0(writer, header)
            for block in blocks:
                assert block.shape[1:] == shape[1:], f"patches of {block.shape[1:]} for {shape[1:]}"
                writer.write(np.ascontiguousarray(block, dtype=np.uint8).data)
                filled += len(block)
        assert filled == n_patches, f"{filled} patches for {n_patches} rows"


def open_patches(path: Path) -> NDArray[np.uint8]:
    """Map the store for reading; rows are read from disk only when used.

    Returns:
        (N, H, W, 3) uint8, read-only.

    Raises:
        TableError: If the file is missing or no such array.
    """
    try:
        store: NDArray[np.uint8] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: not readable as packed patches ({error}); `dvc repro extract` makes it") from error
    if store.dtype != np.uint8 or store.ndim != 4 or store.shape[3] != 3:
        raise TableError(f"{path}: holds {store.dtype} {store.shape}; expected uint8 (N, H, W, 3)")
    return store
