"""The demo reef's living corals: branching, massive, table and soft."""

from typing import Final

import numpy as np

from reseed.demo.surfaces import (
    ROCKS,
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
