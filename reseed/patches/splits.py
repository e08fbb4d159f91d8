"""Dividing frames into train, val and test by group, never by patch.

Neighbouring patches and frames show the same seafloor; a division by patch would test the network on what it
was trained on and inflate every score.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.patches import NONE, SPLITS, TEST, TRAIN, VAL
from reseed.base.classes import CLASSES, DECISIONS
from reseed.base.errors import SplitError
from reseed.params.split import SplitParams
from reseed.patches.overlap import in_capture_order

# Divisions drawn from the seed; the one in which every class is spread most evenly is taken.
_DRAWS = 256

# The way out where a kind of group is too coarse for three splits.
_FINER = {
    "site": "choose a finer split.group_by (sequence, block, frame)",
    "sequence": "choose a finer split.group_by (block, frame)",
    "frame": "more frames are needed,",
}


@dataclass(frozen=True)
class Division:
    """Which frame is in which split.

    Args:
        groups: frame_id -> group.
        splits: frame_id -> train, val, test or none.
        remarks: What a reader should know, one line each.
    """

    groups: dict[str, str]
    splits: dict[str, str]
    remarks: tuple[str, ...]


def divide(frames: pd.DataFrame, weights: pd.DataFrame, params: SplitParams) -> Division:
    """Divide frames; a split that the data brings is kept, and val is then cut from train by group.

    Args:
        frames: FRAMES table.
        weights: Index frame_id, one column per label to spread evenly (annotated area per class, frame decisions).
        params: How.

    Raises:
        SplitError: If there are too few groups or a sequence is too short for its blocks.
    """
    # The cameras of one place share a sequence: by time their frames stand together, and fall into one block.
    frames = in_capture_order(frames)
    ids = frames["frame_id"].tolist()
    weights = weights.reindex(ids).fillna(0.0)
    given = dict(zip(ids, frames["given_split"], strict=True))
    groups = dict(zip(ids, _groups(frames, params), strict=True))
    free = frames[frames["given_split"] == ""]
    splits = {frame_id: split for frame_id, split in given.items() if split}
    if len(free):
        chosen = _best(_candidates(free, groups, params), free["frame_id"].tolist(), weights, _targets(params))
        splits |= chosen.splits
        groups |= chosen.groups
    elif VAL not in splits.values():
        splits |= _cut_validation(splits, groups, weights, params)
    remarks = (*_unsure_order(frames, params), *_divided_groups(groups, splits, given), *_missing(weights, splits))
    return Division(groups=groups, splits=splits, remarks=remarks)


def _targets(params: SplitParams) -> dict[str, float]:
    return {
        TRAIN: 1 - params.val_fraction - params.test_fraction,
        VAL: params.val_fraction,
        TEST: params.test_fraction,
    }


def _groups(frames: pd.DataFrame, params: SplitParams) -> list[str]:
    column = {"site": "site", "sequence": "sequence", "block": "sequence", "frame": "frame_id"}[params.group_by]
    return [str(value) for value in frames[column]]


@dataclass(frozen=True)
class _Candidate:
    groups: dict[str, str]
    splits: dict[str, str]


def _candidates(frames: pd.DataFrame, groups: dict[str, str], params: SplitParams) -> Iterator[_Candidate]:
    rng = np.random.default_rng(params.seed)
    if params.group_by == "block":
        sequences = [(str(name), part["frame_id"].tolist()) for name, part in frames.groupby("sequence", sort=True)]
        for _ in range(_DRAWS):
            yield _blocks(sequences, params, rng)
        return
    own = {frame_id: groups[frame_id] for frame_id in frames["frame_id"]}
    names = sorted(set(own.values()))
    n_val, n_test = _at_least_one(params.val_fraction, len(names)), _at_least_one(params.test_fraction, len(names))
    if len(names) - n_val - n_test < 1:
        raise SplitError(
            f"split.group_by: {params.group_by} gives {len(names)} group(s) ({', '.join(names[:5])}); train, val and "
            f"test need at least one each ({n_val} for val, {n_test} for test here): {_FINER[params.group_by]} or "
            "smaller fractions"
        )
    for _ in range(_DRAWS):
        shuffled = [names[i] for i in rng.permutation(len(names))]
        split_of = dict.fromkeys(shuffled, TRAIN)
        split_of |= dict.fromkeys(shuffled[:n_test], TEST) | dict.fromkeys(shuffled[n_test : n_test + n_val], VAL)
        yield _Candidate(own, {frame_id: split_of[group] for frame_id, group in own.items()})


def _at_least_one(fraction: float, count: int) -> int:
    return max(1, round(fraction * count))


def _blocks(sequences: list[tuple[str, list[str]]], params: SplitParams, rng: np.random.Generator) -> _Candidate:
    """Cut every sequence into stretches, each giving one block of consecutive frames to each split."""
    groups: dict[str, str] = {}
    splits: dict[str, str] = {}
    for name, ids in sequences:
        # Room for the guard that may lead a stretch, so that none is left with less than block_frames.
        n_stretches = max(1, len(ids) // (params.block_frames + params.guard_frames))
        block, last = 0, None
        for stretch in np.array_split(np.array(ids, dtype=object), n_stretches):
            order = [SPLITS[i] for i in rng.permutation(len(SPLITS))]
            lead = params.guard_frames if last not in (None, order[0]) else 0
            assigned = [NONE] * lead + _stretch(name, len(stretch) - lead, order, params)
            for frame_id, split, previous in zip(stretch, assigned, [last, *assigned], strict=False):
                block += split != previous
                groups[frame_id], splits[frame_id] = f"{name}#b{block:03d}", split
            last = assigned[-1]
    return _Candidate(groups, splits)


def _stretch(sequence: str, n_frames: int, order: list[str], params: SplitParams) -> list[str]:
    """Return the split of each frame of one stretch: three blocks in the given order, guards between them."""
    usable = n_frames - 2 * params.guard_frames
    count = {
        VAL: _at_least_one(params.val_fraction, usable),
        TEST: _at_least_one(params.test_fraction, usable),
    }
    count[TRAIN] = usable - count[VAL] - count[TEST]
    if count[TRAIN] < 1:
        raise SplitError(
            f"sequence {sequence}: a stretch of {n_frames} frame(s) cannot give a block to train, val and test with "
            f"split.guard_frames {params.guard_frames} between them: lower split.guard_frames, raise "
            "split.block_frames, or use split.group_by: sequence"
        )
    guard = [NONE] * params.guard_frames
    first, second, third = ([split] * count[split] for split in order)
    return [*first, *guard, *second, *guard, *third]


def _best(
    candidates: Iterator[_Candidate], ids: list[str], weights: pd.DataFrame, targets: dict[str, float]
) -> _Candidate:
    table = np.column_stack([weights.loc[ids].to_numpy(np.float64), np.ones(len(ids))])  # the last column: frames
    return min(candidates, key=lambda candidate: _imbalance(candidate, ids, table, targets))


def _imbalance(candidate: _Candidate, ids: list[str], table: NDArray[np.float64], targets: dict[str, float]) -> float:
    """Return how far each split's share of each label is from the share of frames it should have."""
    total = table.sum(axis=0)
    present = total > 0
    split = np.array([candidate.splits[frame_id] for frame_id in ids])
    cost = 0.0
    for name, target in targets.items():
        share = table[split == name].sum(axis=0)[present] / total[present]
        # Relative, so that a class missing from a small split weighs as much as one missing from a large one.
        cost += float((np.abs(share - target) / target).sum())
    return round(cost, 9)


