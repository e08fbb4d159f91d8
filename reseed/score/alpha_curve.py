"""Frame scores at every threshold alpha, so that nobody needs a hundred experiments to see them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reseed.score.confusion import Shares, confusion_counts
from reseed.score.registry import FrameScores, frame_scores


@dataclass(frozen=True)
class AlphaCurve:
    """Scores of the labelled frames of one split at A thresholds.

    Args:
        split: Which frames.
        alphas: (A,) thresholds, ascending.
        scores: Every field (A,), fractions.
    """

    split: str
    alphas: Shares
    scores: FrameScores

    @property
    def n(self) -> int:
        """Number of labelled frames; with 0 of them no score means anything."""
        return int(self.scores.n[0])

    def best(self) -> tuple[float, float]:
        """Return the threshold of the highest macro F1, ties to the higher, and that macro F1 (a fraction)."""
        top = float(self.scores.macro_f1.max())
        return float(self.alphas[self.scores.macro_f1 >= top - 1e-12].max()), top


def alpha_curve(
    split: str, alphas: Sequence[Fraction], deploys: NDArray[np.bool_], gold: NDArray[np.int64]
) -> AlphaCurve:
    """Score the decisions taken at each threshold.

    Args:
        split: Which frames, for the record.
        alphas: A thresholds, ascending.
        deploys: (A, N) True where the frame is decided Deploy at that threshold.
        gold: (N,) reference decisions, 0 No-Deploy, 1 Deploy.

    Raises:
        TableError: If the shapes do not fit.
    """
    counts = confusion_counts(gold, deploys.astype(np.int64), 2)
    return AlphaCurve(split, np.asarray([float(alpha) for alpha in alphas]), frame_scores(counts))


_TIE = 1e-12


def expected_costs(curve: AlphaCurve, false_deploy: float, missed_deploy: float) -> Shares:
    """Return the mean cost of a frame at each threshold, (A,); NaN without labelled frames.

    Args:
        curve: Scores at A thresholds.
        false_deploy: Cost of deploying where the reference says No-Deploy.
        missed_deploy: Cost of not deploying where it says Deploy.
    """
    scores = curve.scores
    found = np.rint(scores.deploy_recall * scores.n_deploy)
    wrong = false_deploy * (scores.n_deployed - found) + missed_deploy * (scores.n_deploy - found)
    costs: Shares = np.divide(wrong, scores.n, out=np.full(len(curve.alphas), np.nan), where=scores.n > 0)
    return costs


def cheapest_alpha(curve: AlphaCurve, costs: Shares) -> float:
    """Return the threshold of least expected cost; ties go to the higher, which deploys less."""
    return float(curve.alphas[costs <= float(costs.min()) + _TIE].max())


def average_precision(positive: NDArray[np.bool_], score: Shares) -> float:
    """Return the area under the precision-recall curve as a sum of steps; NaN without a positive.

    Sum over thresholds of (recall_i - recall_(i-1)) * precision_i, equal scores together, no interpolation.

    Args:
        positive: (N,) True where the reference is Deploy.
        score: (N,) the higher, the more Deploy.
    """
    if not positive.any():
        return float("nan")
    order = np.argsort(-score, kind="stable")
    sorted_score = score[order]
    last_of_equals = np.flatnonzero(np.append(np.diff(sorted_score) != 0, True))  # a value, not a flag
    found = np.cumsum(positive[order])[last_of_equals]
    precision = found / (last_of_equals + 1)
    recall = found / found[-1]
    return float((np.diff(recall, prepend=0.0) * precision).sum())
