"""Scores of deployment decisions, from 2 x 2 confusion counts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reseed.score.confusion import Counts, Shares, accuracy, class_scores, macro_f1

_DEPLOY = 1


@dataclass(frozen=True)
class FrameScores:
    """How good deployment decisions are, as fractions; every field has the leading shape of the counts.

    Args:
        accuracy: Share of right decisions.
        macro_f1: Unweighted mean of the F1 of No-Deploy and Deploy.
        deploy_precision: Share of Deploy decisions that are right.
        deploy_recall: Share of Deploy frames that are found.
        deploy_f1: Harmonic mean of the two.
        n: Labelled frames.
        n_deploy: Labelled frames whose reference is Deploy.
        n_deployed: Labelled frames decided Deploy.
    """

    accuracy: Shares
    macro_f1: Shares
    deploy_precision: Shares
    deploy_recall: Shares
    deploy_f1: Shares
    n: NDArray[np.int64]
    n_deploy: NDArray[np.int64]
    n_deployed: NDArray[np.int64]


def frame_scores(counts: Counts) -> FrameScores:
    """Score decisions.

    Args:
        counts: (..., 2, 2), rows gold, columns decision, order No-Deploy, Deploy.
    """
    each = class_scores(counts)
    return FrameScores(
        accuracy=accuracy(counts),
        macro_f1=macro_f1(counts),
        deploy_precision=each.precision[..., _DEPLOY],
        deploy_recall=each.recall[..., _DEPLOY],
        deploy_f1=each.f1[..., _DEPLOY],
        n=counts.sum(axis=(-2, -1)),
        n_deploy=each.support[..., _DEPLOY],
        n_deployed=each.predicted[..., _DEPLOY],
    )
