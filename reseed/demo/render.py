"""From the demo reef's substrates to a frame: relief and colour put together, lit, and seen through the water."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from reseed.base.classes import CLASS_INDEX, CORAL
from reseed.demo.scene import (
    CLASS_OF_SUBSTRATE,
    REFERENCE_HEIGHT_PX,
    SUBSTRATES_OF,
    FrameKey,
    Plot,
    Site,
    Substrate,
    Surface,
    lay_out,
    random_stream,
    shows_rock,
)
from reseed.demo.seabed import (
    build_algae,
    build_branching,
    build_crust,
    build_framework,
    build_massive,
    build_rock,
    build_rubble,
    build_sand,
    build_seagrass,
    build_soft,
    build_table,
    build_water,
)
from reseed.demo.texture import Field, Shape, labyrinth, low_pass, resample, smooth_noise
from reseed.params.demo import DemoParams

_BUILDERS: Final[dict[Substrate, Callable[[np.random.Generator, Plot], Surface]]] = {
    Substrate.SAND: build_sand,
    Substrate.RUBBLE: build_rubble,
    Substrate.ALGAE: build_algae,
    Substrate.SEAGRASS: build_seagrass,
    Substrate.WATER: build_water,
    Substrate.ROCK: build_rock,
    Substrate.CRUST: build_crust,
    Substrate.FRAMEWORK: build_framework,
    Substrate.BRANCHING: build_branching,
    Substrate.MASSIVE: build_massive,
    Substrate.TABLE: build_table,
    Substrate.SOFT: build_soft,
}

# Low things are painted first, so that colonies reach over their neighbours and water swallows them all.
_PAINT_ORDER: Final = (
    Substrate.SAND, Substrate.SEAGRASS, Substrate.RUBBLE, Substrate.ROCK, Substrate.FRAMEWORK, Substrate.CRUST,
    Substrate.ALGAE, Substrate.MASSIVE, Substrate.SOFT, Substrate.BRANCHING, Substrate.TABLE, Substrate.WATER,
)  # fmt: skip

# Mean level of each substrate in pixels at the reference height: rock and coral stand above the sand.
_LEVEL_PX: Final = {
    Substrate.SAND: 0, Substrate.SEAGRASS: 0, Substrate.RUBBLE: 3, Substrate.ALGAE: 12, Substrate.WATER: 0,
    Substrate.ROCK: 24, Substrate.FRAMEWORK: 26, Substrate.CRUST: 24,
    Substrate.MASSIVE: 12, Substrate.SOFT: 12, Substrate.BRANCHING: 12, Substrate.TABLE: 12,
}  # fmt: skip

# From here on what is painted are colonies, which stand on the seafloor painted so far, evened out over some pixels.
_FIRST_COLONIES: Final = Substrate.MASSIVE
_FOOTING_PX: Final = 40

# How far a colony may reach out of its area, and what is lit in one piece, at the reference height.
_MARGIN_PX: Final = 120
# Pixels of relief that bring the seafloor one metre nearer to the camera, at the reference height.
_PX_PER_M: Final = 400.0


@dataclass(frozen=True)
class Frame:
    """One rendered frame.

    Attributes:
        pixels: (H, W, 3) uint8 RGB.
        truth: (H, W) uint8 true class index of every pixel.
        substrate: (H, W) uint8 true `Substrate` of every pixel.
        altitude_m: Distance from the camera to the seafloor in metres.
        water_depth_m: Water depth in metres.
        exposure_us: Exposure time in microseconds.
    """

    pixels: npt.NDArray[np.uint8]
    truth: npt.NDArray[np.uint8]
    substrate: npt.NDArray[np.uint8]
    altitude_m: float
    water_depth_m: float
    exposure_us: int


@dataclass(frozen=True)
class Seafloor:
    """A seafloor before it is lit: height (H, W) in pixels, albedo (H, W, 3), substrate (H, W)."""

    height: Field
    albedo: Field
    substrate: npt.NDArray[np.uint8]


def render_frame(params: DemoParams, site: Site, key: FrameKey) -> Frame:
    """Render one frame; it depends on the seed and `key` only, not on which other frames there are."""
    rng = random_stream(params.seed, 2, key.site, key.sequence, key.frame)
    shape = (params.height_px, params.width_px)
    layout = lay_out(rng, shape, site, rocky=shows_rock(params, key))
    seafloor = build_seafloor(rng, layout, site)
    altitude_m = round(float(rng.uniform(1.2, 2.4)), 2)
    depth_m = round(site.depth_m + altitude_m * float(rng.uniform(0.9, 1.1)), 2)
    lit = light(rng, seafloor, site)
    pixels = photograph(rng, lit, seafloor.height, site, altitude_m)
    return Frame(
        pixels=pixels,
        truth=CLASS_OF_SUBSTRATE[seafloor.substrate],
        substrate=seafloor.substrate,
        altitude_m=altitude_m,
        water_depth_m=depth_m,
        exposure_us=int(rng.integers(1200, 1500)),
    )


def build_seafloor(rng: np.random.Generator, layout: npt.NDArray[np.uint8], site: Site) -> Seafloor:
    """Build every substrate of a layout (H, W); what reaches out of its own area takes its class along."""
    shape = (layout.shape[0], layout.shape[1])
    scale = shape[0] / REFERENCE_HEIGHT_PX
    swell = 14 * scale * smooth_noise(rng, shape, 420 * scale)
    coral = CLASS_OF_SUBSTRATE[layout] == CLASS_INDEX[CORAL]
    height, substrate = swell.copy(), np.where(coral, _bed_of(layout), layout)
    albedo = np.full((*shape, 3), 0.4, dtype=np.float32)
    base = swell
    for kind in _PAINT_ORDER:
        if kind == _FIRST_COLONIES:
            base = np.maximum(swell, low_pass(height, _FOOTING_PX * scale))
        mask = (layout if kind in SUBSTRATES_OF[CORAL] else substrate) == kind
        if not mask.any():
            continue
        window = _bounding_window(mask, round(_MARGIN_PX * scale))
        surface = _BUILDERS[kind](rng, Plot(mask[window], scale, site))
        level = base[window] + np.float32(_LEVEL_PX[kind] * scale)
        _paint(height[window], albedo[window], substrate[window], mask[window], surface, level, kind)
    return Seafloor(height, albedo, substrate)


def _bed_of(layout: npt.NDArray[np.uint8]) -> np.uint8:
    """Return the substrate that shows between corals: the commonest that is neither coral nor water."""
    counts = np.bincount(layout.reshape(-1), minlength=len(Substrate))
    counts[[*SUBSTRATES_OF[CORAL], Substrate.WATER]] = 0
    return np.uint8(counts.argmax())


def _bounding_window(mask: npt.NDArray[np.bool_], margin_px: int) -> tuple[slice, slice]:
    rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return (
        slice(max(0, int(rows[0]) - margin_px), int(rows[-1]) + margin_px + 1),
        slice(max(0, int(cols[0]) - margin_px), int(cols[-1]) + margin_px + 1),
    )


def _paint(
    height: Field,
    albedo: Field,
    substrate: npt.NDArray[np.uint8],
    inside: npt.NDArray[np.bool_],
    surface: Surface,
    level: Field,
    kind: Substrate,
) -> None:
    """Paint a surface into the views of a seafloor: anywhere inside its area, outside of it over what lies lower."""
    top = surface.height + level
    shown = surface.cover & (inside | (top > height))
    np.copyto(height, top, where=shown)
    np.copyto(albedo, surface.albedo, where=shown[..., None])
    np.copyto(substrate, np.uint8(kind), where=shown)


def light(rng: np.random.Generator, seafloor: Seafloor, site: Site) -> Field:
    """Light a seafloor from one side and from all around: (H, W, 3) reflected light."""
    height = np.maximum(seafloor.height, np.float32(-40))
    shape = (height.shape[0], height.shape[1])
    scale = shape[0] / REFERENCE_HEIGHT_PX
    azimuth = site.sun_rad + rng.normal(0, 0.35)
    to_sun = (np.sin(azimuth), np.cos(azimuth))
    slope_row, slope_col = np.gradient(height)
    elevation = np.float32(0.95)
    facing = elevation - slope_row * np.float32(to_sun[0]) - slope_col * np.float32(to_sun[1])
    norm = np.sqrt((1 + slope_row**2 + slope_col**2) * np.float32(1 + elevation**2))
    direct = np.clip(facing / norm, 0, None)
    direct *= cast_shadow(height, to_sun, scale)
    sky = np.exp(-np.clip(low_pass(height, 26 * scale) - height, 0, None) * np.float32(0.040 / scale))
    sky *= np.exp(-np.clip(low_pass(height, 7 * scale) - height, 0, None) * np.float32(0.075 / scale))
    sky *= np.float32(0.55) + np.float32(0.45) / np.sqrt(1 + slope_row**2 + slope_col**2)
    if site.caustics > 0:
        web = 1 - np.abs(labyrinth(rng, (shape[0] // 4 + 1, shape[1] // 4 + 1), 26 * scale))
        direct *= 1 + np.float32(site.caustics) * (resample(web.astype(np.float32), shape) - np.float32(0.35))
    brightness = np.float32(1.05) * direct + np.float32(0.42) * sky
    lit: Field = (seafloor.albedo * brightness[..., None]).astype(np.float32)
    return lit


def cast_shadow(height: Field, to_sun: tuple[float, float], scale: float) -> Field:
    """Return the share (H, W) of direct light that gets past higher ground, computed at half resolution."""
    shape = (height.shape[0], height.shape[1])
    half = resample(height, ((shape[0] + 1) // 2, (shape[1] + 1) // 2))
    blocked = np.zeros_like(half)
    step_px = 3.0 * max(scale, 0.35)
    for step in range(1, 13):
        reach = step * step_px
        shift_row, shift_col = round(to_sun[0] * reach / 2), round(to_sun[1] * reach / 2)
        risen = _shifted(half, shift_row, shift_col) - half - np.float32(reach * 0.95)
        np.maximum(blocked, risen, out=blocked)
    soft = np.clip(blocked / np.float32(5.0 * scale), 0, 1)
    return 1 - np.float32(0.8) * resample(soft, shape)


def _shifted(field: Field, rows: int, cols: int) -> Field:
    """Return the field (H, W) seen `rows` down and `cols` to the right, its border repeated."""
    height, width = field.shape
    row = np.clip(np.arange(height) + rows, 0, height - 1)
    col = np.clip(np.arange(width) + cols, 0, width - 1)
    return field[row][:, col]


def photograph(
    rng: np.random.Generator, lit: Field, height: Field, site: Site, altitude_m: float
) -> npt.NDArray[np.uint8]:
    """See a lit seafloor (H, W, 3) through the water of a site, as the camera records it: (H, W, 3) uint8."""
    shape: Shape = (height.shape[0], height.shape[1])
    scale = shape[0] / REFERENCE_HEIGHT_PX
    range_m = np.maximum(np.float32(altitude_m) - height / np.float32(_PX_PER_M * scale), np.float32(0.3))
    haze_per_m = np.float32(-np.log(1 - site.haze))
    cloud = 1 + np.float32(0.25) * smooth_noise(rng, shape, 500 * scale)
    through = np.exp(-haze_per_m * range_m * np.clip(cloud, 0.3, None))
    colour = np.exp(-site.absorption_rgb * np.float32(0.5 * site.depth_m + altitude_m) * 0.55)
    seen = lit * colour
    sea = seen.reshape(-1, 3)[::97].mean(axis=0).mean() * 2.2 * site.water_rgb
    fog = low_pass(np.clip(1 + height / np.float32(300 * scale), 0, 1), 40 * scale)
    through *= np.clip(fog * 1.3 - 0.3, 0, 1)
    image = seen * through[..., None] + sea * (1 - through)[..., None]
    image *= _lens(rng, shape, site)[..., None]
    image *= np.float32(site.exposure * rng.uniform(0.93, 1.07) / max(float(image[::9, ::9].mean()), 1e-6))
    image = np.clip(image, 0, None)
    tone = image / (1 + np.float32(0.35) * image) * np.float32(1.25)
    encoded = np.clip(tone, 0, 1) ** np.float32(0.8)
    encoded += np.float32(0.012) * rng.standard_normal(shape, dtype=np.float32)[..., None]
    picture = Image.fromarray((np.clip(encoded, 0, 1) * 255 + 0.5).astype(np.uint8))
    return np.asarray(picture.filter(ImageFilter.GaussianBlur(site.blur_px * scale)))


def _lens(rng: np.random.Generator, shape: Shape, site: Site) -> Field:
    """Return the share (H, W) of light kept: less toward the corners, uneven over the frame."""
    rows = np.linspace(-1, 1, shape[0], dtype=np.float32)[:, None]
    cols = np.linspace(-1, 1, shape[1], dtype=np.float32)[None, :]
    centre = rng.normal(0, 0.15, 2).astype(np.float32)
    distance2 = (rows - centre[0]) ** 2 + (cols - centre[1]) ** 2
    kept: Field = (1 - np.float32(0.5 * site.vignette) * np.clip(distance2, 0, 2)).astype(np.float32)
    return kept
