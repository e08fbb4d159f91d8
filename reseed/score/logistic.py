"""The other rule: logistic regression on what the patches of a frame are and how they lie, instead of one threshold.

Fitted on validation frames only, as alpha is. With few of them it is easily fooled, hence the penalty, and hence
`ratio` is the default.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.splits import VAL
from reseed.base.classes import CORAL, DEPLOY
from reseed.base.errors import TableError
from reseed.score.aggregate import FrameCounts

FEATURES: Final = ("deploy share", "coral share", "deploy spread", "coral spread")

# Penalty on the weights of standardised features, as scikit-learn's LogisticRegression(C=1).
_PENALTY: Final = 1.0
_STEPS: Final = 100
_SMALL: Final = 1e-10


@dataclass(frozen=True)
class LogisticRule:
    """A fitted rule.

    Args:
        mean: (F,) of the features on validation frames.
        scale: (F,) standard deviation there; 1 where a feature does not vary.
        weights: (F,) on standardised features.
        bias: Constant.
        n: Validation frames it was fitted on.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]
    bias: float
    n: int

    def deploys(self, features: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return (N,) True where the chance of Deploy is above one half; a half is No-Deploy.

        Args:
            features: (N, F) as `frame_features` gives them.
        """
        return np.asarray(((features - self.mean) / self.scale) @ self.weights + self.bias > _SMALL, dtype=np.bool_)


def logistic_decisions(predictions: pd.DataFrame, index: pd.DataFrame, counts: FrameCounts) -> NDArray[np.bool_] | None:
    """Fit the rule on the labelled validation frames and decide every frame by it.

    Args:
        predictions: Table PATCH_PREDICTIONS.
        index: Table PATCH_INDEX.
        counts: The N frames of `predictions`.

    Returns:
        (N,) True for Deploy; None if the validation frames do not have both decisions.

    Raises:
        TableError: If a predicted patch is not in the index.
    """
    names, features = frame_features(predictions, index)
    assert (names == counts.frame_id).all()  # both sorted
    val = counts.labelled(VAL)
    rule = fit_rule(features[val], np.asarray(counts.gold[val] == DEPLOY))
    return None if rule is None else rule.deploys(features)


def frame_features(predictions: pd.DataFrame, index: pd.DataFrame) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    """Measure every frame.

    Spread is the root mean square distance of the patches of a class from their centre, as a share of that of all
    patches of the frame: 0 for one patch or none, about 1 for a class scattered all over.

    Args:
        predictions: Table PATCH_PREDICTIONS.
        index: Table PATCH_INDEX, for where each patch lies.

    Returns:
        (N,) frames, sorted, and (N, 4) FEATURES.

    Raises:
        TableError: If a predicted patch is not in the index.
    """
    place = index.set_index("patch_id")[["x0", "y0", "x1", "y1"]]
    missing = sorted(set(predictions["patch_id"]) - set(place.index))
    if missing:
        raise TableError(f"data/patches/index.csv: no patch {missing[0]}; run `dvc repro`")
    corners = place.loc[predictions["patch_id"]].to_numpy(dtype=np.float64)
    centre = (corners[:, :2] + corners[:, 2:]) / 2
    names, frame = np.unique(predictions["frame_id"].to_numpy(dtype=str), return_inverse=True)
    everything = np.ones(len(predictions), dtype=np.bool_)
    n, whole = _count_and_spread(frame, centre, everything, len(names))
    predicted = predictions["predicted"].to_numpy(dtype=object)
    columns: list[NDArray[np.float64]] = []
    spreads: list[NDArray[np.float64]] = []
    for name in (DEPLOY, CORAL):
        count, spread = _count_and_spread(frame, centre, np.asarray(predicted == name), len(names))
        columns.append(count / n)
        spreads.append(np.divide(spread, whole, out=np.zeros(len(names)), where=whole > 0))
    return names.astype(object), np.column_stack([*columns, *spreads])


def fit_rule(features: NDArray[np.float64], deploy: NDArray[np.bool_]) -> LogisticRule | None:
    """Fit the rule, by Newton's method, on labelled validation frames and no others.

    Args:
        features: (N, F) of these frames.
        deploy: (N,) True where the reference is Deploy.

    Returns:
        The rule; None if the frames do not have both decisions.
    """
    if deploy.all() or not deploy.any():
        return None
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale = np.where(scale > _SMALL, scale, 1.0)
    design = np.column_stack([(features - mean) / scale, np.ones(len(features))])
    penalty = np.full(design.shape[1], _PENALTY)
    penalty[-1] = 0.0
    weights = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-design @ weights))
        gradient = design.T @ (chance - deploy) + penalty * weights
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < _SMALL:
            break
    return LogisticRule(mean, scale, weights[:-1], float(weights[-1]), len(features))


def _count_and_spread(
    frame: NDArray[np.intp], centre: NDArray[np.float64], chosen: NDArray[np.bool_], n_frames: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how many chosen patches each frame has, and their root mean square distance from their centre (px)."""
    count = np.bincount(frame[chosen], minlength=n_frames).astype(np.float64)
    variance = np.zeros(n_frames)
    for axis in range(2):
        values = centre[chosen, axis]
        mean = np.bincount(frame[chosen], weights=values, minlength=n_frames) / np.maximum(count, 1)
        apart = np.square(values - mean[frame[chosen]])
        variance += np.bincount(frame[chosen], weights=apart, minlength=n_frames) / np.maximum(count, 1)
    return count, np.sqrt(variance)
