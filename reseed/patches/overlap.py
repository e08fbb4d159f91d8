"""Whether two frames show the same seafloor: a copy by perceptual hash, an overlapping view by registration.

Registration is phase correlation of small gray images. It finds the shift at which two views agree; whether they agree
at all is told by how far the peak stands out, and by the correlation of what they then have in common. It is blind to
views that are turned or seen from another height, so that nothing found is no proof of nothing shared.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from scipy.fft import dctn, irfft2, rfft2
from scipy.ndimage import gaussian_filter

from reseed.artifacts.patches import SPLITS
from reseed.survey.identity import capture_order

Pair = tuple[str, str]


@dataclass(frozen=True)
class TableLeaks:
    """Pairs of frame ids in different splits that show the same seafloor, or are likely to.

    Args:
        copies: Frames of equal content; of more than two in a group, each split's first beside the next split's.
        neighbours: Frames of one sequence at most `reach` apart.
        reach: Frames: 1 for frames that follow each other.
    """

    copies: tuple[Pair, ...]
    neighbours: tuple[Pair, ...]
    reach: int


def table_leaks(frames: pd.DataFrame, splits: Mapping[str, str], guard_frames: int) -> TableLeaks:
    """Find what train, val and test have in common by the tables; frames in no split count for nothing.

    Args:
        frames: Table FRAMES.
        splits: frame_id -> split.
        guard_frames: Frames that should lie between two splits of one sequence; frames that follow each other are
            found even if it is 0.
    """
    used = frames[frames["frame_id"].map(splits).isin(SPLITS)]
    reach = max(1, guard_frames)
    return TableLeaks(
        copies=tuple(sorted(_copies(used, splits))),
        neighbours=tuple(
            sorted(
                (first, second)
                for first, second, _ in within_sequence(frames, reach)
                if splits[first] != splits[second] and {splits[first], splits[second]} <= set(SPLITS)
            )
        ),
        reach=reach,
    )


def within_sequence(frames: pd.DataFrame, reach: int) -> Iterator[tuple[str, str, int]]:
    """Yield the pairs of frames of one sequence that are at most `reach` apart, and how far, in the order of capture.

    Args:
        frames: Table FRAMES.
        reach: 1 for frames that follow each other.
    """
    for _, sequence in in_capture_order(frames).groupby(["source", "sequence"], sort=True):
        ids = [str(frame_id) for frame_id in sequence["frame_id"]]
        for apart in range(1, reach + 1):
            yield from ((first, second, apart) for first, second in zip(ids, ids[apart:], strict=False))


def in_capture_order(frames: pd.DataFrame) -> pd.DataFrame:
    """Return FRAMES in the order in which they were captured."""
    times = zip(frames["frame_id"].astype(str), frames["captured_at"].astype(str), strict=True)
    place = {frame_id: number for number, frame_id in enumerate(capture_order(times))}
    return frames.iloc[frames["frame_id"].map(place).argsort(kind="stable").to_numpy()]


def sentence(leaks: TableLeaks) -> str:
    """Return what was found in one line."""
    within = "that follow each other" if leaks.reach == 1 else f"at most {leaks.reach} frames apart"
    return (
        f"in different splits: {_pairs(leaks.copies)} of equal frames, {_pairs(leaks.neighbours)} of frames of one "
        f"sequence {within}"
    )


def _pairs(pairs: tuple[Pair, ...]) -> str:
    return "1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs"


def _copies(frames: pd.DataFrame, splits: Mapping[str, str]) -> Iterator[Pair]:
    repeated = frames[frames.duplicated("sha256", keep=False)].sort_values("frame_id")
    for _, group in repeated.groupby("sha256", sort=True):
        firsts: dict[str, str] = {}
        for frame_id in group["frame_id"]:
            firsts.setdefault(splits[str(frame_id)], str(frame_id))
        yield from pairwise(firsts.values())


SMALL_HEIGHT_PX: Final = 96
# Standard deviations of the correlation surface. Between frames of different places the highest peak of 320 pairs of
# real frames is at 7.1, of neighbours that overlap at 8 to 50.
MIN_PEAK_SD: Final = 9.0
# Median correlation over nine blocks of the part in common. What the camera itself puts into every frame, such as a
# stamped date or a part of the frame in view, gives a sharp peak too, at no shift; but most of the seafloor disagrees.
MIN_AGREEMENT: Final = 0.1
# Share of a frame that the two must have in common; the agreement of less is chance.
MIN_SHARE: Final = 0.1
# Bits of 255. Re-encoded, reduced or brightened copies of real frames differ in at most 18, other frames in 60 or more.
MAX_HASH_BITS: Final = 32
MIN_COPY_CORRELATION: Final = 0.9

_TEXTURE_PX: Final = 4.0
_SMOOTH_PX: Final = 1.0
_COPY_PX: Final = 2.0
_BLOCKS: Final = 3  # along each edge
_HASH_EDGE_PX: Final = 64
_HASH_WAVES: Final = 16
_FLAT_SD: Final = 1.0


@dataclass(frozen=True)
class SmallView:
    """What is kept of a frame.

    Args:
        gray: (SMALL_HEIGHT_PX, W) uint8, W by the frame's shape.
        bits: (32,) uint8: 255 bits of perceptual hash; None for a picture without any contrast.
    """

    gray: NDArray[np.uint8]
    bits: NDArray[np.uint8] | None


@dataclass(frozen=True)
class Overlap:
    """How two views lie to each other.

    Args:
        peak_sd: How far the peak stands out, in standard deviations of the correlation surface.
        agreement: Correlation of local texture, -1 to 1: the median over nine blocks of the part in common.
        down: Shift of the second view in the first, as a share of the first's height; positive downwards.
        right: The same to the right, as a share of the first's height too.
        share: Part of the smaller view that both have in common, 0-1.
    """

    peak_sd: float
    agreement: float
    down: float
    right: float
    share: float

    @property
    def found(self) -> bool:
        """Whether the two views show the same seafloor beyond reasonable doubt."""
        return self.peak_sd >= MIN_PEAK_SD and self.agreement >= MIN_AGREEMENT


def small_view(image: NDArray[np.uint8]) -> SmallView:
    """Reduce a frame to what registration and hash need.

    Args:
        image: (H, W, 3) uint8 RGB.
    """
    gray = Image.fromarray(image).convert("L")
    width_px = max(8, round(SMALL_HEIGHT_PX * gray.width / gray.height))
    small = np.asarray(gray.resize((width_px, SMALL_HEIGHT_PX), Image.Resampling.BOX))
    return SmallView(small, _hash(np.asarray(gray.resize((_HASH_EDGE_PX, _HASH_EDGE_PX), Image.Resampling.BOX))))


def register(first: SmallView, second: SmallView) -> Overlap:
    """Find the shift at which two views agree best: phase correlation, padded so that nothing wraps around.

    Kuglin and Hines 1975. The texture is brought to equal local contrast first, because light falls off towards the
    edges of every frame in the same way.
    """
    a, b = _texture(first.gray), _texture(second.gray)
    shape = (a.shape[0] + b.shape[0], a.shape[1] + b.shape[1])
    product = rfft2(a, s=shape) * np.conj(rfft2(b, s=shape))
    surface = irfft2(product / (np.abs(product) + 1e-9), s=shape)
    surface = gaussian_filter(
        surface, _SMOOTH_PX, mode="wrap"
    )  # views differ by parts of a pixel, and a little in scale
    down, right = (np.rint(np.fft.fftfreq(n, 1 / n)).astype(int) for n in shape)
    share = _common(a.shape[0], b.shape[0], down)[:, None] * _common(a.shape[1], b.shape[1], right)[None, :]
    allowed = share >= MIN_SHARE
    row, column = np.unravel_index(int(np.argmax(np.where(allowed, surface, -np.inf))), shape)
    values = surface[allowed]
    return Overlap(
        peak_sd=float((surface[row, column] - values.mean()) / max(float(values.std()), 1e-12)),
        agreement=_agreement(a, b, int(down[row]), int(right[column])),
        down=float(down[row] / a.shape[0]),
        right=float(right[column] / a.shape[0]),
        share=float(share[row, column]),
    )


def hash_distances(bits: NDArray[np.uint8], others: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the number of differing bits, (N,), between one hash (32,) and N others (N, 32)."""
    return np.asarray(np.bitwise_count(bits[None, :] ^ others).sum(axis=1), dtype=np.int64)


