"""The demo reef's seabed: sand, rubble, macroalgae, seagrass, open water, and the corals that grow on it."""

from typing import Final

import numpy as np

from reseed.demo.scene import (
    ROCKS,
    TURFS,
    Plot,
    Surface,
    blend,
    join_bars,
    lay_bars,
    lay_over,
    pick_colours,
    scatter,
    tint,
)
from reseed.demo.texture import (
    Field,
    Relief,
    draw_bars,
    fractal_noise,
    labyrinth,
    low_pass,
    scatter_cells,
    smooth_noise,
)

_BRANCHES: Final = ((0.52, 0.38, 0.24), (0.56, 0.45, 0.30), (0.48, 0.40, 0.24), (0.56, 0.42, 0.42), (0.44, 0.41, 0.44))
_DOMES: Final = ((0.54, 0.42, 0.27), (0.47, 0.36, 0.25), (0.50, 0.45, 0.27), (0.55, 0.40, 0.36), (0.46, 0.42, 0.33))
_SOFTS: Final = ((0.54, 0.46, 0.34), (0.57, 0.50, 0.38), (0.50, 0.39, 0.39), (0.46, 0.39, 0.30), (0.50, 0.45, 0.28))


def _raise_colonies(rng: np.random.Generator, plot: Plot, relief: Relief, colours: Field) -> Surface:
    """Stand colonies of the given colours (H, W, 3) on shaded rock, which shows in the gaps of a thicket only."""
    rough = fractal_noise(rng, plot.shape, 36 * plot.scale, 4)
    drawn = relief.bar >= 0
    between = low_pass(drawn.astype(np.float32), 26 * plot.scale) > 0.22
    rock = pick_colours(rng, ROCKS, 1)[0] * 0.5
    ground = Surface(4 * plot.scale * rough, tint(rock, 1 + 0.15 * rough), plot.mask & between)
    return lay_over(ground, relief, colours, 4 * plot.scale)


def build_branching(rng: np.random.Generator, plot: Plot) -> Surface:
    """Branching coral: colonies of round branches that fork outward and upward to pale tips."""
    scale, shape = plot.scale, plot.shape
    centres = scatter(rng, plot.mask, rng.uniform(84, 104) * scale)
    colony = np.repeat(np.arange(len(centres)), 8)
    angle = (np.tile(np.arange(8) * np.pi / 4, len(centres)) + rng.normal(0, 0.3, len(colony))).astype(np.float32)
    start = np.column_stack([centres[colony], scale * rng.uniform(4, 18, len(colony))]).astype(np.float32)
    thick, step = rng.uniform(5.6, 7.4) * scale, rng.uniform(19, 25) * scale
    levels, owners, tips = [], [], []
    for level in range(4):
        count = len(start)
        radius = thick * 0.88**level * rng.uniform(0.9, 1.1, (count, 1)) * np.array([[1.0, 0.88]])
        length = step * 0.92**level * rng.uniform(0.75, 1.25, count)
        rise = scale * rng.uniform(2, 12, count)
        branch = lay_bars(start, angle, length, rise, radius, 1.0)
        levels.append(branch)
        owners.append(colony)
        tips.append(np.full(count, level == 3))
        keep = rng.random((count, 2)) < np.array([[0.95, 0.62]])
        fork = np.array([[-0.42, 0.42]]) * rng.choice([-1.0, 1.0], (count, 1)) + rng.normal(0, 0.2, (count, 2))
        parent = np.nonzero(keep)[0]
        start, colony = branch.stop[parent], colony[parent]
        angle = (angle[parent] + fork[keep]).astype(np.float32)
    relief = draw_bars(join_bars(levels), shape)
    owner, tip = np.concatenate(owners)[relief.bar], np.concatenate(tips)[relief.bar]
    colours = pick_colours(rng, _BRANCHES, len(centres))[owner]
    pale = tip * np.clip(relief.along * 1.9 - 0.75, 0, 1)
    texture = 1 + 0.10 * smooth_noise(rng, shape, 3 * scale)
    colours = blend(colours, np.clip(colours * 1.2 + 0.24, 0, 0.92), pale) * texture[..., None]
    return _raise_colonies(rng, plot, relief, colours)


