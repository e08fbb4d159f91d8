"""The scores of one task, patches or frames, from anybody's answers: the numbers and the rounding of metrics.json."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from reseed.base.classes import CLASSES, DECISIONS
from reseed.score.bootstrap import Interval, Score, cluster_counts, intervals
from reseed.score.confusion import Counts, Shares, accuracy, class_scores, confusion_counts, macro_f1
from reseed.score.percent import class_key, percent

_DEPLOY = 1


@dataclass(frozen=True)
class FrameScores:
    """How good deployment decisions are, as fractions; every field has the leading shape of the counts.

    Args:
        accuracy: Share of right decisions.
        macro_f1: Unweighted mean of the F1 of No-Deploy and Deploy.
        deploy_precision: Share of Deploy decisions that are right.
        deploy_recall: Share of Deploy frames that are found.
        deploy_f1: Harmonic mean of the two.
        n: Labelled frames.
        n_deploy: Labelled frames whose reference is Deploy.
        n_deployed: Labelled frames decided Deploy.
    """

    accuracy: Shares
    macro_f1: Shares
    deploy_precision: Shares
    deploy_recall: Shares
    deploy_f1: Shares
    n: NDArray[np.int64]
    n_deploy: NDArray[np.int64]
    n_deployed: NDArray[np.int64]


def frame_scores(counts: Counts) -> FrameScores:
    """Score decisions.

    Args:
        counts: (..., 2, 2), rows gold, columns decision, order No-Deploy, Deploy.
    """
    each = class_scores(counts)
    return FrameScores(
        accuracy=accuracy(counts),
        macro_f1=macro_f1(counts),
        deploy_precision=each.precision[..., _DEPLOY],
        deploy_recall=each.recall[..., _DEPLOY],
        deploy_f1=each.f1[..., _DEPLOY],
        n=counts.sum(axis=(-2, -1)),
        n_deploy=each.support[..., _DEPLOY],
        n_deployed=each.predicted[..., _DEPLOY],
    )


Task = Literal["patch", "frame"]
PATCH: Final = "patch"
FRAME: Final = "frame"
NAMES: Final[Mapping[str, tuple[str, ...]]] = {PATCH: CLASSES, FRAME: DECISIONS}


def _class_f1(index: int) -> Score:
    return lambda counts: class_scores(counts).f1[..., index]


# Key as in metrics.json and its function of (..., K, K) counts, in reading order: macro F1 leads.
SCORES: Final[Mapping[str, Mapping[str, Score]]] = {
    PATCH: {
        "macro_f1": macro_f1,
        "accuracy": accuracy,
        **{f"{class_key(name)}_f1": _class_f1(index) for index, name in enumerate(CLASSES)},
    },
    FRAME: {
        "macro_f1": macro_f1,
        "accuracy": accuracy,
        "deploy_precision": lambda counts: class_scores(counts).precision[..., _DEPLOY],
        "deploy_recall": lambda counts: class_scores(counts).recall[..., _DEPLOY],
        "deploy_f1": _class_f1(_DEPLOY),
    },
}


@dataclass(frozen=True)
class TaskScores:
    """What N answers are worth; fractions.

    Args:
        task: `patch` or `frame`.
        n: N.
        scores: Each score of SCORES.
        confusion: (K, K) counts, rows gold, columns predicted.
        intervals: 95 % interval of each score; empty where no clusters are known.
    """

    task: Task
    n: int
    scores: dict[str, float]
    confusion: Counts
    intervals: dict[str, Interval]


def score_task(
    task: Task,
    gold: NDArray[np.int64],
    predicted: NDArray[np.int64],
    clusters: Sequence[str] | None,
    resamples: int,
    seed: int,
) -> TaskScores:
    """Score N answers.

    Args:
        task: `patch` (three classes) or `frame` (two decisions).
        gold: (N,) class or decision indices.
        predicted: (N,) likewise, in the same order.
        clusters: (N,) what is drawn together for the intervals; None for no intervals.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        TableError: If lengths or indices do not fit.
    """
    k = len(NAMES[task])
    counts = confusion_counts(gold, predicted, k)
    found = (
        {}
        if clusters is None
        else intervals(cluster_counts(list(clusters), gold, predicted, k), SCORES[task], resamples, seed)
    )
    scores = {name: float(score(counts)) for name, score in SCORES[task].items()}
    return TaskScores(task, int(counts.sum()), scores, counts, found)


def as_metrics(result: TaskScores) -> dict[str, Any]:
    """Return the scores as the section of the task in metrics.json has them: percent with 4 decimals, and n."""
    return {**{name: percent(value) for name, value in result.scores.items()}, "n": result.n}


def as_intervals(found: Mapping[str, Interval]) -> dict[str, Any]:
    """Return intervals in percent, or the reason why there is none."""
    return {
        name: {"low": percent(interval.low), "high": percent(interval.high), "clusters": interval.clusters}
        if interval.available
        else {"low": "n/a", "high": "n/a", "clusters": interval.clusters, "reason": interval.reason}
        for name, interval in found.items()
    }
