"""What the demo reef is made of: its substrates, its sites, and the true substrate of every pixel of a frame.

What the builders of substrates share stands here too: the pieces they return, and ways to colour and place them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from reseed.base.classes import CLASS_INDEX, CORAL, DEPLOY, NO_DEPLOY
from reseed.demo.texture import Bars, Field, Relief, Shape, resample, smooth_noise
from reseed.params.demo import DemoParams

# Lengths of the reef are given for a frame of this height and scaled to the frame at hand.
REFERENCE_HEIGHT_PX: Final = 760

SITE_NAMES: Final = (
    "Amber", "Boulder", "Cowrie", "Dugong", "Eagle", "Fusilier", "Grouper", "Heron", "Isis", "Jewel", "Kelp", "Lagoon",
    "Manta", "Nautilus", "Octopus", "Parrotfish", "Quoin", "Rabbitfish", "Seahorse", "Trevally", "Urchin", "Volute",
    "Wrasse", "Xenia", "Yellowfin", "Zoanthid",
)  # fmt: skip


class Substrate(IntEnum):
    """What covers the seafloor at a pixel."""

    SAND = 0
    RUBBLE = 1
    ALGAE = 2
    SEAGRASS = 3
    WATER = 4
    ROCK = 5
    CRUST = 6
    FRAMEWORK = 7
    BRANCHING = 8
    MASSIVE = 9
    TABLE = 10
    SOFT = 11


SUBSTRATES_OF: Final = {
    NO_DEPLOY: (Substrate.SAND, Substrate.RUBBLE, Substrate.ALGAE, Substrate.SEAGRASS, Substrate.WATER),
    DEPLOY: (Substrate.ROCK, Substrate.CRUST, Substrate.FRAMEWORK),
    CORAL: (Substrate.BRANCHING, Substrate.MASSIVE, Substrate.TABLE, Substrate.SOFT),
}

# (12,) class index of each substrate.
CLASS_OF_SUBSTRATE: Final = np.array(
    [next(CLASS_INDEX[name] for name, members in SUBSTRATES_OF.items() if kind in members) for kind in Substrate],
    dtype=np.uint8,
)

# How common each substrate is within its class before a site's own preference.
_COMMON: Final = {
    NO_DEPLOY: (1.0, 1.0, 0.9, 0.6, 0.3),
    DEPLOY: (1.0, 0.8, 0.7),
    CORAL: (1.0, 1.0, 0.6, 0.8),
}


@dataclass(frozen=True, order=True)
class FrameKey:
    """Which frame of the survey: site, sequence and frame number, all from 0."""

    site: int
    sequence: int
    frame: int


@dataclass(frozen=True)
class Site:
    """What the frames of one site share.

    Attributes:
        index: Number of the site from 0.
        name: Its name, as `survey.json` gives it.
        depth_m: Typical water depth in metres.
        haze: Share of the light of a seafloor 1 m away that is lost on the way to the camera.
        water_rgb: (3,) colour of the light that the water scatters into the camera, 0 to 1.
        absorption_rgb: (3,) share of each channel lost per metre of water.
        exposure: Mean brightness that the camera aims at, 0 to 1.
        vignette: Share of the light lost in the corners of the frame.
        blur_px: Blur of the optics in pixels at the reference height.
        sun_rad: Direction the light comes from.
        caustics: Strength of the light pattern that the waves throw on the seafloor.
        tint_rgb: (3,) cast of the local sand and rock.
        mix: Weight of each substrate within its class, by class.
    """

    index: int
    name: str
    depth_m: float
    haze: float
    water_rgb: Field
    absorption_rgb: Field
    exposure: float
    vignette: float
    blur_px: float
    sun_rad: float
    caustics: float
    tint_rgb: Field
    mix: Mapping[str, npt.NDArray[np.float64]]


def random_stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random stream that belongs to `key` alone, whatever else is drawn."""
    return np.random.default_rng(np.random.SeedSequence([seed, *key]))


