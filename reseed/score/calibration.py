"""Are the probabilities what they say: expected calibration error, Brier score, reliability by confidence."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reseed.score.bootstrap import Interval, Score, intervals
from reseed.score.confusion import Shares

BINS: Final = 10


@dataclass(frozen=True)
class Reliability:
    """Confidence against accuracy of N predictions in B equal bins of confidence; fractions.

    Args:
        n: (B,) predictions whose highest probability lies in the bin; its upper edge belongs to it.
        confidence: (B,) mean highest probability; NaN in an empty bin.
        accuracy: (B,) share of right predictions; NaN in an empty bin.
        intervals: B 95 % intervals of the accuracy, over clusters.
        expected_error: Mean over predictions of |accuracy - confidence| of their bin (Naeini et al. 2015).
        brier: Mean over predictions of the squared distance of the probabilities from the truth, 0-2 (Brier 1950).
        over_confidence: Mean confidence minus accuracy: above 0, the network is surer than it is right.
    """

    n: NDArray[np.int64]
    confidence: Shares
    accuracy: Shares
    intervals: tuple[Interval, ...]
    expected_error: float
    brier: float
    over_confidence: float


def reliability(
    probabilities: Shares, gold: NDArray[np.int64], clusters: list[str], resamples: int, seed: int
) -> Reliability:
    """Compare probabilities with what came true.

    Args:
        probabilities: (N, K) of each class, N at least 1.
        gold: (N,) class indices.
        clusters: (N,) what is drawn together for the intervals.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == gold
    place = np.clip(np.ceil(sure * BINS).astype(np.int64) - 1, 0, BINS - 1)
    n = np.bincount(place, minlength=BINS)
    confidence = _share(np.bincount(place, weights=sure, minlength=BINS), n)
    accuracy = _share(np.bincount(place, weights=right, minlength=BINS), n)
    truth = np.eye(probabilities.shape[1])[gold]
    names, cluster = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    tables = np.zeros((len(names), BINS, 2), dtype=np.int64)
    np.add.at(tables, (cluster, place, right.astype(np.int64)), 1)
    found = intervals(tables, {str(index): _bin_accuracy(index) for index in range(BINS)}, resamples, seed)
    return Reliability(
        n=n,
        confidence=confidence,
        accuracy=accuracy,
        intervals=tuple(found.values()),
        expected_error=float(np.nansum(n * np.abs(accuracy - confidence)) / len(gold)),
        brier=float(np.square(probabilities - truth).sum(axis=1).mean()),
        over_confidence=float(sure.mean() - right.mean()),
    )


def _share(part: NDArray[Any], whole: NDArray[Any]) -> Shares:
    share: Shares = np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)
    return share


def _bin_accuracy(index: int) -> Score:
    def accuracy(tables: Shares) -> Shares:
        return _share(tables[..., index, 1], tables[..., index, :].sum(axis=-1))

    return accuracy