def build_massive(rng: np.random.Generator, plot: Plot) -> Surface:
    """Massive coral: shaded domes covered by brain-like ridges, by honeycomb cups, or by fine polyps."""
    scale, shape = plot.scale, plot.shape
    centres = np.concatenate([scatter(rng, plot.mask, spacing * scale) for spacing in (150.0, 105.0)])
    count = len(centres)
    radius = scale * rng.uniform(46, 92, count)
    start = np.column_stack([centres, -0.35 * radius])
    bars = lay_bars(
        start, rng.uniform(0, 6.3, count), 0.4 * radius, np.zeros(count), np.column_stack([radius] * 2), 0.85
    )
    relief = draw_bars(bars, shape)
    style = rng.integers(0, 3, count)[relief.bar]
    brain = labyrinth(rng, shape, rng.uniform(14, 18) * scale)
    cups = scatter_cells(rng, shape, rng.uniform(15, 20) * scale)
    honeycomb = np.clip(2.4 * (0.42 - cups.edge), -1, 1) - 0.5 * np.clip(1 - cups.nearest * 3.2, 0, 1)
    polyps = 0.55 * smooth_noise(rng, shape, 5 * scale) + 0.9 * smooth_noise(rng, shape, 34 * scale)
    pattern = np.choose(style, [brain, honeycomb, 0.55 * polyps]).astype(np.float32)
    depth = np.float32(scale) * np.choose(style, [2.3, 2.0, 1.5]).astype(np.float32)
    colours = pick_colours(rng, _DOMES, count)[relief.bar] * (1 + 0.20 * pattern[..., None])
    bumps = Relief(relief.height + depth * pattern, relief.bar, relief.along, relief.across)
    return _raise_colonies(rng, plot, bumps, colours.astype(np.float32))


def build_table(rng: np.random.Generator, plot: Plot) -> Surface:
    """Table coral: raised round plates of short branchlets that radiate to a pale growing rim."""
    scale, shape = plot.scale, plot.shape
    centres = np.concatenate([scatter(rng, plot.mask, spacing * scale) for spacing in (175.0, 140.0)])
    plates = len(centres)
    radius = scale * rng.uniform(60, 105, plates)
    level = scale * rng.uniform(20, 62, plates)
    per_plate = 420
    owner = np.repeat(np.arange(plates), per_plate)
    ratio = np.sqrt((np.tile(np.arange(per_plate), plates) + rng.random(len(owner))) / per_plate)
    angle = np.tile(np.arange(per_plate) * 2.39996, plates) + rng.normal(0, 0.05, len(owner))
    wave = 1 + 0.10 * np.sin(3 * angle + owner) + 0.05 * np.sin(7 * angle + 2 * owner)
    reach = ratio * radius[owner] * wave
    start = np.column_stack(
        [
            centres[owner, 0] + np.cos(angle) * reach,
            centres[owner, 1] + np.sin(angle) * reach,
            level[owner] + 0.06 * reach + scale * rng.uniform(0, 3, len(owner)),
        ]
    )
    width = scale * rng.uniform(2.6, 3.8, len(owner))
    lean = scale * (4 + 7 * ratio)
    twigs = lay_bars(
        start, angle + rng.normal(0, 0.25, len(owner)), lean, scale * rng.uniform(1, 5, len(owner)),
        np.column_stack([width, width * 0.8]), 1.0,
    )  # fmt: skip
    disc_start = np.column_stack([centres, level - 3 * scale])
    zero = np.zeros(plates)
    discs = lay_bars(disc_start, zero, zero, zero, np.column_stack([radius * 0.97] * 2), 0.02)
    relief = draw_bars(join_bars([twigs, discs]), shape)
    whose = np.concatenate([owner, np.arange(plates)])[relief.bar]
    rim = np.concatenate([ratio**6, zero]).astype(np.float32)[relief.bar]
    is_twig = relief.bar < len(owner)
    colours = pick_colours(rng, _BRANCHES, plates)[whose]
    pale = is_twig * (0.5 * np.clip(relief.along * 1.6 - 0.6, 0, 1) + 0.35 * rim)
    colours = blend(colours * np.where(is_twig, 1, 0.6)[..., None], np.clip(colours * 1.2 + 0.25, 0, 0.92), pale)
    return _raise_colonies(rng, plot, relief, colours)


