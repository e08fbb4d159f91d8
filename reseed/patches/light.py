"""Colour and contrast of packed patches: the simplest thing a picture says, and how clear the water was."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

# ITU-R BT.601 luma of RGB.
_LUMA: Final = np.asarray([0.299, 0.587, 0.114], dtype=np.float32)
_CHUNK: Final = 128


@dataclass(frozen=True)
class PatchLight:
    """Colour and luma of N patches, 0 to 255.

    Args:
        colour: (N, 3) mean red, green and blue.
        luma: (N,) mean luma.
        luma_square: (N,) mean squared luma.
    """

    colour: NDArray[np.float64]
    luma: NDArray[np.float64]
    luma_square: NDArray[np.float64]


def patch_light(images: NDArray[np.uint8]) -> PatchLight:
    """Measure every patch.

    Args:
        images: (N, H, W, 3) uint8, RGB; may be mapped from disk, a few patches are held in memory.
    """
    n = len(images)
    colour, luma, square = np.empty((n, 3)), np.empty(n), np.empty(n)
    for start in range(0, n, _CHUNK):
        chosen = slice(start, start + _CHUNK)
        pixels = np.asarray(images[chosen], dtype=np.float32).reshape(-1, images.shape[1] * images.shape[2], 3)
        grey = pixels @ _LUMA
        colour[chosen] = pixels.mean(axis=1, dtype=np.float64)
        luma[chosen] = grey.mean(axis=1, dtype=np.float64)
        square[chosen] = np.square(grey).mean(axis=1, dtype=np.float64)
    return PatchLight(colour, luma, square)


def frame_conditions(light: PatchLight, frame_ids: NDArray[np.object_]) -> list[dict[str, object]]:
    """Return contrast and blue-red ratio of each frame, from its patches.

    Args:
        light: N patches.
        frame_ids: (N,) frame of each.

    Returns:
        Rows of table CONDITIONS, sorted by frame.
    """
    names, place = np.unique(np.asarray(frame_ids, dtype=str), return_inverse=True)
    patches = np.bincount(place)

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(place, weights=values) / patches

    variance = np.maximum(mean(light.luma_square) - mean(light.luma) ** 2, 0.0)
    red, blue = mean(light.colour[:, 0]), mean(light.colour[:, 2])
    ratio = np.divide(blue, red, out=np.full(len(names), np.nan), where=red > 0)
    return [
        {"frame_id": str(name), "contrast": contrast, "blue_red_ratio": value}
        for name, contrast, value in zip(names, np.sqrt(variance) / 255, ratio, strict=True)
    ]
