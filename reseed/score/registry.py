"""Every score, one entry each; and what answers are worth by them, in the rounding of metrics.json.

A new score is a function of confusion counts and one entry in ENTRIES. Metrics, details, tables, figures, pages and
commands go through the registry, so it appears in all of them.

A score in a file is a percentage with 4 decimals, and `n/a` where there is nothing to score.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.table import Column
from reseed.base.classes import CLASSES, DECISIONS
from reseed.base.csv import guard_all
from reseed.base.errors import TableError
from reseed.score.bootstrap import Interval, Score, cluster_counts, intervals, over_trainings
from reseed.score.confusion import (
    Counts,
    Shares,
    accuracy,
    class_indices,
    class_scores,
    confusion_counts,
    decision_indices,
    macro_f1,
)

DECIMALS: Final = 4

# A word and not null: DVC shows no null, and a missing key would look like a score that nobody asked for.
NOT_AVAILABLE: Final = "n/a"

# A number, or the 0-dimensional array that a formula over batches gives for a single one.
Fraction = float | NDArray[np.float64]


def class_key(name: str) -> str:
    """Return a class name as it stands in keys and column names: `no_deploy`, `coral`, `deploy`."""
    return name.lower().replace("-", "_")


def percent(fraction: Fraction) -> float:
    """Return a fraction as percent, rounded to 4 decimals."""
    return round(100.0 * float(fraction), DECIMALS)


def percent_if(fraction: Fraction, n: int) -> float | str:
    """Return a fraction as percent, or `n/a` if it was computed from no items: never a made-up number."""
    return percent(fraction) if n > 0 else NOT_AVAILABLE


def score_csv(df: pd.DataFrame, columns: tuple[Column, ...]) -> str:
    """Return a score table as CSV: exactly `columns`, floats with 4 decimals, an empty cell where there is no score.

    Raises:
        TableError: If a column is missing.
    """
    names = [column.name for column in columns]
    missing = [name for name in names if name not in df.columns]
    if missing:
        raise TableError(f"score table without column {', '.join(missing)}")
    kinds = {
        column.name: np.int64 if column.kind == "int" else np.float64 for column in columns if column.kind != "text"
    }
    written = df[names].astype(kinds)
    for column in columns:
        if column.kind == "text":
            written[column.name] = guard_all(written[column.name])
    text = written.to_csv(index=False, lineterminator="\n", float_format=f"%.{DECIMALS}f")
    return str(text)


def percent_or_nan(fraction: Fraction, n: int) -> float:
    """Return a fraction as percent for a table, NaN (an empty cell) if it was computed from no items."""
    return percent(fraction) if n > 0 else float("nan")


Task = Literal["patch", "frame"]
PATCH: Final = "patch"
FRAME: Final = "frame"
TASKS: Final[tuple[Task, ...]] = (PATCH, FRAME)
NAMES: Final[Mapping[str, tuple[str, ...]]] = {PATCH: CLASSES, FRAME: DECISIONS}
# Column of the answer to each task in the tables of predictions.
ANSWER: Final[Mapping[str, str]] = {PATCH: "predicted", FRAME: "decision"}
# The score that leads everywhere.
HEADLINE: Final = "macro_f1"

_DEPLOY: Final = DECISIONS.index("Deploy")


@dataclass(frozen=True)
class Entry:
    """One score of one task.

    Args:
        task: `patch` or `frame`.
        key: As in metrics.json.
        label: For people, without the task.
        function: (..., K, K) counts to (...,) fractions.
        unit: What it is shown in.
        in_tables: Whether the tables by place, by condition and over alpha have a column for it.
    """

    task: Task
    key: str
    label: str
    function: Score
    unit: str = "%"
    in_tables: bool = True

    def __call__(self, counts: Any) -> Any:
        """Return the score of one or several confusion matrices, fractions."""
        return self.function(counts)

    @property
    def full_key(self) -> str:
        """Task and key: `patch.macro_f1`."""
        return f"{self.task}.{self.key}"

    @property
    def full_label(self) -> str:
        """Task and label: `patch macro F1`."""
        return f"{self.task} {self.label}"

    @property
    def column(self) -> str:
        """Its column in tables that hold both tasks: frame scores carry their task unless they are about Deploy."""
        return self.key if self.task == PATCH or self.key.startswith("deploy_") else f"{self.task}_{self.key}"


def _class_f1(index: int) -> Score:
    return lambda counts: class_scores(counts).f1[..., index]


# In reading order: macro F1 leads.
ENTRIES: Final = (
    Entry(PATCH, HEADLINE, "macro F1", macro_f1),
    Entry(PATCH, "accuracy", "accuracy", accuracy),
    *(Entry(PATCH, f"{class_key(name)}_f1", f"F1 {name}", _class_f1(index)) for index, name in enumerate(CLASSES)),
    Entry(FRAME, HEADLINE, "macro F1", macro_f1),
    Entry(FRAME, "accuracy", "accuracy", accuracy),
    Entry(FRAME, "deploy_precision", "Deploy precision", lambda counts: class_scores(counts).precision[..., _DEPLOY]),
    Entry(FRAME, "deploy_recall", "Deploy recall", lambda counts: class_scores(counts).recall[..., _DEPLOY]),
    # Not in the tables: it follows from the two before it, and its column name belongs to the patches.
    Entry(FRAME, "deploy_f1", "Deploy F1", _class_f1(_DEPLOY), in_tables=False),
)
SCORES: Final[Mapping[str, Mapping[str, Entry]]] = {
    task: {entry.key: entry for entry in ENTRIES if entry.task == task} for task in TASKS
}
# By task and key: `patch.macro_f1`.
BY_FULL_KEY: Final[Mapping[str, Entry]] = {entry.full_key: entry for entry in ENTRIES}


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


def indices(task: Task, names: Iterable[str], where: str) -> NDArray[np.int64]:
    """Return the index of each class or decision, (N,).

    Args:
        task: `patch` (three classes) or `frame` (two decisions).
        names: Answers or references.
        where: What they are, for the message.

    Raises:
        LabelsError: If a name is not one of them.
    """
    return class_indices(names, where) if task == PATCH else decision_indices(names, where)


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
    """Return the scores as metrics.json has them: percent with 4 decimals, `n/a` of no items; then n."""
    return {**{name: percent_if(value, result.n) for name, value in result.scores.items()}, "n": result.n}


def as_intervals(found: Mapping[str, Interval]) -> dict[str, Any]:
    """Return intervals in percent, or the reason why there is none."""
    return {
        name: {"low": percent(interval.low), "high": percent(interval.high), "clusters": interval.clusters}
        if interval.available
        else {
            "low": NOT_AVAILABLE,
            "high": NOT_AVAILABLE,
            "clusters": interval.clusters,
            "reason": interval.reason,
        }
        for name, interval in found.items()
    }


@dataclass(frozen=True)
class Trainings:
    """One score of every training of a recipe; fractions.

    Args:
        values: (T,) in the order of the trainings, the first being the model.
        interval: 95 % interval of their mean, over groups and trainings; not available with one training.
    """

    values: Shares
    interval: Interval

    @property
    def mean(self) -> float:
        """Mean over trainings."""
        return float(self.values.mean())

    @property
    def sd(self) -> float:
        """Standard deviation over trainings (n - 1); NaN with a single one."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else float("nan")