def build_soft(rng: np.random.Generator, plot: Plot) -> Surface:
    """Soft leather coral: fleshy lobes that end in bunches of thick, blunt fingers with pale ends."""
    scale, shape = plot.scale, plot.shape
    centres = scatter(rng, plot.mask, rng.uniform(70, 88) * scale)
    lobes = len(centres)
    per_lobe = 46
    owner = np.repeat(np.arange(lobes), per_lobe)
    ratio = np.sqrt((np.tile(np.arange(per_lobe), lobes) + rng.random(len(owner))) / per_lobe)
    angle = np.tile(np.arange(per_lobe) * 2.39996, lobes) + rng.normal(0, 0.2, len(owner))
    reach = ratio * scale * rng.uniform(38, 56, lobes)[owner]
    top = scale * rng.uniform(22, 44, lobes)
    start = np.column_stack(
        [
            centres[owner, 0] + np.cos(angle) * reach * 0.7,
            centres[owner, 1] + np.sin(angle) * reach * 0.7,
            top[owner] * (1 - 0.55 * ratio**2),
        ]
    )
    width = scale * rng.uniform(5.0, 7.2, len(owner))
    fingers = lay_bars(
        start, angle + rng.normal(0, 0.3, len(owner)), scale * (6 + 20 * ratio),
        scale * rng.uniform(4, 12, len(owner)), np.column_stack([width, width * 0.92]), 1.0,
    )  # fmt: skip
    relief = draw_bars(fingers, shape)
    colours = pick_colours(rng, _SOFTS, lobes)[owner[relief.bar]]
    pale = np.clip(relief.along * 2.2 - 1.0, 0, 1) * (1 - relief.across) * 0.9
    tone = 0.92 + 0.06 * smooth_noise(rng, shape, 4 * scale)
    colours = blend(colours, np.clip(colours + 0.26, 0, 0.92), pale) * tone[..., None]
    return _raise_colonies(rng, plot, relief, colours)


_SANDS: Final = ((0.63, 0.60, 0.52), (0.57, 0.55, 0.49), (0.51, 0.48, 0.41), (0.60, 0.60, 0.56))
_FRAGMENTS: Final = ((0.53, 0.51, 0.46), (0.43, 0.40, 0.35), (0.53, 0.46, 0.45), (0.61, 0.60, 0.55), (0.47, 0.46, 0.38))
_ALGAE: Final = ((0.34, 0.28, 0.13), (0.28, 0.30, 0.13), (0.38, 0.30, 0.18), (0.40, 0.36, 0.20), (0.38, 0.26, 0.22))
_GRASSES: Final = ((0.24, 0.31, 0.14), (0.30, 0.35, 0.18), (0.34, 0.35, 0.20))


def build_sand(rng: np.random.Generator, plot: Plot) -> Surface:
    """Sand: parallel ripples that fork and fade, fine grain, a few dark grains and shells."""
    scale, shape = plot.scale, plot.shape
    angle = rng.uniform(0, np.pi)
    wavelength = rng.uniform(24, 40) * scale
    rows, cols = np.indices(shape, dtype=np.float32)
    phase = (rows * np.sin(angle) + cols * np.cos(angle)) * np.float32(2 * np.pi / wavelength)
    phase += 2.4 * smooth_noise(rng, shape, 190 * scale) + 0.5 * smooth_noise(rng, shape, 50 * scale)
    strength = np.clip(0.75 + 0.45 * smooth_noise(rng, shape, 240 * scale), 0.25, 1.2)
    ripple = (np.sin(phase) + 0.25 * np.sin(2 * phase)) * strength
    grain = smooth_noise(rng, shape, 1.0)
    height = np.float32(0.085 * wavelength) * ripple + np.float32(0.22 * scale) * grain
    tone = 1 + 0.05 * smooth_noise(rng, shape, 90 * scale) + 0.04 * grain + 0.06 * ripple
    tone -= 0.22 * (smooth_noise(rng, shape, 3 * scale) > 2.9)
    return Surface(
        height.astype(np.float32), tint(pick_colours(rng, _SANDS, 1)[0] * plot.site.tint_rgb, tone), plot.mask
    )


def build_rubble(rng: np.random.Generator, plot: Plot) -> Surface:
    """Rubble: loose broken sticks and lumps lying across each other on dark sand, each with its shadow."""
    scale, shape = plot.scale, plot.shape
    grain = smooth_noise(rng, shape, 2 * scale)
    sand = pick_colours(rng, _SANDS, 1)[0] * 0.62 * plot.site.tint_rgb
    ground = Surface(0.5 * scale * grain, tint(sand, 1 + 0.1 * grain), plot.mask)
    points = np.concatenate([scatter(rng, plot.mask, spacing * scale) for spacing in (21.0, 27.0, 34.0)])
    count = len(points)
    radius = scale * rng.uniform(3.6, 8.0, (count, 1)) * np.array([[1.0, 0.8]])
    length = scale * rng.gamma(3.0, 8.0, count).clip(0, 60)
    start = np.column_stack([points, rng.uniform(0, 9, count) * scale])
    bars = lay_bars(start, rng.uniform(0, 2 * np.pi, count), length, rng.uniform(-5, 5, count) * scale, radius, 0.9)
    relief = draw_bars(bars, shape)
    tone = 1 + 0.10 * grain + 0.10 * smooth_noise(rng, shape, 6 * scale)
    colours = pick_colours(rng, _FRAGMENTS, count)[relief.bar] * plot.site.tint_rgb * tone[..., None]
    return lay_over(ground, relief, colours.astype(np.float32), 2 * scale)


