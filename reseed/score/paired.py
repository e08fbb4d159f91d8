"""Two sides of a comparison, one or several runs each, on the same test patches and frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binomtest

from reseed.base.classes import DEPLOY
from reseed.base.errors import TableError
from reseed.score.bootstrap import Difference, Interval, Score, cluster_counts, over_trainings, paired_differences
from reseed.score.confusion import Counts
from reseed.score.registry import ANSWER, FRAME, NAMES, PATCH, SCORES, Task, indices


@dataclass(frozen=True)
class McNemar:
    """Two answers to the same N items.

    Args:
        both_right: Items that both answer rightly.
        only_first: Items that only the first answers rightly.
        only_second: Items that only the second answers rightly.
        neither: Items that neither answers rightly.
        p: Two-sided exact p of an even split, 0-1; 1 where they are right on the same items.
    """

    both_right: int
    only_first: int
    only_second: int
    neither: int
    p: float


def mcnemar_exact(first_right: NDArray[np.bool_], second_right: NDArray[np.bool_]) -> McNemar:
    """Return the exact (binomial) test of McNemar 1947.

    Items are taken as independent; frames of one site are not quite: where they are alike, p is too small. The paired
    cluster bootstrap takes that into account.

    Args:
        first_right: (N,) whether the first answer is right.
        second_right: (N,) whether the second is.

    Raises:
        TableError: If the lengths differ or there is no item.
    """
    first, second = np.asarray(first_right, dtype=np.bool_), np.asarray(second_right, dtype=np.bool_)
    if first.shape != second.shape or first.ndim != 1 or first.size == 0:
        raise TableError(f"{first.shape} and {second.shape} answers; one pair for each item is needed, and one item")
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    apart = only_first + only_second
    p = float(binomtest(only_first, apart, 0.5).pvalue) if apart else 1.0
    return McNemar(int((first & second).sum()), only_first, only_second, int((~first & ~second).sum()), p)


# What the paired test is about, one score for each task: more tests would find something by chance.
TESTED: Final[Mapping[Task, str]] = {PATCH: "macro_f1", FRAME: "accuracy"}


@dataclass(frozen=True)
class Answers:
    """The answers of one run to its test split.

    Args:
        name: The run, for messages.
        patches: patch_id, frame_id, gold, predicted: labelled test patches, sorted by patch_id.
        frames: frame_id, group, gold (may be empty), decision, sha256 (of the image): test frames, sorted.
    """

    name: str
    patches: pd.DataFrame
    frames: pd.DataFrame


@dataclass(frozen=True)
class SetDifferences:
    """How the test set of a run differs from that of another; all empty where it is the same.

    Args:
        frames_only_first: Test frames of the first run only.
        frames_only_second: Of the second only.
        images: Frames whose image is another.
        frame_labels: Frame and its reference in the first and in the second run.
        patches_only_first: Labelled patches of the first run only, on frames of both.
        patches_only_second: Of the second only.
        patch_labels: Patch and its reference in the first and in the second run.
    """

    frames_only_first: tuple[str, ...]
    frames_only_second: tuple[str, ...]
    images: tuple[str, ...]
    frame_labels: tuple[tuple[str, str, str], ...]
    patches_only_first: tuple[str, ...]
    patches_only_second: tuple[str, ...]
    patch_labels: tuple[tuple[str, str, str], ...]

    @property
    def same_frames(self) -> bool:
        """Whether frames, images and references of frames are the same, so that decisions can be compared."""
        return not (self.frames_only_first or self.frames_only_second or self.images or self.frame_labels)

    @property
    def none(self) -> bool:
        """Whether the two test sets are the same."""
        return not any(vars(self).values())


@dataclass(frozen=True)
class Flip:
    """A test frame that the two sides decide differently.

    Args:
        frame_id: The frame.
        gold: Reference decision, empty if it has none.
        first: Runs of the first side that decide Deploy.
        second: Runs of the second side that do.
    """

    frame_id: str
    gold: str
    first: int
    second: int


def set_differences(first: Answers, second: Answers) -> SetDifferences:
    """Say exactly how the second test set differs from the first."""
    a, b = first.frames.set_index("frame_id"), second.frames.set_index("frame_id")
    shared = sorted(set(a.index) & set(b.index))
    one, other = (
        dict(zip(part["patch_id"], part["gold"], strict=True))
        for part in (x.patches[x.patches["frame_id"].isin(shared)] for x in (first, second))
    )
    return SetDifferences(
        frames_only_first=tuple(sorted(set(a.index) - set(b.index))),
        frames_only_second=tuple(sorted(set(b.index) - set(a.index))),
        images=tuple(name for name, _, _ in _changed(shared, dict(a["sha256"]), dict(b["sha256"]))),
        frame_labels=_changed(shared, dict(a["gold"]), dict(b["gold"])),
        patches_only_first=tuple(sorted(set(one) - set(other))),
        patches_only_second=tuple(sorted(set(other) - set(one))),
        patch_labels=_changed(sorted(set(one) & set(other)), one, other),
    )


def _changed(keys: Sequence[str], a: Mapping[Any, Any], b: Mapping[Any, Any]) -> tuple[tuple[str, str, str], ...]:
    return tuple((key, str(a[key]), str(b[key])) for key in keys if a[key] != b[key])


def run_counts(run: Answers, task: Task) -> Counts:
    """Return the (K, K) confusion counts of the labelled test patches or frames of one run."""
    counts: Counts = cluster_tables(run, task).sum(axis=0)
    return counts


def cluster_tables(run: Answers, task: Task, groups: Mapping[str, str] | None = None) -> Counts:
    """Return the (G, K, K) confusion counts of each cluster of a run.

    Args:
        run: Its answers.
        task: `patch` or `frame`.
        groups: Cluster of each test frame; those of the run itself if None.
    """
    own = dict(zip(run.frames["frame_id"], run.frames["group"], strict=True)) if groups is None else groups
    items = run.patches if task == PATCH else run.frames[run.frames["gold"] != ""]
    gold, answers = (indices(task, items[name], name) for name in ("gold", ANSWER[task]))
    return cluster_counts([own[frame] for frame in items["frame_id"]], gold, answers, len(NAMES[task]))


def paired(
    first: Sequence[Answers], second: Sequence[Answers], tasks: Sequence[Task], resamples: int, seed: int
) -> dict[Task, Difference | None]:
    """Test the difference of the mean score of the two sides, second minus first.

    With several trainings on both sides the interval is over groups and trainings; where a side has one, over groups
    alone: it then speaks of these networks and not of their recipes.

    Args:
        first: The answers of one or several trainings; those of both sides are of the same items.
        second: Likewise.
        tasks: What can be compared.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Returns:
        For each task the difference in its TESTED score, a fraction; None where nothing is labelled or comparable.
    """
    groups = dict(zip(first[0].frames["frame_id"], first[0].frames["group"], strict=True))
    found: dict[Task, Difference | None] = dict.fromkeys(TESTED, None)
    for task in tasks:
        a, b = (np.stack([cluster_tables(run, task, groups) for run in side], axis=1) for side in (first, second))
        if not a.size or not a.any():
            continue
        score = SCORES[task][TESTED[task]]
        if _identical(task, [*first, *second]):
            # No estimate but a fact, also where clusters are too few for an interval.
            found[task] = Difference(0.0, Interval(0.0, 0.0, len(a)), 1.0)
        elif min(len(first), len(second)) > 1:
            found[task] = over_trainings([(a, -1.0), (b, 1.0)], score, resamples, seed, (-1.0, 1.0))
        else:
            # Repeated so that both sides have the same number of trainings; that changes no mean.
            most = max(len(first), len(second))
            one, other = (np.repeat(side, most // side.shape[1], axis=1) for side in (a, b))
            mean = {TESTED[task]: _mean_over_trainings(score)}
            found[task] = paired_differences(one, other, mean, resamples, seed)[TESTED[task]]
    return found


def _identical(task: Task, runs: Sequence[Answers]) -> bool:
    answers = [list((run.patches if task == PATCH else run.frames)[ANSWER[task]]) for run in runs]
    return all(mine == answers[0] for mine in answers)


def _mean_over_trainings(score: Score) -> Score:
    return lambda sums: np.asarray(score(sums)).mean(axis=-1)


def decisions_test(first: Answers, second: Answers) -> McNemar | None:
    """Return McNemar's test of the decisions of two runs on labelled test frames; None if there are none."""
    right = [_right(run.frames[run.frames["gold"] != ""]) for run in (first, second)]
    return mcnemar_exact(right[0], right[1]) if right[0].size else None


def _right(frames: pd.DataFrame) -> NDArray[np.bool_]:
    return (frames["decision"] == frames["gold"]).to_numpy(dtype=np.bool_)


def flips(first: Sequence[Answers], second: Sequence[Answers]) -> tuple[Flip, ...]:
    """Return the test frames of both sides that another share of the runs decides Deploy, by frame."""
    a, b = _deploying(first), _deploying(second)
    gold = dict(zip(second[0].frames["frame_id"], second[0].frames["gold"], strict=True))
    return tuple(
        Flip(frame, str(gold[frame]), a[frame], b[frame])
        for frame in sorted(a.keys() & b.keys())
        if a[frame] * len(second) != b[frame] * len(first)
    )


def _deploying(side: Sequence[Answers]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for run in side:
        for frame, decision in zip(run.frames["frame_id"], run.frames["decision"], strict=True):
            counts[frame] = counts.get(frame, 0) + (decision == DEPLOY)
    return counts
