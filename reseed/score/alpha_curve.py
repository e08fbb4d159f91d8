"""Frame scores at every threshold alpha, and the one place that says which alpha is best."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from reseed.score.alpha import Choice, alpha_grid, choose, decisions_over, widest_plateau
from reseed.score.bootstrap import LEVEL, MIN_CLUSTERS, Interval, no_interval, resampled_sums
from reseed.score.confusion import Counts, Shares, confusion_counts
from reseed.score.registry import FRAME, HEADLINE, SCORES

_MOST_RESAMPLES: Final = 2_000


@dataclass(frozen=True)
class AlphaCurve:
    """The decisions on the labelled frames of one split at A thresholds.

    Args:
        split: Which frames.
        grid: A thresholds, ascending.
        counts: (A, 2, 2) confusion counts, rows gold, columns decision.
    """

    split: str
    grid: tuple[Fraction, ...]
    counts: Counts

    @property
    def alphas(self) -> Shares:
        """(A,) the thresholds."""
        return np.asarray([float(alpha) for alpha in self.grid])

    @property
    def n(self) -> int:
        """Number of labelled frames; with 0 of them no score means anything."""
        return int(self.counts[0].sum())

    @property
    def n_deploy(self) -> int:
        """Labelled frames whose reference is Deploy."""
        return int(self.counts[0, 1].sum())

    @property
    def n_deployed(self) -> Counts:
        """(A,) frames decided Deploy."""
        return np.asarray(self.counts[:, :, 1].sum(axis=-1))

    def score(self, key: str) -> Shares:
        """Return (A,) one of the frame scores, fractions."""
        return np.asarray(SCORES[FRAME][key](self.counts), dtype=np.float64)

    def best(self) -> Choice:
        """Return the threshold of the highest macro F1, in the middle of its plateau."""
        return choose(self.grid, self.score(HEADLINE))


def alpha_curve(
    split: str,
    deploy_count: NDArray[np.int64],
    n_patches: NDArray[np.int64],
    gold: NDArray[np.int64],
    grid: Sequence[Fraction] | None = None,
) -> AlphaCurve:
    """Take and score the decisions of the ratio rule at each threshold.

    Args:
        split: Which frames, for the record.
        deploy_count: (N,) patches of each labelled frame that are predicted Deploy.
        n_patches: (N,) its patches.
        gold: (N,) reference decisions, 0 No-Deploy, 1 Deploy.
        grid: Thresholds, ascending; 0.00, 0.01 ... 1.00 if None.

    Raises:
        TableError: If the shapes do not fit.
    """
    alphas = tuple(alpha_grid() if grid is None else grid)
    deploys = decisions_over(deploy_count, n_patches, alphas)
    return AlphaCurve(split, alphas, confusion_counts(gold, deploys.astype(np.int64), 2))


def expected_costs(curve: AlphaCurve, false_deploy: float, missed_deploy: float) -> Shares:
    """Return the mean cost of a frame at each threshold, (A,); NaN without labelled frames.

    Args:
        curve: Decisions at A thresholds.
        false_deploy: Cost of deploying where the reference says No-Deploy.
        missed_deploy: Cost of not deploying where it says Deploy.
    """
    wrong = false_deploy * curve.counts[:, 0, 1] + missed_deploy * curve.counts[:, 1, 0]
    return np.asarray(wrong / curve.n) if curve.n else np.full(len(curve.grid), np.nan)


def cheapest_alpha(curve: AlphaCurve, costs: Shares) -> Fraction:
    """Return the threshold of least expected cost, in the middle of its plateau."""
    return choose(curve.grid, -costs).alpha


def alpha_interval(
    deploy_count: NDArray[np.int64],
    n_patches: NDArray[np.int64],
    gold: NDArray[np.int64],
    groups: Sequence[str],
    resamples: int,
    seed: int,
) -> Interval:
    """Return the range that holds 95 % of the alphas chosen on resampled groups of validation frames.

    Args:
        deploy_count: (N,) patches of each labelled validation frame that are predicted Deploy.
        n_patches: (N,) its patches.
        gold: (N,) reference decisions, 0 No-Deploy, 1 Deploy.
        groups: (N,) what is drawn together.
        resamples: Of the bootstrap, at most 2,000 of which are used: an alpha has two decimals.
        seed: Of the bootstrap.
    """
    grid = alpha_grid()
    names, place = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    if len(names) < MIN_CLUSTERS:
        return no_interval(len(names))
    answers = 2 * gold + decisions_over(deploy_count, n_patches, grid).astype(np.int64)
    tables = np.zeros((len(names), len(grid), 4), dtype=np.int64)
    for frame, group in enumerate(place):
        tables[group, np.arange(len(grid)), answers[:, frame]] += 1
    sums = resampled_sums(tables, min(resamples, _MOST_RESAMPLES), seed).reshape(-1, len(grid), 2, 2)
    plateaus = [widest_plateau(scores) for scores in SCORES[FRAME][HEADLINE](sums)]
    chosen = [float(grid[(low + high + 1) // 2]) for low, high in plateaus]
    low, high = np.quantile(chosen, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high), len(names))


def average_precision(positive: NDArray[np.bool_], score: Shares) -> float:
    """Return the area under the precision-recall curve as a sum of steps; NaN without a positive.

    Args:
        positive: (N,) True where the reference is Deploy.
        score: (N,) the higher, the more Deploy.
    """
    return float(average_precision_score(positive, score)) if positive.any() else float("nan")
