"""The one resize rule: every path that feeds a network goes through here, in training and on the boat alike."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from reseed.base.errors import ImageError
from reseed.base.grid import Grid, grid_of
from reseed.base.parallel import keep_freed_memory
from reseed.survey.imagery import decode_at_least, read_image_file

try:
    import cykooz_resizer as simd
except ImportError:  # no wheel for this machine, as on 64-bit ARM Linux: Pillow does the same, more slowly
    simd = None

RESIZE_RULE: Final = "antialiased bicubic, uint8, whole frame to the grid"
# Of all patches of one frame; a ReefScan frame has 2 million at 256 px. Above it, a frame of 1 x 100,000,000 pixels
# would give 12 GB.
_MOST_PIXELS: Final = 1 << 29


def resize(
    image: NDArray[np.uint8], width_px: int, height_px: int, used_px: tuple[float, float] | None = None
) -> NDArray[np.uint8]:
    """Resize an image by antialiased bicubic interpolation (Catmull-Rom, a = -1/2).

    Args:
        image: (H, W, 3) uint8.
        width_px: New width.
        height_px: New height.
        used_px: Width and height of the part, from the upper left corner, that becomes the new image; may end inside a
            pixel. None for all of it.

    Returns:
        (height_px, width_px, 3) uint8.
    """
    used = (float(image.shape[1]), float(image.shape[0])) if used_px is None else used_px
    return (_with_pillow if simd is None else _with_simd)(image, width_px, height_px, used)


def _with_simd(
    image: NDArray[np.uint8], width_px: int, height_px: int, used_px: tuple[float, float]
) -> NDArray[np.uint8]:
    stored = simd.ImageData(image.shape[1], image.shape[0], simd.PixelType.U8x3, image.tobytes())
    resized = simd.ImageData(width_px, height_px, simd.PixelType.U8x3)
    options = simd.ResizeOptions(
        resize_alg=simd.ResizeAlg.convolution(simd.FilterType.catmull_rom), crop_box=simd.CropBox(0.0, 0.0, *used_px)
    )
    simd.Resizer().resize(stored, resized, options)
    return np.frombuffer(resized.get_buffer(), np.uint8).reshape(height_px, width_px, 3)


def _with_pillow(
    image: NDArray[np.uint8], width_px: int, height_px: int, used_px: tuple[float, float]
) -> NDArray[np.uint8]:
    picture = Image.fromarray(image)
    return np.asarray(picture.resize((width_px, height_px), Image.Resampling.BICUBIC, box=(0.0, 0.0, *used_px)))


def grid_patches(
    image: NDArray[np.uint8], grid: Grid, input_size_px: int, used_px: tuple[float, float] | None = None
) -> NDArray[np.uint8]:
    """Cut a frame into its grid of patches at the size the network sees.

    The frame is resized once to (rows * input_size, cols * input_size) and then only viewed as patches. Patch borders
    so lie at W*i/n instead of floor(W*i/n), less than one stored pixel away (docs/decisions.md).

    Args:
        image: (H, W, 3) uint8.
        grid: Rows and columns.
        input_size_px: Edge of a patch as the network sees it.
        used_px: As for `resize`.

    Returns:
        (rows * cols, input_size, input_size, 3) uint8, row by row.
    """
    whole = resize(image, grid.cols * input_size_px, grid.rows * input_size_px, used_px)
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
    return frame_patches(read_image_file(path), patch_size_px, input_size_px, max_pixels)


def frame_patches(data: bytes, patch_size_px: int, input_size_px: int, max_pixels: int) -> FramePatches:
    """Cut the content of an image file into its grid of patches.

    Args:
        data: Content of any JPEG, PNG, BMP or TIFF file.
        patch_size_px: Target edge of a patch in stored pixels.
        input_size_px: Edge of a patch as the network sees it.
        max_pixels: An image that declares more is not decoded.

    Raises:
        ImageError: If the file holds no whole image, or gives more pixels as patches than memory has room for.
    """
    keep_freed_memory()

    def grid(width_px: int, height_px: int) -> Grid:
        found = grid_of(width_px, height_px, patch_size_px)
        if found.n_patches * input_size_px**2 > _MOST_PIXELS:
            raise ImageError(
                "too_many_pixels",
                f"{width_px} x {height_px} px give {found.n_patches:,} patches of {input_size_px} px; allowed are "
                f"{_MOST_PIXELS // input_size_px**2:,}",
            )
        return found

    def need(width_px: int, height_px: int) -> tuple[int, int]:
        wanted = grid(width_px, height_px)
        return wanted.cols * input_size_px, wanted.rows * input_size_px

    frame = decode_at_least(data, max_pixels, need)
    # A reduced edge is rounded up: its last pixel reaches over the border of the frame, and is used in part.
    used_px = (frame.width_px * frame.eighths / 8, frame.height_px * frame.eighths / 8)
    cut = grid(frame.width_px, frame.height_px)
    return FramePatches(frame.width_px, frame.height_px, cut, grid_patches(frame.pixels, cut, input_size_px, used_px))