def describe_site(seed: int, index: int) -> Site:
    """Return the site `index` of the reef `seed`."""
    rng = random_stream(seed, 1, index)
    murk = rng.random()
    green = rng.random()
    water = np.array([0.12 + 0.10 * green, 0.31 + 0.05 * green, 0.41 - 0.10 * green])
    mix = {}
    for name, common in _COMMON.items():
        weights = np.array(common) * rng.uniform(0.5, 1.5, len(common))
        mix[name] = weights / weights.sum()
    return Site(
        index=index,
        name=SITE_NAMES[index],
        depth_m=float(rng.uniform(2.0, 8.5)),
        haze=float(0.06 + 0.11 * murk),
        water_rgb=water.astype(np.float32),
        absorption_rgb=np.array([rng.uniform(0.08, 0.13), 0.03 + 0.02 * murk, 0.03 + 0.03 * green], dtype=np.float32),
        exposure=float(rng.uniform(0.32, 0.42)),
        vignette=float(rng.uniform(0.15, 0.5)),
        blur_px=float(0.5 + 0.7 * murk),
        sun_rad=float(rng.uniform(0, 2 * np.pi)),
        caustics=float(max(0.0, rng.uniform(-0.15, 0.3))),
        tint_rgb=(1.0 + rng.uniform(-0.05, 0.05, 3)).astype(np.float32),
        mix=mix,
    )


def shows_rock(params: DemoParams, key: FrameKey) -> bool:
    """Tell whether rock abounds in a frame: `deploy_frame_share` of the frames, spread evenly along each track."""
    phase = 0.618 * key.site + 0.5 * key.sequence
    share = params.deploy_frame_share
    return int((key.frame + 1) * share + phase % 1) > int(key.frame * share + phase % 1)


def lay_out(rng: np.random.Generator, shape: Shape, site: Site, *, rocky: bool) -> npt.NDArray[np.uint8]:
    """Draw where each substrate lies.

    Returns:
        (H, W) uint8, values of `Substrate`.
    """
    scale = shape[0] / REFERENCE_HEIGHT_PX
    if rocky:
        deploy, coral = rng.uniform(0.30, 0.52), rng.uniform(0.12, 0.34)
    else:
        deploy, coral = max(0.0, rng.uniform(-0.12, 0.19)), rng.uniform(0.22, 0.62)
    classes = (DEPLOY, CORAL, NO_DEPLOY)
    class_map = _divide(rng, shape, np.array([deploy, coral, 1.0 - deploy - coral]), 420 * scale)
    substrate = np.zeros(shape, dtype=np.uint8)
    for number, name in enumerate(classes):
        kinds = np.array(SUBSTRATES_OF[name])
        count = min(len(kinds), int(rng.integers(2, 4)))
        chosen = rng.choice(len(kinds), count, replace=False, p=site.mix[name])
        parts = _divide(rng, shape, site.mix[name][chosen] + 0.15, 480 * scale)
        mask = class_map == number
        substrate[mask] = kinds[chosen][parts[mask]]
    return substrate


def _divide(
    rng: np.random.Generator, shape: Shape, shares: npt.NDArray[np.float64], wavelength_px: float
) -> npt.NDArray[np.uint8]:
    """Divide a frame into coherent areas: (H, W) uint8 index into their `shares`, which need not sum to 1."""
    half = ((shape[0] + 1) // 2, (shape[1] + 1) // 2)
    left = shares.sum()
    owner = np.full(shape, len(shares) - 1, dtype=np.uint8)
    free = np.ones(shape, dtype=bool)
    for number, share in enumerate(shares[:-1]):
        field = smooth_noise(rng, half, wavelength_px / 2)
        field += np.float32(0.09) * smooth_noise(rng, half, wavelength_px / 12)
        field = resample(field + np.float32(0.03) * smooth_noise(rng, half, wavelength_px / 48), shape)
        if share > 0:
            sample = field[::4, ::4][free[::4, ::4]]
            threshold = np.quantile(sample, 1.0 - share / left) if len(sample) else np.inf
            taken = free & (field > threshold)
            owner[taken] = number
            free &= ~taken
        left -= share
    return owner


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
