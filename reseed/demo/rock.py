"""Where a device would hold: the demo reef's bare rock, coralline crust and dead coral framework."""

from typing import Final

import numpy as np

from reseed.demo.surfaces import (
    ROCKS,
    TURFS,
    Plot,
    Surface,
    blend,
    pick_colours,
)
from reseed.demo.texture import Field, fractal_noise, scatter_cells, smooth_noise

_CRUSTS: Final = ((0.62, 0.37, 0.44), (0.55, 0.34, 0.47), (0.66, 0.46, 0.50), (0.52, 0.34, 0.38))


def _rock_relief(rng: np.random.Generator, plot: Plot, face_px: float) -> tuple[Field, Field, Field]:
    """Return height, crack depth and tone (H, W) of a rock of tilted faces, large and small, with broken cracks."""
    scale, shape = plot.scale, plot.shape
    faces = scatter_cells(rng, shape, face_px * scale, warp_px=14 * scale)
    chips = scatter_cells(rng, shape, 0.36 * face_px * scale, warp_px=7 * scale)
    rough = fractal_noise(rng, shape, 60 * scale, 6, gain=0.6)
    width = np.clip(0.5 + 0.8 * smooth_noise(rng, shape, 90 * scale), 0, 1.3) * np.float32(7.0 / face_px)
    crack = np.clip(1.3 * width / (faces.edge + np.float32(0.5 / face_px)) - 0.35, 0, 1)
    height = 0.24 * face_px * scale * faces.tilt + 20 * scale * faces.tone
    height += 0.13 * face_px * scale * chips.tilt + 7 * scale * chips.tone + 3.2 * scale * rough
    height -= 12 * scale * crack
    tone = 0.82 + 0.18 * faces.tone + 0.12 * chips.tone + 0.06 * rough
    return height.astype(np.float32), crack.astype(np.float32), tone.astype(np.float32)


def build_rock(rng: np.random.Generator, plot: Plot) -> Surface:
    """Bare rock: large tilted faces with sharp cracks between them, rough, with some turf."""
    height, crack, tone = _rock_relief(rng, plot, rng.uniform(80, 130))
    rock = pick_colours(rng, ROCKS, 1)[0] * plot.site.tint_rgb
    turf = 0.5 * np.clip(0.9 * fractal_noise(rng, plot.shape, 110 * plot.scale, 4) - 0.25, 0, 1)
    albedo = blend(rock, pick_colours(rng, TURFS, 1)[0], turf) * (tone * (1 - 0.6 * crack))[..., None]
    return Surface(height, albedo.astype(np.float32), plot.mask)


def build_crust(rng: np.random.Generator, plot: Plot) -> Surface:
    """Crustose coralline algae: pink to purple plates with pale rims, grown over rock."""
    scale, shape = plot.scale, plot.shape
    height, crack, tone = _rock_relief(rng, plot, rng.uniform(95, 150))
    plates = scatter_cells(rng, shape, rng.uniform(40, 60) * scale, warp_px=10 * scale)
    bare = plates.tone < rng.uniform(0.12, 0.3)
    rim = np.clip(1 - np.abs(plates.edge - 0.10) * 11, 0, 1)
    first, second = pick_colours(rng, _CRUSTS, 2)
    crust = blend(first, second, (plates.tone * 3) % 1) * (1 + 0.28 * rim[..., None])
    rock = pick_colours(rng, ROCKS, 1)[0] * plot.site.tint_rgb
    albedo = np.where(bare[..., None], rock, crust) * (tone * (1 - 0.6 * crack))[..., None]
    warts = smooth_noise(rng, shape, 7 * scale)
    height = height + np.where(bare, 0, 2.2 * scale + 0.8 * scale * warts) + 1.5 * scale * rim
    return Surface(height.astype(np.float32), albedo.astype(np.float32), plot.mask)


def build_framework(rng: np.random.Generator, plot: Plot) -> Surface:
    """Dead coral framework: massive, pitted limestone with dark holes, grey and turf-stained."""
    scale, shape = plot.scale, plot.shape
    height, crack, tone = _rock_relief(rng, plot, rng.uniform(110, 160))
    pits = scatter_cells(rng, shape, rng.uniform(30, 40) * scale, warp_px=3 * scale)
    size = 0.04 + 0.34 * pits.tone**2
    hole = np.clip((size - pits.nearest) * 8, 0, 1)
    turf = 0.55 * np.clip(fractal_noise(rng, shape, 80 * scale, 4), 0, 1)
    albedo = blend(pick_colours(rng, ROCKS, 1)[0] * 1.12 * plot.site.tint_rgb, pick_colours(rng, TURFS, 1)[0], turf)
    albedo = albedo * (tone * (1 - 0.55 * crack) * (1 - 0.65 * hole))[..., None]
    lumps = 4 * scale * smooth_noise(rng, shape, 28 * scale)
    return Surface((height + lumps - 15 * scale * hole).astype(np.float32), albedo.astype(np.float32), plot.mask)
