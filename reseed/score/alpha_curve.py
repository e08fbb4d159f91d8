"""Frame scores at every threshold alpha, so that nobody needs a hundred experiments to see them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reseed.score.confusion import Shares, confusion_counts
from reseed.score.frame_scores import FrameScores, frame_scores


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
