"""Cluster bootstrap: how far a score would move on other sites, sequences or frames of the same kind.

Patches of one frame, and frames of one site, resemble each other; resampling single patches would call a score far
surer than it is. So whole clusters are drawn, with replacement, and every score is computed anew from their summed
counts.

With G clusters the plain percentile interval is too narrow, by sqrt((G - 1) / G) and for want of Student's t. There are
two remedies, each with its place: the expanded percentile interval, which takes quantiles further out, follows a score
near 0 or 1; the t interval with the standard error of the resamples is right for very few clusters (Hesterberg 2015,
"What teachers should know about the bootstrap", doi:10.1080/00031305.2015.1089789). The interval here spans both,
within what the score can be; with many clusters all of them are the same. benchmarks/interval_coverage.py counts how
often it holds the truth.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from reseed.base.errors import TableError
from reseed.score.confusion import Counts, Shares, confusion_counts

LEVEL: Final = 0.95
MIN_CLUSTERS: Final = 5

# (R, ...) sums over clusters -> (R,) scores; NaN where the score is undefined.
Score = Callable[[Any], Any]

_CHUNK_VALUES = 4_000_000  # cluster weights held at once, 32 MB
_SAME = 1e-12  # two scores nearer than this are one score, summed in another order


@dataclass(frozen=True)
class Interval:
    """A 95 % interval, or the reason why there is none.

    Args:
        low: Lower end; NaN if there is no interval.
        high: Upper end; NaN if there is no interval.
        clusters: G, clusters with something to score.
        reason: Why there is no interval; empty if there is one.
    """

    low: float
    high: float
    clusters: int
    reason: str = ""

    @property
    def available(self) -> bool:
        """Whether there is an interval."""
        return not self.reason


@dataclass(frozen=True)
class Difference:
    """The difference of a score between two predictions on the same clusters, second minus first.

    Args:
        difference: Observed difference.
        interval: 95 % interval of the difference.
        p: Two-sided p of no difference, dual to the interval; NaN if there is no interval.
    """

    difference: float
    interval: Interval
    p: float


def cluster_counts(
    clusters: Sequence[str] | NDArray[np.object_],
    gold: NDArray[np.int64],
    predicted: NDArray[np.int64],
    n_classes: int,
) -> Counts:
    """Return the confusion counts of each cluster.

    Args:
        clusters: (N,) name of the cluster of each item.
        gold: (N,) class indices, 0 to K - 1.
        predicted: (N,) class indices.
        n_classes: K.

    Returns:
        (G, K, K) counts, rows gold, columns predicted, clusters sorted by name.

    Raises:
        TableError: If the lengths differ or an index is not in 0 to K - 1.
    """
    names, place = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    if len(place) != len(gold):
        raise TableError(f"{len(place)} cluster names for {len(gold)} gold labels; one for each is needed")
    # A cluster is one more label: counted as (G * K) gold classes, the matrix of each cluster is K rows of the whole.
    confusion_counts(gold, predicted, n_classes)
    cells = n_classes * n_classes
    codes = place.astype(np.int64) * cells + np.asarray(gold) * n_classes + np.asarray(predicted)
    return np.bincount(codes, minlength=len(names) * cells).reshape(len(names), n_classes, n_classes)


def resampled_sums(tables: NDArray[Any], resamples: int, seed: int) -> NDArray[np.float64]:
    """Sum the tables of G clusters drawn with replacement, R times.

    Clusters with the same table are drawn together: only how often a table comes matters. Sums of counts are exact, so
    the result depends neither on the order of the clusters nor on the number of threads.

    Args:
        tables: (G, ...) additive table of each cluster, such as confusion counts.
        resamples: R.
        seed: Of the draws.

    Returns:
        (R, ...) sums.
    """
    n_clusters, shape = len(tables), tables.shape[1:]
    distinct, times = np.unique(tables.reshape(n_clusters, -1), axis=0, return_counts=True)
    distinct = distinct.astype(np.float64)
    rng = np.random.default_rng(seed)
    share = times / n_clusters
    step = max(1, _CHUNK_VALUES // len(times))
    sums = np.empty((resamples, distinct.shape[1]))
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        weights = rng.multinomial(n_clusters, share, size=stop - start)
        sums[start:stop] = weights.astype(np.float64) @ distinct
    return sums.reshape(resamples, *shape)


def intervals(
    tables: NDArray[Any],
    scores: Mapping[str, Score],
    resamples: int,
    seed: int,
    limits: tuple[float, float] = (0.0, 1.0),
) -> dict[str, Interval]:
    """Return the 95 % interval of each score, all from the same resamples.

    Args:
        tables: (G, ...) additive table of each cluster; clusters whose table is all zero are left out.
        scores: Name and function of summed tables, (R, ...) to (R,).
        resamples: R.
        seed: Of the draws.
        limits: What the scores can be at least and at most; kappa, for one, goes from -1 to 1.
    """
    used = _filled(tables)
    if len(used) < MIN_CLUSTERS:
        return dict.fromkeys(scores, no_interval(len(used)))
    sums = resampled_sums(used, resamples, seed)
    whole = used.sum(axis=0)[None]
    return {
        name: _interval(_values(score, sums), float(_values(score, whole)[0]), len(used), limits)
        for name, score in scores.items()
    }


def paired_differences(
    first: NDArray[Any],
    second: NDArray[Any],
    scores: Mapping[str, Score],
    resamples: int,
    seed: int,
    limits: tuple[float, float] = (-1.0, 1.0),
) -> dict[str, Difference]:
    """Compare two predictions on the same clusters: each resample scores both, so what they share cancels out.

    Args:
        first: (G, ...) table of each cluster under the first prediction.
        second: (G, ...) the same clusters, in the same order, under the second.
        scores: Name and function of summed tables, (R, ...) to (R,).
        resamples: R.
        seed: Of the draws.
        limits: What the difference can be at least and at most.

    Returns:
        For each score second minus first. Identical predictions give difference 0, interval [0, 0] and p 1.

    Raises:
        TableError: If the two are not of the same clusters.
    """
    if first.shape != second.shape:
        raise TableError(f"tables of {first.shape} and of {second.shape}; both predictions need the same clusters")
    used = _filled(np.stack([first, second], axis=1))
    observed = {
        name: float(score(used[:, 1].sum(axis=0)[None])[0] - score(used[:, 0].sum(axis=0)[None])[0])
        for name, score in scores.items()
    }
    if len(used) < MIN_CLUSTERS:
        none = no_interval(len(used))
        return {name: Difference(value, none, float("nan")) for name, value in observed.items()}
    sums = resampled_sums(used, resamples, seed)
    found = {}
    for name, score in scores.items():
        draws = _values(score, sums[:, 1]) - _values(score, sums[:, 0])
        interval = _interval(draws, observed[name], len(used), limits, constant=True)
        p = _p_value(draws, observed[name], len(used)) if interval.available else float("nan")
        found[name] = Difference(observed[name], interval, p)
    return found


def _joint_variance(scores: Shares, groups: int) -> float:
    """Return the variance of the mean over trainings that comes from what differs by group and training at once.

    Args:
        scores: (R, T) score of each training on each draw of the groups.
        groups: G.
    """
    trainings = scores.shape[1]
    own = scores - scores.mean(axis=1, keepdims=True)
    return float(np.nanvar(own, axis=0).mean() * groups / (groups - 1) / (trainings - 1))


def _filled(tables: NDArray[Any]) -> NDArray[Any]:
    return tables[tables.any(axis=tuple(range(1, tables.ndim)))]


def _values(score: Score, sums: NDArray[np.float64]) -> Shares:
    return np.asarray(score(sums), dtype=np.float64)


def _none(clusters: int, reason: str) -> Interval:
    return Interval(float("nan"), float("nan"), clusters, reason)


def no_interval(clusters: int) -> Interval:
    """Return that so few clusters give no interval."""
    return _none(
        clusters, f"{clusters} cluster{'' if clusters == 1 else 's'}; an interval needs at least {MIN_CLUSTERS}"
    )


def _interval(
    draws: Shares,
    observed: float,
    clusters: int,
    limits: tuple[float, float],
    *,
    constant: bool = False,
    student: tuple[float, float] | None = None,
) -> Interval:
    """Return the interval that spans both remedies; draws that do not differ give one only if `constant`.

    Args:
        draws: (R,) scores of the resamples.
        observed: The score itself.
        clusters: G.
        limits: What the score can be at least and at most.
        constant: Whether draws that do not differ give an interval.
        student: Degrees of freedom and widening, see `_student`; those of G clusters alone if None.
    """
    known = draws[~np.isnan(draws)]
    if np.isnan(observed) or len(known) < LEVEL * len(draws):
        return _none(clusters, f"undefined in {100 * (1 - len(known) / len(draws)):.0f} % of the resamples")
    if not constant and np.ptp(known) < _SAME:
        return _none(clusters, f"the same in every resample of the {clusters} clusters: their spread cannot be seen")
    freedom, widening = student or _student(clusters)
    t = -float(stdtrit(freedom, (1 - LEVEL) / 2))
    tail = float(ndtr(-t * widening))
    low, high = np.quantile(known, [tail, 1 - tail])
    reach = t * widening * float(known.std())
    return Interval(
        max(limits[0], min(float(low), observed - reach)), min(limits[1], max(float(high), observed + reach)), clusters
    )


def _p_value(draws: Shares, observed: float, clusters: int, student: tuple[float, float] | None = None) -> float:
    """Return the two-sided p of a difference of 0, the larger of the two that go with the two remedies.

    Of the percentiles: twice the smaller tail beyond 0, brought to Student's t; the observed difference counts as one
    of the draws, so it is never 0. Of the t interval: the t test with the standard error of the draws.
    """
    known = draws[~np.isnan(draws)]
    beyond = min(int((known <= _SAME).sum()), int((known >= -_SAME).sum()))
    share = (1 + beyond) / (1 + len(known))
    spread = float(known.std())
    if share >= 0.5 or spread < _SAME:
        return 1.0 if share >= 0.5 else 2 * share
    freedom, widening = student or _student(clusters)
    by_percentile = ndtri(share) / widening
    by_error = -abs(observed) / (spread * widening)
    return min(1.0, 2 * float(stdtr(freedom, max(by_percentile, by_error))))


def _student(clusters: int) -> tuple[float, float]:
    """Return degrees of freedom, and what turns the spread of resamples into a standard error: sqrt(G / (G - 1))."""
    return float(clusters - 1), float(np.sqrt(clusters / (clusters - 1)))


def over_trainings(
    sides: Sequence[tuple[NDArray[Any], float]],
    score: Score,
    resamples: int,
    seed: int,
    limits: tuple[float, float],
) -> Difference:
    """Return a sum of mean scores over trainings, with an interval over groups and trainings: the two-level bootstrap.

    One side of sign 1 is the mean score of a recipe; two sides of sign -1 and 1 are the difference of two recipes on
    the same groups. Each resample draws the groups, the same for all sides, and the trainings of each side. Draws of T
    trainings vary too little by the share 1 / T, and their spread is known from T values only. So the variance is put
    together from that over groups, times G / (G - 1), and the sample variance over trainings divided by T, less what
    both hold (two-way analysis of variance), and the degrees of freedom by Welch and Satterthwaite (Welch 1947,
    doi:10.1093/biomet/34.1-2.28).

    Args:
        sides: Of each side (G, T, ...) tables of each group under each of its T trainings, T at least 2, and its sign.
        score: Function of summed tables, (R, ...) to (R,).
        resamples: R.
        seed: Of the draws.
        limits: What the result can be at least and at most.

    Raises:
        TableError: If the sides are not of the same groups, or one has a single training.
    """
    shapes = [tables.shape[:2] for tables, _ in sides]
    if len({groups for groups, _ in shapes}) != 1 or min(trainings for _, trainings in shapes) < 2:
        raise TableError(f"tables of {shapes} (groups, trainings); the same groups and two trainings each are needed")
    signs = [sign for _, sign in sides]
    used = _filled(np.concatenate([tables for tables, _ in sides], axis=1))
    ends = np.cumsum([trainings for _, trainings in shapes])[:-1]
    alone = np.split(_values(score, used.sum(axis=0)), ends)  # the score of each training, by side
    observed = sum(sign * float(values.mean()) for sign, values in zip(signs, alone, strict=True))
    groups = len(used)
    if groups < MIN_CLUSTERS:
        return Difference(observed, no_interval(groups), float("nan"))
    scores = np.split(_values(score, resampled_sums(used, resamples, seed)), ends, axis=1)
    rng = np.random.default_rng([seed, 1])
    draws = np.zeros(resamples)
    for sign, values in zip(signs, scores, strict=True):
        drawn = rng.integers(0, values.shape[1], values.shape)
        draws += sign * np.take_along_axis(values, drawn, axis=1).mean(axis=1)
    by_group = sum(sign * values.mean(axis=1) for sign, values in zip(signs, scores, strict=True))
    parts = [(float(np.nanvar(by_group)) * groups / (groups - 1), groups - 1)]
    for values, drawn_values in zip(alone, scores, strict=True):
        part = float(values.var(ddof=1)) / len(values)
        # What differs by group and training at once is in the part of the groups already: it counts once.
        parts.append((max(part - _joint_variance(drawn_values, groups), 0.0), len(values) - 1))
    variance = float(sum(part for part, _ in parts))
    spread = float(np.nanstd(draws))
    if variance == 0 or spread < _SAME:
        return Difference(observed, Interval(observed, observed, groups), 1.0 if abs(observed) < _SAME else 0.0)
    student = (variance**2 / sum(part**2 / freedom for part, freedom in parts), np.sqrt(variance) / spread)
    interval = _interval(draws, observed, groups, limits, student=student)
    p = _p_value(draws, observed, groups, student) if interval.available else float("nan")
    return Difference(observed, interval, p)