def is_copy(first: SmallView, second: SmallView) -> bool:
    """Whether one picture is the other, encoded anew: hashes that hardly differ, and pictures that agree."""
    if first.bits is None or second.bits is None:
        return False
    if hash_distances(first.bits, second.bits[None, :])[0] > MAX_HASH_BITS:
        return False
    if abs(first.gray.shape[1] - second.gray.shape[1]) > 1:
        return False
    width = min(first.gray.shape[1], second.gray.shape[1])
    # A strongly reduced copy has lost the finest detail.
    a, b = (gaussian_filter(view.gray[:, :width].astype(np.float64), _COPY_PX) for view in (first, second))
    return _correlation(a, b) >= MIN_COPY_CORRELATION


def _hash(gray: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
    if gray.std() < _FLAT_SD:
        return None
    # The mean, at (0, 0), is left out: a copy may be brighter.
    waves = dctn(gray.astype(np.float64), norm="ortho")[:_HASH_WAVES, :_HASH_WAVES].ravel()[1:]
    return np.packbits(waves > np.median(waves))


def _texture(gray: NDArray[np.uint8]) -> NDArray[np.float32]:
    values = gray.astype(np.float32)
    detail = values - gaussian_filter(values, _TEXTURE_PX)
    contrast = np.sqrt(gaussian_filter(detail * detail, _TEXTURE_PX))
    return np.asarray(detail / (contrast + 2), dtype=np.float32)  # 2 gray levels: noise is not blown up to texture


def _common(first: int, second: int, shift: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of the shorter of two lines that both cover when the second starts at `shift`."""
    covered = np.minimum(first, second + shift) - np.maximum(0, shift)
    return np.asarray(np.clip(covered, 0, None) / min(first, second), dtype=np.float64)


def _agreement(a: NDArray[np.float32], b: NDArray[np.float32], down: int, right: int) -> float:
    height = min(a.shape[0], b.shape[0] + down) - max(0, down)
    width = min(a.shape[1], b.shape[1] + right) - max(0, right)
    part_a = a[max(0, down) : max(0, down) + height, max(0, right) : max(0, right) + width]
    part_b = b[max(0, -down) : max(0, -down) + height, max(0, -right) : max(0, -right) + width]
    blocks = zip(_blocks(part_a.astype(np.float64)), _blocks(part_b.astype(np.float64)), strict=True)
    return float(np.median([_correlation(block_a, block_b) for block_a, block_b in blocks]))


def _blocks(part: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return [block for row in np.array_split(part, _BLOCKS, 0) for block in np.array_split(row, _BLOCKS, 1)]


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / spread) if spread > 0 else 0.0
