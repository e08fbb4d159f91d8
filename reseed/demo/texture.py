"""Building blocks of the demo reef's surfaces: smooth noise, labyrinths, cells, and rounded bars drawn with depth."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import scipy.fft
from PIL import Image

Field = npt.NDArray[np.float32]
Shape = tuple[int, int]

# Bars are drawn in square windows, many of one edge by one array operation: the smallest edge, the step to the next.
_WINDOW_PX: Final = 12
_WINDOW_STEP: Final = 1.45
# Window pixels handled at once: bounds the memory of `draw_bars` to some tens of megabytes.
_CHUNK_PX: Final = 600_000


def resample(field: Field, shape: Shape) -> Field:
    """Resample a field (h, w) to `shape` = (H, W), bilinear."""
    image = Image.fromarray(np.ascontiguousarray(field, dtype=np.float32))
    return np.asarray(image.resize((shape[1], shape[0]), Image.Resampling.BILINEAR), dtype=np.float32)


def low_pass(field: Field, radius_px: float) -> Field:
    """Blur a field (H, W) over about `radius_px` pixels, by way of a smaller copy."""
    height, width = field.shape
    factor = max(1.0, radius_px)
    small = (max(2, round(height / factor)), max(2, round(width / factor)))
    image = Image.fromarray(np.ascontiguousarray(field, dtype=np.float32))
    reduced = image.resize((small[1], small[0]), Image.Resampling.BILINEAR)
    return np.asarray(reduced.resize((width, height), Image.Resampling.BICUBIC), dtype=np.float32)


def smooth_noise(rng: np.random.Generator, shape: Shape, wavelength_px: float) -> Field:
    """Draw noise (H, W) of about unit variance that varies over `wavelength_px` pixels."""
    height, width = shape
    if wavelength_px < 1.5:
        return rng.standard_normal(shape, dtype=np.float32)
    rows, cols = int(height / wavelength_px) + 4, int(width / wavelength_px) + 4
    grid = rng.standard_normal((rows, cols), dtype=np.float32) * np.float32(1.3)
    top, left = rng.uniform(1.0, 2.0, 2)
    box = (left, top, left + width / wavelength_px, top + height / wavelength_px)
    image = Image.fromarray(grid).resize((width, height), Image.Resampling.BICUBIC, box=box)
    return np.array(image, dtype=np.float32)


def fractal_noise(
    rng: np.random.Generator, shape: Shape, wavelength_px: float, octaves: int, gain: float = 0.5
) -> Field:
    """Sum `octaves` noises (H, W), each of half the wavelength and `gain` times the strength of the one before.

    Built from coarse to fine, each step enlarging the sum so far by two: only the last step costs the full size.
    """
    total = smooth_noise(rng, _halved(shape, octaves - 1), wavelength_px / 2 ** (octaves - 1))
    for octave in range(1, octaves):
        size = _halved(shape, octaves - 1 - octave)
        finer = smooth_noise(rng, size, wavelength_px / 2 ** (octaves - 1))
        total = resample(total, size) + np.float32(gain**octave) * finer
    return total


def _halved(shape: Shape, times: int) -> Shape:
    return (max(2, -(-shape[0] // 2**times)), max(2, -(-shape[1] // 2**times)))


def labyrinth(rng: np.random.Generator, shape: Shape, wavelength_px: float) -> Field:
    """Draw a meandering ridge pattern (H, W) in [-1, 1]: noise of one wavelength only, pushed to its extremes."""
    height, width = (scipy.fft.next_fast_len(edge, real=True) for edge in shape)
    noise = rng.standard_normal((height, width), dtype=np.float32)
    spectrum = scipy.fft.rfft2(noise)
    frequency = np.hypot(scipy.fft.fftfreq(height)[:, None], scipy.fft.rfftfreq(width)[None, :])
    ring = np.exp(-(((frequency * wavelength_px - 1.0) / 0.16) ** 2)).astype(np.float32)
    field = scipy.fft.irfft2(spectrum * ring, s=(height, width))[: shape[0], : shape[1]]
    ridges: Field = np.tanh(2.2 * field / max(float(field.std()), 1e-9)).astype(np.float32)
    return ridges


@dataclass(frozen=True)
class Cells:
    """A plane cut into irregular cells around scattered centres.

    Attributes:
        nearest: (H, W) distance to the nearest centre, in cell spacings.
        edge: (H, W) distance to the second nearest minus that to the nearest centre: 0 on a border between cells.
        tone: (H, W) one random number in [0, 1) per cell.
        tilt: (H, W) height of a randomly tilted plane through the cell's centre, in cell spacings.
    """

    nearest: Field
    edge: Field
    tone: Field
    tilt: Field


def scatter_cells(rng: np.random.Generator, shape: Shape, spacing_px: float, warp_px: float = 0.0) -> Cells:
    """Cut a plane of `shape` into cells about `spacing_px` wide whose borders wander by about `warp_px`.

    Computed at a lower resolution and enlarged: cells are many pixels wide.
    """
    factor = 4 if spacing_px > 60 else 2
    small = (-(-shape[0] // factor), -(-shape[1] // factor))
    rows, cols = np.indices(small, dtype=np.float32) * np.float32(factor / spacing_px)
    if warp_px > 0:
        strength = np.float32(warp_px / spacing_px)
        rows += strength * smooth_noise(rng, small, spacing_px / 2 / factor)
        cols += strength * smooth_noise(rng, small, spacing_px / 2 / factor)
    margin = 3 + int(np.ceil(4 * warp_px / spacing_px))
    rows += margin
    cols += margin
    grid = (int(rows.max()) + 3, int(cols.max()) + 3)
    jitter = rng.random((2, *grid), dtype=np.float32)
    tone = rng.random(grid, dtype=np.float32)
    slope = rng.standard_normal((2, *grid), dtype=np.float32)
    first = np.full(small, np.inf, dtype=np.float32)
    second = np.full(small, np.inf, dtype=np.float32)
    owner = np.zeros(small, dtype=np.intp)
    base_row, base_col = rows.astype(np.intp), cols.astype(np.intp)
    for step_row in (-1, 0, 1):
        for step_col in (-1, 0, 1):
            index = np.clip((base_row + step_row) * grid[1] + base_col + step_col, 0, grid[0] * grid[1] - 1)
            d_row = rows - (base_row + step_row) - jitter[0].ravel()[index]
            d_col = cols - (base_col + step_col) - jitter[1].ravel()[index]
            distance = d_row * d_row + d_col * d_col
            closer = distance < first
            second = np.where(closer, first, np.minimum(second, distance))
            first = np.where(closer, distance, first)
            owner = np.where(closer, index, owner)
    own_row, own_col = owner // grid[1], owner % grid[1]
    tilt = slope[0].ravel()[owner] * (rows - own_row - jitter[0].ravel()[owner])
    tilt += slope[1].ravel()[owner] * (cols - own_col - jitter[1].ravel()[owner])
    nearest, border = np.sqrt(first), np.sqrt(second) - np.sqrt(first)
    return Cells(
        nearest=resample(nearest, shape),
        edge=resample(border, shape),
        tone=resample(tone.ravel()[owner], shape),
        tilt=resample(tilt, shape),
    )


@dataclass(frozen=True)
class Bars:
    """Rounded bars (N of them) between two ends, seen from above; a bar of length 0 is a ball.

    Attributes:
        start: (N, 3) column, row and height of the first end, in pixels.
        stop: (N, 3) of the second end.
        radius: (N, 2) at the first and the second end, in pixels.
        bulge: (N,) how round a bar stands out of the plane: 1 a cylinder, 0 a flat strip.
    """

    start: Field
    stop: Field
    radius: Field
    bulge: Field

    @property
    def count(self) -> int:
        """Number of bars."""
        return len(self.start)


@dataclass(frozen=True)
class Relief:
    """What is seen of bars from above.

    Attributes:
        height: (H, W) height of the topmost bar in pixels, -inf where there is none.
        bar: (H, W) int32 index of that bar, -1 where there is none.
        along: (H, W) position along it, 0 at the first and 1 at the second end.
        across: (H, W) position across it, 0 on its axis and 1 at its side.
    """

    height: Field
    bar: npt.NDArray[np.int32]
    along: Field
    across: Field


def draw_bars(bars: Bars, shape: Shape) -> Relief:
    """Draw bars into a frame (H, W); the higher one hides the lower one."""
    size = shape[0] * shape[1]
    relief = Relief(
        height=np.full(size, -np.inf, dtype=np.float32),
        bar=np.full(size, -1, dtype=np.int32),
        along=np.zeros(size, dtype=np.float32),
        across=np.zeros(size, dtype=np.float32),
    )
    reach = bars.radius.max(axis=1, initial=0.0)
    low = np.floor(np.minimum(bars.start[:, :2], bars.stop[:, :2]) - reach[:, None])
    high = np.ceil(np.maximum(bars.start[:, :2], bars.stop[:, :2]) + reach[:, None])
    extent = (high - low).max(axis=1, initial=0.0)
    seen = (high[:, 0] >= 0) & (high[:, 1] >= 0) & (low[:, 0] < shape[1]) & (low[:, 1] < shape[0])
    smallest, edge = 0, _WINDOW_PX
    while smallest <= extent.max(initial=0.0):
        chosen = np.flatnonzero(seen & (extent >= smallest) & (extent < edge))
        per_chunk = max(1, _CHUNK_PX // (edge * edge))
        for begin in range(0, len(chosen), per_chunk):
            _draw_windows(bars, chosen[begin : begin + per_chunk], low, edge, shape, relief)
        smallest, edge = edge, int(edge * _WINDOW_STEP)
    return Relief(
        height=relief.height.reshape(shape),
        bar=relief.bar.reshape(shape),
        along=relief.along.reshape(shape),
        across=relief.across.reshape(shape),
    )


def _draw_windows(
    bars: Bars, chosen: npt.NDArray[np.intp], low: Field, edge: int, shape: Shape, relief: Relief
) -> None:
    """Draw the chosen bars, each in a window of `edge` pixels whose corner is `low`, into the flat `relief`."""
    step = np.arange(edge, dtype=np.float32)
    col = low[chosen, 0][:, None, None] + step[None, None, :]
    row = low[chosen, 1][:, None, None] + step[None, :, None]
    x0, y0, z0 = (bars.start[chosen, k][:, None, None] for k in range(3))
    dx, dy, dz = ((bars.stop[chosen, k] - bars.start[chosen, k])[:, None, None] for k in range(3))
    r0, r1 = (bars.radius[chosen, k][:, None, None] for k in range(2))
    length2 = np.maximum(dx * dx + dy * dy, np.float32(1e-6))
    along = np.clip(((col - x0) * dx + (row - y0) * dy) / length2, 0, 1)
    distance2 = (col - x0 - along * dx) ** 2 + (row - y0 - along * dy) ** 2
    radius = r0 + along * (r1 - r0)
    inside = (distance2 < radius * radius) & (col >= 0) & (col < shape[1]) & (row >= 0) & (row < shape[0])
    picked, in_row, in_col = np.nonzero(inside)
    along, distance2, radius = along[inside], distance2[inside], radius[inside]
    top = z0[picked, 0, 0] + along * dz[picked, 0, 0] + bars.bulge[chosen[picked]] * np.sqrt(radius**2 - distance2)
    pixel = (row[picked, in_row, 0] * shape[1] + col[picked, 0, in_col]).astype(np.intp)
    np.maximum.at(relief.height, pixel, top)
    wins = relief.height[pixel] == top
    pixel = pixel[wins]
    relief.bar[pixel] = chosen[picked[wins]]
    relief.along[pixel] = along[wins]
    relief.across[pixel] = np.sqrt(distance2[wins]) / radius[wins]