def score_trainings(task: Task, tables: Counts, resamples: int, seed: int) -> dict[str, Trainings]:
    """Score every training of a recipe.

    Args:
        task: `patch` or `frame`.
        tables: (G, T, K, K) confusion counts of each group under each training.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """
    found = {}
    for key, entry in SCORES[task].items():
        values = np.asarray(entry(tables.sum(axis=0)), dtype=np.float64)
        if len(values) > 1 and tables.any():
            interval = over_trainings([(tables, 1.0)], entry, resamples, seed, (0.0, 1.0)).interval
        else:
            interval = Interval(float("nan"), float("nan"), len(tables), "one training: its luck is not known")
        found[key] = Trainings(values, interval)
    return found


def as_trainings(found: Mapping[str, Trainings], n_items: int) -> dict[str, Any]:
    """Return mean, standard deviation, interval and values of each score, in percent; `n/a` of no items."""
    if n_items == 0:
        return dict.fromkeys(found, NOT_AVAILABLE)
    return {
        key: {
            "mean": percent(of.mean),
            "sd": percent(of.sd) if len(of.values) > 1 else NOT_AVAILABLE,
            **as_intervals({key: of.interval})[key],
            "values": [percent(value) for value in of.values],  # noqa: PD011 - a field of ours
        }
        for key, of in found.items()
    }
