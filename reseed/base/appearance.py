"""What a frame looks like, in sixteen numbers, and how unlike the frames a network was trained on it is.

A network answers whatever it is shown, fog and sand too. These numbers need no network, only pixels: they tell fog,
darkness, noise, blur, dead pixels, another substrate and another camera's colours from the frames of training.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# Name, what it is (in natural logarithms of 8-bit levels unless said), and what a higher and a lower value is called.
STATISTICS: Final = (
    ("brightness", "mean level", "brighter", "darker"),
    ("red_green", "red against green", "redder", "less red"),
    ("blue_green", "blue against green", "bluer", "less blue"),
    ("patch_contrast", "spread of levels within a patch", "of higher contrast", "of lower contrast"),
    ("red_contrast", "spread of red against that of green", "of more contrast in red", "of less contrast in red"),
    ("blue_contrast", "spread of blue against that of green", "of more contrast in blue", "of less contrast in blue"),
    ("grain_x", "difference of neighbouring pixels of a row", "grainier", "smoother"),
    ("grain_y", "difference of neighbouring pixels of a column", "grainier", "smoother"),
    ("grain_xy", "mixed difference of four neighbouring pixels", "noisier", "blurrier"),
    ("texture_x", "difference of pixels further apart in a row", "of stronger texture", "of weaker texture"),
    ("texture_y", "difference of pixels further apart in a column", "of stronger texture", "of weaker texture"),
    ("red_spread", "spread of red against green", "of more varied reds", "of less varied reds"),
    ("blue_spread", "spread of blue against green", "of more varied blues", "of less varied blues"),
    (
        "red_light",
        "covariance of red against green with light, times 10",
        "redder in the light",
        "redder in the dark",
    ),
    (
        "blue_light",
        "covariance of blue against green with light, times 10",
        "bluer in the light",
        "bluer in the dark",
    ),
    ("red_blue", "covariance of the two colours, times 10", "of other colour pairs", "of other colour pairs"),
)
NAMES: Final = tuple(name for name, *_ in STATISTICS)
# Why a person is asked about a frame between what the labels alone would drop on and what can be promised.
NEAR_ALPHA: Final = "within the doubt of the promised alpha"
_CELLS: Final = 24  # along each edge of a patch; a cell gives four neighbouring pixels
_LEVEL: Final = 8.0  # added to levels before a logarithm, so that black is no colour
_DIGITS: Final = 9


def frame_appearance(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the statistics of a frame, each the mean over its patches.

    Blocks of 2 x 2 pixels are read, one in each of 24 x 24 cells of a patch: 2 ms a frame. Where in its cell a block
    lies varies from cell to cell, so that faults that repeat, such as dead columns, are not missed.

    Args:
        images: (n, S, S, 3) uint8 RGB, the patches of the frame.

    Returns:
        (16,) in the order of `STATISTICS`.
    """
    n, edge_px = len(images), images.shape[1]
    places = _places(edge_px)
    both = np.stack([places, places + 1], axis=1).ravel()
    blocks = images[:, both][:, :, both].reshape(n, len(places), 2, len(places), 2, 3).astype(np.float32)
    spread, grey = blocks.std(axis=(1, 2, 3, 4)), blocks.mean(axis=-1)
    cells, pixels = grey.mean(axis=(2, 4)), blocks.mean(axis=(2, 4)).reshape(n, -1, 3)
    log = np.log(pixels + _LEVEL)
    red, blue, light = log[..., 0] - log[..., 1], log[..., 2] - log[..., 1], np.log(pixels.mean(axis=-1) + _LEVEL)
    mixed = grey[:, :, 0, :, 0] - grey[:, :, 1, :, 0] - grey[:, :, 0, :, 1] + grey[:, :, 1, :, 1]
    found = [
        np.log1p(blocks.mean(axis=(1, 2, 3, 4, 5))),
        red.mean(axis=1),
        blue.mean(axis=1),
        np.log1p(spread.mean(axis=1)),
        np.log1p(spread[:, 0]) - np.log1p(spread[:, 1]),
        np.log1p(spread[:, 2]) - np.log1p(spread[:, 1]),
        np.log1p(np.abs(grey[..., 1] - grey[..., 0]).mean(axis=(1, 2, 3))),
        np.log1p(np.abs(grey[:, :, 1] - grey[:, :, 0]).mean(axis=(1, 2, 3))),
        np.log1p(np.abs(mixed).mean(axis=(1, 2))),
        np.log1p(np.abs(np.diff(cells, axis=2)).mean(axis=(1, 2))),
        np.log1p(np.abs(np.diff(cells, axis=1)).mean(axis=(1, 2))),
        np.log(red.std(axis=1) + 0.01),
        np.log(blue.std(axis=1) + 0.01),
        10 * _covariance(red, light),
        10 * _covariance(blue, light),
        10 * _covariance(red, blue),
    ]
    return np.asarray(np.stack(found, axis=1).mean(axis=0, dtype=np.float64).round(6))


