"""What the builders of the demo reef's substrates share: the pieces they return, ways to colour and place them."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from reseed.demo.scene import Site
from reseed.demo.texture import Bars, Field, Relief, Shape

Mask = npt.NDArray[np.bool_]
Points = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.floating[Any]]
Palette = tuple[tuple[float, float, float], ...]

# Colours as shares of red, green and blue light that are reflected. Those of the three classes overlap on purpose:
# colour alone must not tell rock from coral or rubble.
ROCKS: Final = ((0.44, 0.43, 0.40), (0.36, 0.34, 0.31), (0.47, 0.46, 0.44), (0.40, 0.37, 0.34))
TURFS: Final = ((0.36, 0.33, 0.20), (0.42, 0.37, 0.26), (0.33, 0.33, 0.24))


@dataclass(frozen=True)
class Surface:
    """A piece of seafloor.

    Attributes:
        height: (H, W) height in pixels above the seafloor's mean.
        albedo: (H, W, 3) share of the light that each channel reflects.
        cover: (H, W) where the surface hides what is under it.
    """

    height: Field
    albedo: Field
    cover: Mask


@dataclass(frozen=True)
class Plot:
    """Where and at which scale a substrate is to be built.

    Attributes:
        mask: (H, W) where the substrate lies.
        scale: Pixels per pixel of the reference frame.
        site: The site, for its tint.
    """

    mask: Mask
    scale: float
    site: Site

    @property
    def shape(self) -> Shape:
        """(H, W) of the plot."""
        return self.mask.shape[0], self.mask.shape[1]


def pick_colours(rng: np.random.Generator, palette: Palette, count: int) -> Points:
    """Draw `count` colours (count, 3): members of a palette, each a little off."""
    chosen = np.array(palette, dtype=np.float32)[rng.integers(0, len(palette), count)]
    chosen *= 1 + 0.04 * rng.standard_normal((count, 3), dtype=np.float32)
    return (chosen * (1 + 0.10 * rng.standard_normal((count, 1), dtype=np.float32))).astype(np.float32)


def blend(low: Field, high: Field, share: Field) -> Field:
    """Mix two colours, each (3,) or (H, W, 3), by `share` (H, W) of the second, limited to [0, 1]."""
    weight = np.clip(share, 0, 1)[..., None]
    return (low + (high - low) * weight).astype(np.float32)


def tint(colour: Points, brightness: Field) -> Field:
    """Give a plot (H, W, 3) one colour (3,) times a brightness (H, W)."""
    return (brightness[..., None] * colour).astype(np.float32)


def scatter(rng: np.random.Generator, mask: Mask, spacing_px: float) -> Points:
    """Scatter points over a mask, which holds a pixel, on a jittered grid: (N, 2) column and row, one at least."""
    rows = np.arange(spacing_px / 2, mask.shape[0], spacing_px)
    cols = np.arange(spacing_px / 2, mask.shape[1], spacing_px)
    grid = np.stack(np.meshgrid(cols, rows), axis=-1).reshape(-1, 2)
    grid[:, 0] += spacing_px * 0.5 * (np.arange(len(grid)) // max(1, len(cols)) % 2)
    grid += rng.uniform(-0.33, 0.33, grid.shape) * spacing_px
    inside = (grid[:, 0] >= 0) & (grid[:, 0] < mask.shape[1]) & (grid[:, 1] >= 0) & (grid[:, 1] < mask.shape[0])
    points = grid[inside]
    kept: Numbers = points[mask[points[:, 1].astype(int), points[:, 0].astype(int)]]
    if len(kept) == 0:
        pixels = np.argwhere(mask)
        kept = pixels[len(pixels) // 2][None, ::-1]
    return kept.astype(np.float32)


def lay_bars(start: Numbers, angle: Numbers, length: Numbers, rise: Numbers, radius: Numbers, bulge: float) -> Bars:
    """Lay bars from `start` (N, 3) along `angle` (N,) for `length` (N,), climbing by `rise` (N,)."""
    stop = start + np.stack([np.cos(angle) * length, np.sin(angle) * length, rise], axis=1)
    roundness = np.full(len(start), bulge, dtype=np.float32)
    return Bars(start.astype(np.float32), stop.astype(np.float32), radius.astype(np.float32), roundness)


def join_bars(parts: list[Bars]) -> Bars:
    """Put several sets of bars together, in their order."""
    return Bars(
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.stop for part in parts]),
        np.concatenate([part.radius for part in parts]),
        np.concatenate([part.bulge for part in parts]),
    )


def lay_over(ground: Surface, relief: Relief, colours: Field, base_height: float) -> Surface:
    """Lay drawn bars of the given colours (H, W, 3) over a ground, raised by `base_height`."""
    drawn = relief.bar >= 0
    height = np.where(drawn, relief.height + np.float32(base_height), ground.height)
    albedo = np.where(drawn[..., None], colours, ground.albedo)
    return Surface(height.astype(np.float32), albedo.astype(np.float32), ground.cover | drawn)
