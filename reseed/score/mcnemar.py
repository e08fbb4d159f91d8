"""McNemar's test: of the items on which exactly one of two answers is right, are they split evenly?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from reseed.base.errors import TableError


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
