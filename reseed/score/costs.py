"""What wrong decisions cost, and the area under the precision-recall curve: scores over every threshold."""

import numpy as np
from numpy.typing import NDArray

from reseed.score.alpha_curve import AlphaCurve
from reseed.score.confusion import Shares

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
