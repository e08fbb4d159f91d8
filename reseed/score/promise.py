"""Promises about wrong drops: the lowest alpha that keeps one, from frames with a reference decision.

A wrong drop is a frame that is decided Deploy and whose reference is No-Deploy. A higher alpha never makes more of
them, which all three promises rest on. They hold for units, frames or groups of frames, that are exchangeable with
those that alpha is taken from, such as a random sample of the same survey; of other sites they say nothing
(docs/calibrate.md).

Shares are whole millionths, rounded up: `share > alpha` then means the same as `reseed.score.alpha.decisions` says by
the counts, for every alpha of at most 6 decimals.
"""

import functools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reseed.base.errors import TableError
from reseed.params.aggregate import ALPHA_DECIMALS

FRAME: Final = "frame"
CONFIDENT: Final = "confident"
DROPS: Final = "drops"
PROMISES: Final = (FRAME, CONFIDENT, DROPS)
GROUP: Final = "group"
UNITS: Final = (FRAME, GROUP)
MILLION: Final[int] = 10**ALPHA_DECIMALS
_E: Final = Fraction("2.718281828459046")  # rounded up
_EXACT_UNITS: Final = 20_000


def shares(deploy_count: NDArray[np.int64], n_patches: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (N,) shares of Deploy patches in millionths, rounded up."""
    return np.asarray(-(-np.asarray(deploy_count, np.int64) * MILLION // np.asarray(n_patches, np.int64)))


def alpha_text(millionths: int) -> str:
    """Return alpha as everything records it.

    >>> alpha_text(428572), alpha_text(1000000)
    ('0.428572', '1.0')
    """
    return repr(millionths / MILLION)


def lowest_alpha(
    promise: str,
    share: NDArray[np.int64],
    wrong_if_dropped: NDArray[np.bool_],
    target: Fraction,
    delta: Fraction,
    groups: Sequence[str] | None = None,
) -> int:
    """Return the lowest alpha that keeps the promise `frame` or `confident`.

    frame: conformal risk control (Angelopoulos et al. 2022, arXiv:2208.02814), n/(n+1) R + 1/(n+1) <= target, where R
    is the mean loss of n units: the expected loss of the next one is at most `target`.
    confident: learn then test (Angelopoulos et al. 2021, arXiv:2110.01052), from alpha 1 downwards as long as the
    hypothesis "the loss is above target" is refused at level `delta`: by the binomial tail for frames, by Bentkus'
    bound for groups, whose loss is a share. Then the loss is at most `target` with probability 1 - `delta`.

    Args:
        promise: `frame` or `confident`.
        share: (N,) of Deploy patches, see `shares`.
        wrong_if_dropped: (N,) True where the reference is No-Deploy.
        target: Promised bound, above 0 and below 1.
        delta: Chance that `confident` may fail.
        groups: (N,) group of each frame; the loss of a group is the share of its frames that are dropped on wrongly.
            None: every frame is a unit.

    Returns:
        Millionths.

    Raises:
        TableError: If there are too few units to promise anything.
    """
    n = len(share) if groups is None else len(set(groups))
    allowed = allowed_loss(promise, n, target, delta, by_group=groups is not None)
    if allowed < 0:
        needed = needed_units(promise, target, delta, by_group=groups is not None)
        unit = (FRAME if groups is None else GROUP) + "s" * (needed != 1)
        raise TableError(
            f"promise {promise} at {percent(target)}: needs {needed} {unit} with a reference decision, there are {n}; "
            "label more, or promise less (a higher target)"
        )
    return _lowest(share, wrong_if_dropped, groups, allowed)


def doubtful_from(
    share: NDArray[np.int64],
    wrong_if_dropped: NDArray[np.bool_],
    target: Fraction,
    groups: Sequence[str] | None = None,
) -> int:
    """Return the lowest alpha at which the labelled units alone lose at most `target` on average, millionths.

    Frames between this alpha and the one that keeps a promise are in doubt: the labels speak for a drop, and are too
    few to promise it. Arguments as `lowest_alpha`.
    """
    n = len(share) if groups is None else len(set(groups))
    return _lowest(share, wrong_if_dropped, groups, target * n)


def _lowest(
    share: NDArray[np.int64],
    wrong_if_dropped: NDArray[np.bool_],
    groups: Sequence[str] | None,
    allowed: Fraction | int,
) -> int:
    """Return the lowest alpha at which the losses of all units add up to at most `allowed`."""
    sizes = Counter(groups)
    weights = [1] * len(share) if groups is None else [Fraction(1, sizes[group]) for group in groups]
    loss: Fraction | int = 0
    for index in np.argsort(share, kind="stable")[::-1].tolist():  # alpha falls from 1
        if wrong_if_dropped[index]:
            loss += weights[index]
            if loss > allowed:
                return int(share[index])  # at this alpha the frame is not dropped on, just below it is
    return 0


def allowed_loss(promise: str, n: int, target: Fraction, delta: Fraction, *, by_group: bool = False) -> Fraction | int:
    """Return the sum of losses of n units up to which the promise is kept; below 0 if no alpha keeps it."""
    if promise != CONFIDENT:
        return target * (n + 1) - 1
    return _accepted(n, target, delta / _E if by_group else delta)


def needed_units(promise: str, target: Fraction, delta: Fraction, *, by_group: bool = False) -> int:
    """Return how few units without any wrong drop are enough.

    >>> needed_units("frame", Fraction("0.05"), Fraction("0.1"))
    19
    """
    if promise != CONFIDENT:
        return math.ceil(1 / target) - 1
    level = delta / _E if by_group else delta
    n = math.ceil(math.log(level) / math.log1p(-target))  # (1 - target)^n <= level
    if n > _EXACT_UNITS:  # a unit more or less is beside the point there, and the powers become long
        return n
    return next(units for units in range(max(1, n - 1), n + 2) if _accepted(units, target, level) >= 0)


@functools.lru_cache(maxsize=64)
def _accepted(n: int, p: Fraction, level: Fraction) -> int:
    """Return the highest k for which at most k successes in n trials have a chance of at most `level`; -1 for none.

    Exact: chances are whole numbers of 1 / denominator^n, as fractions are too slow for thousands of trials.
    """
    hit, miss = p.numerator, p.denominator - p.numerator
    limit = level.numerator * p.denominator**n // level.denominator
    chance = total = miss**n
    k = 0
    while total <= limit:
        chance = chance * (n - k) * hit // ((k + 1) * miss)
        total += chance
        k += 1
    return k - 1


def alpha_of_drops(
    share: NDArray[np.int64], wrong_if_dropped: NDArray[np.bool_], survey: NDArray[np.int64], target: Fraction
) -> int:
    """Return the alpha above which, of the drops made on a finished survey, a share of at most `target` is wrong.

    Conformal selection (Jin & Candes 2023, arXiv:2210.01408): each frame of the survey has the p-value
    (1 + number of labelled No-Deploy frames with at least its share) / (n + 1) of "its reference is No-Deploy", and
    Benjamini-Hochberg chooses among them. The expected share of wrong drops among the drops is at most `target`.

    Args:
        share: (n,) of the labelled frames.
        wrong_if_dropped: (n,) True where the reference is No-Deploy.
        survey: (m,) shares of the frames of the survey that nobody labelled.
        target: Promised bound.

    Returns:
        Millionths; a million where no frame can be dropped on.

    Raises:
        TableError: If too few frames are labelled, or the survey has no other frame.
    """
    n, m = len(share), len(survey)
    if n < needed_units(DROPS, target, target):
        raise TableError(
            f"promise {DROPS} at {percent(target)}: needs {needed_units(DROPS, target, target)} frames with a "
            f"reference decision, there are {n}; label more, or promise less (a higher target)"
        )
    if not m:
        raise TableError(f"promise {DROPS}: every frame of the survey is labelled, so there is nothing to promise")
    wrong = np.sort(share[wrong_if_dropped])
    values, counts = np.unique(survey, return_counts=True)
    chosen = np.cumsum(counts[::-1])[::-1]  # frames with at least this share
    worse = 1 + len(wrong) - np.searchsorted(wrong, values, side="left")
    kept = [
        value > 0 and int(p) * m * target.denominator <= target.numerator * int(k) * (n + 1)
        for value, p, k in zip(values.tolist(), worse, chosen, strict=True)
    ]
    if not any(kept):
        return MILLION
    lowest = values[kept.index(True)]
    # Of the alphas that choose the same, one that a frame has, so that no labelled frame is dropped on needlessly.
    below = np.concatenate([survey, share, [0]])
    return int(below[below < lowest].max())


def percent(value: Fraction) -> str:
    """Return a share in percent.

    >>> percent(Fraction("0.05"))
    '5 %'
    """
    return f"{float(100 * value):g} %"
