"""Confusion counts, and every score that follows from them.

The formulae work on arrays of confusion matrices, (..., K, K): one matrix, one per threshold, or one per bootstrap
resample.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reseed.base.classes import CLASS_INDEX, CLASSES, DECISIONS
from reseed.base.errors import TableError

Counts = NDArray[np.int64]
Shares = NDArray[np.float64]


@dataclass(frozen=True)
class ClassScores:
    """Scores of each class, as fractions.

    Args:
        precision: (..., K) tp / (tp + fp).
        recall: (..., K) tp / (tp + fn).
        f1: (..., K) harmonic mean of the two.
        support: (..., K) items of the class in gold.
        predicted: (..., K) items predicted to be of the class.
    """

    precision: Shares
    recall: Shares
    f1: Shares
    support: Counts
    predicted: Counts


def confusion_counts(gold: NDArray[np.int64], predicted: NDArray[np.int64], n_classes: int) -> Counts:
    """Count how often each class is taken for each other.

    Args:
        gold: (N,) class indices, 0 to K - 1.
        predicted: (..., N) class indices; leading dimensions are variants (thresholds, models) of the N answers.
        n_classes: K.

    Returns:
        (..., K, K) counts, rows gold, columns predicted.

    Raises:
        TableError: If the lengths differ or an index is not in 0 to K - 1.
    """
    gold, predicted = np.asarray(gold, dtype=np.int64), np.asarray(predicted, dtype=np.int64)
    if gold.ndim != 1 or predicted.ndim < 1 or predicted.shape[-1] != len(gold):
        raise TableError(f"{predicted.shape} predictions for {gold.shape} gold labels; one for each is needed")
    for values in (gold, predicted):
        if values.size and (values.min() < 0 or values.max() >= n_classes):
            raise TableError(f"class index outside 0 to {n_classes - 1}")
    lead = predicted.shape[:-1]
    variants = int(np.prod(lead, dtype=np.int64))
    cells = n_classes * n_classes
    codes = gold * n_classes + predicted.reshape(variants, len(gold))
    codes += np.arange(variants, dtype=np.int64)[:, None] * cells
    return np.bincount(codes.ravel(), minlength=variants * cells).reshape(*lead, n_classes, n_classes)


def class_scores(counts: Counts) -> ClassScores:
    """Return precision, recall, F1 and support of each class; any 0/0 is 0.

    F1 = 2 P R / (P + R), computed as 2 tp / (2 tp + fp + fn): the same number, from integers.

    Args:
        counts: (..., K, K), rows gold, columns predicted.
    """
    right = np.diagonal(counts, axis1=-2, axis2=-1)
    support, predicted = counts.sum(axis=-1), counts.sum(axis=-2)
    return ClassScores(
        precision=_ratio(right, predicted),
        recall=_ratio(right, support),
        f1=_ratio(2 * right, support + predicted),
        support=support,
        predicted=predicted,
    )


def absent_names(counts: Counts, names: Sequence[str]) -> list[str]:
    """Return the classes that no item has by reference: the macro F1 counts each as 0, whatever the predictions.

    Args:
        counts: (K, K), rows gold.
        names: K class names.
    """
    return [name for name, support in zip(names, counts.sum(axis=1), strict=True) if support == 0]


def macro_f1(counts: Counts) -> Shares:
    """Return the unweighted mean of the F1 of all K classes, (...,) from 0 to 1.

    A class that is neither predicted nor in gold counts 0, as everywhere in reseed.
    """
    return np.asarray(class_scores(counts).f1.mean(axis=-1), dtype=np.float64)


def accuracy(counts: Counts) -> Shares:
    """Return the share of right answers, (...,) from 0 to 1; 0 where there is nothing to answer."""
    return _ratio(np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-2, -1)))


def _ratio(part: Counts, whole: Counts) -> Shares:
    part, whole = np.asarray(part), np.asarray(whole)
    return np.divide(part, whole, out=np.zeros(whole.shape, dtype=np.float64), where=whole > 0)


DECISION_INDEX: Final = {name: index for index, name in enumerate(DECISIONS)}


class LabelsError(TableError, ValueError):
    """Predictions and gold cannot be scored; a ValueError too, as callers of a plain function expect."""


def compute_metrics(predictions: Iterable[str], gold: Iterable[str]) -> dict[str, float]:
    """Return patch macro F1 and overall accuracy.

    For each of the three classes precision = tp / (tp + fp), recall = tp / (tp + fn), F1 = 2 P R / (P + R), 0 for any
    0/0; macro F1 is their plain mean, always over all three classes; accuracy = correct / N.

    >>> compute_metrics(["Deploy", "Coral"], ["Deploy", "No-Deploy"])["accuracy"]
    0.5

    Args:
        predictions: N class names.
        gold: N class names, in the same order.

    Returns:
        `{"macro_f1": ..., "accuracy": ...}`, fractions from 0 to 1.

    Raises:
        LabelsError: If there is nothing to score, the lengths differ, or a name is none of the three classes.
    """
    named = {"predictions": list(predictions), "gold": list(gold)}
    if len(named["predictions"]) != len(named["gold"]):
        raise LabelsError(
            f"{len(named['predictions'])} predictions for {len(named['gold'])} gold labels; one for each is needed"
        )
    if not named["gold"]:
        raise LabelsError("nothing to score: predictions and gold are empty")
    predicted_index, gold_index = (class_indices(names, where) for where, names in named.items())
    counts = confusion_counts(gold_index, predicted_index, len(CLASSES))
    return {"macro_f1": float(macro_f1(counts)), "accuracy": float(accuracy(counts))}


def class_indices(names: Iterable[str], where: str) -> NDArray[np.int64]:
    """Return the class index (0, 1, 2) of each name, (N,).

    Args:
        names: Class names, spelled as in `reseed.base.classes.CLASSES`.
        where: What they are, for the message.

    Raises:
        LabelsError: If a name is none of the three classes.
    """
    return _indices(names, CLASS_INDEX, where)


def decision_indices(names: Iterable[str], where: str) -> NDArray[np.int64]:
    """Return 0 for `No-Deploy` and 1 for `Deploy`, (N,).

    Args:
        names: Frame decisions.
        where: What they are, for the message.

    Raises:
        LabelsError: If a name is neither decision.
    """
    return _indices(names, DECISION_INDEX, where)


def _indices(names: Iterable[str], index: dict[str, int], where: str) -> NDArray[np.int64]:
    found = []
    for position, name in enumerate(names):
        if not isinstance(name, str) or name not in index:
            raise LabelsError(f"{where}, item {position}: {name!r} is unknown; allowed: {', '.join(index)}")
        found.append(index[name])
    return np.asarray(found, dtype=np.int64)