def build_algae(rng: np.random.Generator, plot: Plot) -> Surface:
    """Macroalgae: tufts of flat, leathery, overlapping fronds that fan out, with a paler midrib."""
    scale, shape = plot.scale, plot.shape
    tone = fractal_noise(rng, shape, 30 * scale, 3)
    ground = Surface(2 * scale * tone, tint(pick_colours(rng, TURFS, 1)[0] * 0.7, 1 + 0.12 * tone), plot.mask)
    centres = scatter(rng, plot.mask, 40 * scale)
    per_tuft = 14
    count = len(centres) * per_tuft
    sway = rng.uniform(0, 2 * np.pi)
    angle = rng.uniform(0, 2 * np.pi, count)
    angle += 1.1 * np.sin(sway - angle)
    length = scale * rng.uniform(24, 52, count)
    base = np.repeat(centres, per_tuft, axis=0) + scale * rng.normal(0, 10, (count, 2))
    start = np.column_stack([base, scale * rng.uniform(6, 16, count)])
    width = scale * rng.uniform(3.4, 6.6, count)
    first = lay_bars(
        start, angle, length * 0.55, scale * rng.uniform(0, 6, count), np.column_stack([width * 0.45, width]), 0.16
    )
    bend = angle + rng.normal(0, 0.45, count)
    second = lay_bars(
        first.stop, bend, length * 0.5, -scale * rng.uniform(0, 5, count), np.column_stack([width, width * 0.3]), 0.16
    )
    relief = draw_bars(join_bars([first, second]), shape)
    leaf = np.tile(np.arange(count), 2)[relief.bar]
    colours = np.repeat(pick_colours(rng, _ALGAE, len(centres)), per_tuft, axis=0)
    colours *= rng.uniform(0.75, 1.25, (count, 1)).astype(np.float32)
    rib = 1.22 - 0.42 * np.clip(relief.across * 1.6, 0, 1) + 0.12 * smooth_noise(rng, shape, 5 * scale)
    return lay_over(ground, relief, colours[leaf] * rib[..., None], 3 * scale)


def build_seagrass(rng: np.random.Generator, plot: Plot) -> Surface:
    """Seagrass: long thin blades combed one way by the current, over sand."""
    scale, shape = plot.scale, plot.shape
    grain = smooth_noise(rng, shape, 2 * scale)
    sand = pick_colours(rng, _SANDS, 1)[0] * 0.55 * plot.site.tint_rgb
    ground = Surface(scale * grain, tint(sand, 1 + 0.1 * grain), plot.mask)
    centres = scatter(rng, plot.mask, 19 * scale)
    count = len(centres) * 4
    base = np.repeat(centres, 4, axis=0) + scale * rng.normal(0, 7, (count, 2))
    flow = rng.uniform(0, 2 * np.pi)
    start = np.column_stack([base, scale * rng.uniform(2, 12, count)])
    length = scale * rng.uniform(18, 34, count)
    width = scale * rng.uniform(1.7, 2.8, count)
    angle = flow + rng.normal(0, 0.30, count)
    first = lay_bars(start, angle, length, scale * rng.uniform(0, 5, count), np.column_stack([width, width]), 0.4)
    second = lay_bars(
        first.stop, angle + rng.normal(0, 0.25, count), length, -scale * rng.uniform(0, 4, count),
        np.column_stack([width, width * 0.5]), 0.4,
    )  # fmt: skip
    relief = draw_bars(join_bars([first, second]), shape)
    blade = np.tile(np.arange(count), 2)[relief.bar]
    colours = pick_colours(rng, _GRASSES, 1) * rng.uniform(0.7, 1.35, (count, 1)).astype(np.float32)
    return lay_over(ground, relief, colours[blade], 3 * scale)


def build_water(rng: np.random.Generator, plot: Plot) -> Surface:
    """Open water: the seafloor drops out of sight; the camera model fills it with the water's own colour."""
    depth = np.full(plot.shape, -1200 * plot.scale, dtype=np.float32)
    depth += 60 * plot.scale * smooth_noise(rng, plot.shape, 200 * plot.scale)
    return Surface(depth, np.full((*plot.shape, 3), 0.3, dtype=np.float32), plot.mask)


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
