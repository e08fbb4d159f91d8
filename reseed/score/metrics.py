"""Scores from class names: the entry point for anybody's predictions."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reseed.base.classes import CLASS_INDEX, CLASSES, DECISIONS
from reseed.base.errors import TableError
from reseed.score.confusion import accuracy, confusion_counts, macro_f1

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