def _cut_validation(
    splits: dict[str, str], groups: dict[str, str], weights: pd.DataFrame, params: SplitParams
) -> dict[str, str]:
    """Move whole groups of the given train split to val."""
    train = [frame_id for frame_id, split in splits.items() if split == TRAIN]
    names = sorted({groups[frame_id] for frame_id in train})
    n_val = _at_least_one(params.val_fraction, len(names))
    if len(names) <= n_val:
        raise SplitError(
            f"the data brings its own split without val, and its train part has {len(names)} group(s) by "
            f"{params.group_by}: at least {n_val + 1} are needed to cut val from it; choose a finer split.group_by"
        )
    rng = np.random.default_rng(params.seed)

    def draw() -> _Candidate:
        chosen = {names[i] for i in rng.permutation(len(names))[:n_val]}
        return _Candidate({}, {frame_id: VAL if groups[frame_id] in chosen else TRAIN for frame_id in train})

    targets = {TRAIN: 1 - params.val_fraction, VAL: params.val_fraction}
    return _best((draw() for _ in range(_DRAWS)), train, weights, targets).splits


def _unsure_order(frames: pd.DataFrame, params: SplitParams) -> Iterator[str]:
    """Say for how many frames only the name tells where they stand in their sequence, if blocks depend on it."""
    untimed = int((frames["captured_at"] == "").sum())
    if untimed and params.group_by == "block":
        yield f"the time of {untimed} of {len(frames)} frames is not known: the numbers in their names give the order"


