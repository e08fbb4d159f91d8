"""Agreement of two annotators, or of any two answers to the same items: percent, Cohen's kappa, confusion."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reseed.base.errors import TableError
from reseed.score.bootstrap import Interval, cluster_counts, intervals
from reseed.score.confusion import Counts, Shares, accuracy, macro_f1


@dataclass(frozen=True)
class Agreement:
    """How far two answers to the same N items agree; fractions.

    Args:
        n: N.
        agreement: Share of items with the same answer, 0-1.
        kappa: Cohen's kappa, -1 to 1; NaN if both used one and the same class for everything.
        macro_f1: Macro F1 of the second scored against the first; the same the other way round.
        confusion: (K, K) counts, rows first, columns second.
        intervals: 95 % interval of `agreement`, `kappa` and `macro_f1`, over clusters of items.
    """

    n: int
    agreement: float
    kappa: float
    macro_f1: float
    confusion: Counts
    intervals: dict[str, Interval]


def cohen_kappa(counts: Counts) -> Shares:
    """Return Cohen's kappa, (observed - expected agreement) / (1 - expected agreement) (Cohen 1960).

    Args:
        counts: (..., K, K), rows first, columns second.

    Returns:
        (...,) from -1 to 1; NaN where both used one and the same class for everything, or there is no item.
    """
    counts = np.asarray(counts, dtype=np.float64)
    n = counts.sum(axis=(-2, -1))
    squared = n * n
    by_chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1)
    beyond = n * np.trace(counts, axis1=-2, axis2=-1) - by_chance  # both sides times n squared: integers
    out = np.full(n.shape, np.nan)
    return np.asarray(np.divide(beyond, squared - by_chance, out=out, where=squared > by_chance))


SHARES: Final = {"agreement": accuracy, "macro_f1": macro_f1}


def agree(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    clusters: Sequence[str] | NDArray[np.object_],
    n_classes: int,
    resamples: int,
    seed: int,
) -> Agreement:
    """Compare two answers to the same items.

    Args:
        first: (N,) class indices of one annotator, 0 to K - 1.
        second: (N,) class indices of the other, in the same order.
        clusters: (N,) what is drawn together for the intervals, such as the frame of a patch.
        n_classes: K.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        TableError: If there is no item, or the lengths or the indices do not fit.
    """
    if len(first) == 0:
        raise TableError("no item was answered by both, so there is no agreement to speak of")
    by_cluster = cluster_counts(clusters, first, second, n_classes)
    counts = by_cluster.sum(axis=0)
    return Agreement(
        n=int(counts.sum()),
        agreement=float(accuracy(counts)),
        kappa=float(cohen_kappa(counts)),
        macro_f1=float(macro_f1(counts)),
        confusion=counts,
        intervals=intervals(by_cluster, SHARES, resamples, seed)
        | intervals(by_cluster, {"kappa": cohen_kappa}, resamples, seed, limits=(-1.0, 1.0)),
    )