def _places(edge_px: int) -> NDArray[np.int64]:
    cells = min(_CELLS, max(2, edge_px // 4))
    step, number = edge_px // cells, np.arange(cells)
    return number * edge_px // cells + (7 * number + 3 * (number // 3)) % max(1, step - 1)


def _covariance(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = ((a - a.mean(axis=1, keepdims=True)) * (b - b.mean(axis=1, keepdims=True))).mean(
        axis=1
    )
    return found


@dataclass(frozen=True)
class Familiar:
    """What familiar frames look like, and how far apart they lie.

    Args:
        centre: (16,) mean of the statistics.
        scale: (16,) standard deviation of each.
        precision: (16, 16) inverse covariance of the standardised statistics.
        distances: For each group of frames, how far each of its frames lies from the frames of the other groups.
        share: Of the familiar frames, at most this share is asked about.
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    precision: NDArray[np.float64]
    distances: tuple[NDArray[np.float64], ...]
    share: Fraction

    def distance(self, statistics: NDArray[np.float64]) -> float:
        """Return the Mahalanobis distance of a frame."""
        away = (statistics - self.centre) / self.scale
        return float(np.sqrt(away @ self.precision @ away))

    def p_value(self, statistics: NDArray[np.float64], without: int | None = None) -> float:
        """Return how common it is for a familiar frame to lie as far away, 0 to 1.

        A conformal p-value over groups, because frames of one group are alike: (1 + the sum over groups of the share
        of their frames that lie at least as far from the other groups) / (groups + 1). A new group of the same kind has
        a frame below p with a probability of about p at most (Dunn et al. 2022, arXiv:1809.07441, pooled).

        Args:
            statistics: (16,) of the frame.
            without: Group that is left out: its own, of a frame that is in one.
        """
        return self.p_of_distance(self.distance(statistics), without)

    def p_of_distance(self, distance: float, without: int | None = None) -> float:
        """Return `p_value` of a frame that lies at this distance."""
        groups = [group for number, group in enumerate(self.distances) if number != without]
        return float((1 + sum(np.mean(group >= distance) for group in groups)) / (len(groups) + 1))

    def asks(self, p_value: float) -> bool:
        """Whether a frame of this p-value is asked about."""
        return p_value <= float(self.share) + 1e-12

    def why(self, statistics: NDArray[np.float64]) -> str:
        """Return in what a frame is most unlike the familiar ones: `unlike the training frames: darker`."""
        away = (statistics - self.centre) / self.scale
        most = int(np.abs(away).argmax())
        return f"unlike the training frames: {STATISTICS[most][2 if away[most] > 0 else 3]}"

    def record(self) -> dict[str, Any]:
        """Return what `familiar.json` says."""
        return {
            "share": str(float(self.share)),
            "statistics": list(NAMES),
            "centre": _rounded(self.centre),
            "scale": _rounded(self.scale),
            "precision": [_rounded(row) for row in self.precision],
            "distances": [_rounded(group) for group in self.distances],
        }


def familiar_of(record: Mapping[str, Any]) -> Familiar:
    """Return what a record says.

    Raises:
        ValueError: If it is damaged, or has other statistics than this code.
    """
    if tuple(record["statistics"]) != NAMES:
        raise ValueError("other statistics than this code computes")
    n = len(NAMES)
    centre, scale, precision = (np.asarray(record[name], np.float64) for name in ("centre", "scale", "precision"))
    distances = tuple(np.asarray(group, np.float64) for group in record["distances"])
    share = Fraction(record["share"])
    whole = all(np.isfinite(values).all() for values in (centre, scale, precision, *distances))
    if not whole or centre.shape != (n,) or scale.shape != (n,) or precision.shape != (n, n) or not (scale > 0).all():
        raise ValueError("numbers are missing or not finite")
    if not distances or any(group.ndim != 1 or not len(group) for group in distances) or not 0 < share < 1:
        raise ValueError("no groups, or a share that is none")
    return Familiar(centre, scale, precision, distances, share)


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]