def _divided_groups(groups: dict[str, str], splits: dict[str, str], given: dict[str, str]) -> Iterator[str]:
    """Say which groups the data itself divides between splits."""
    by_group: dict[str, set[str]] = {}
    for frame_id, split in splits.items():
        if split != NONE:
            by_group.setdefault(groups[frame_id], set()).add(split)
    divided = sorted(group for group, found in by_group.items() if len(found) > 1)
    if divided and any(given.values()):
        yield f"the split that the data brings divides {len(divided)} group(s) between splits: {', '.join(divided[:5])}"


def _missing(weights: pd.DataFrame, splits: dict[str, str]) -> Iterator[str]:
    """Say which label that the data has is missing from a split."""
    split = weights.index.map(splits)
    for name in SPLITS:
        present = weights[split == name].sum(axis=0) > 0
        for label in weights.columns[(weights.sum(axis=0) > 0) & ~present]:
            yield f"no {label} in {name}: its score there means nothing; change split.seed or split.group_by"


def label_weights(annotations: pd.DataFrame, frame_labels: pd.DataFrame) -> pd.DataFrame:
    """Return the gold labels of each frame as numbers.

    Args:
        annotations: ANNOTATIONS table.
        frame_labels: FRAME_LABELS table.

    Returns:
        Index frame_id; columns `<class> patches` (annotated area, px) and `<decision> frames` (0 or 1).
    """
    gold = annotations[annotations["gold"] == 1]
    gold = gold.assign(area_px=(gold["x1"] - gold["x0"]) * (gold["y1"] - gold["y0"]))
    patches = gold.pivot_table(values="area_px", index="frame_id", columns="label", aggfunc="sum", fill_value=0)
    labels = frame_labels[frame_labels["gold"] == 1]
    decisions = pd.crosstab(labels["frame_id"], labels["label"])
    return pd.concat(
        [
            patches.reindex(columns=list(CLASSES), fill_value=0).add_suffix(" patches"),
            decisions.reindex(columns=list(DECISIONS), fill_value=0).add_suffix(" frames"),
        ],
        axis=1,
    ).fillna(0.0)


GroupBy = Literal["site", "sequence"]
_LEAST_GROUPS: Final = 3


@dataclass(frozen=True)
class Fold:
    """One group held out.

    Args:
        group: The held-out group, whose frames are the test split.
        splits: frame_id -> train, val or test.
    """

    group: str
    splits: dict[str, str]


def hold_out_each(frames: pd.DataFrame, weights: pd.DataFrame, group_by: GroupBy, params: SplitParams) -> list[Fold]:
    """Hold every group out once; validation is cut from the remaining groups, whole groups again.

    Args:
        frames: Table FRAMES; a split that the data brings is not used here.
        weights: Index frame_id, one column per label that validation should have its share of.
        group_by: What is held out and never divided.
        params: Section `split`; its val_fraction and seed are used.

    Returns:
        One fold for each group, sorted by group.

    Raises:
        SplitError: If there are too few groups to train, choose and test on different ones.
    """
    groups = sorted(set(frames[group_by]))
    if len(groups) < _LEAST_GROUPS:
        raise SplitError(
            f"--group {group_by}: {len(groups)} group(s) ({', '.join(groups)}); training, validation and test need one "
            f"each, so at least {_LEAST_GROUPS}: hold out something finer (sequence) or bring more data"
        )
    by_group = params.model_copy(update={"group_by": group_by})
    return [
        Fold(group, divide(frames.assign(given_split=_given(frames[group_by], group)), weights, by_group).splits)
        for group in groups
    ]


def _given(groups: pd.Series, held_out: str) -> list[str]:
    return [TEST if group == held_out else TRAIN for group in groups]
