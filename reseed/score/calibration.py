"""Calibration of patch probabilities, and a logistic regression as the other rule for frames.

The regression uses what the patches of a frame are and how they lie, instead of one threshold. It is fitted on
validation frames only, as alpha is. With few of them it is easily fooled, hence the penalty, and hence `ratio` is the
default.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from reseed.base.classes import CORAL, DEPLOY
from reseed.base.errors import TableError
from reseed.score.bootstrap import Interval, Score, intervals
from reseed.score.confusion import Shares

BINS: Final = 10


@dataclass(frozen=True)
class Reliability:
    """Confidence against accuracy of N predictions in B equal bins of confidence; fractions.

    Args:
        n: (B,) predictions whose highest probability lies in the bin; its upper edge belongs to it.
        confidence: (B,) mean highest probability; NaN in an empty bin.
        accuracy: (B,) share of right predictions; NaN in an empty bin.
        intervals: B 95 % intervals of the accuracy, over clusters.
        expected_error: Mean over predictions of |accuracy - confidence| of their bin (Naeini et al. 2015).
        brier: Mean over predictions of the squared distance of the probabilities from the truth, 0-2 (Brier 1950).
        over_confidence: Mean confidence minus accuracy: above 0, the network is surer than it is right.
    """

    n: NDArray[np.int64]
    confidence: Shares
    accuracy: Shares
    intervals: tuple[Interval, ...]
    expected_error: float
    brier: float
    over_confidence: float


def reliability(
    probabilities: Shares, gold: NDArray[np.int64], clusters: list[str], resamples: int, seed: int
) -> Reliability:
    """Compare probabilities with what came true.

    Args:
        probabilities: (N, K) of each class, N at least 1.
        gold: (N,) class indices.
        clusters: (N,) what is drawn together for the intervals.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == gold
    place = np.clip(np.ceil(sure * BINS).astype(np.int64) - 1, 0, BINS - 1)
    n = np.bincount(place, minlength=BINS)
    confidence = _share(np.bincount(place, weights=sure, minlength=BINS), n)
    accuracy = _share(np.bincount(place, weights=right, minlength=BINS), n)
    truth = np.eye(probabilities.shape[1])[gold]
    names, cluster = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    tables = np.zeros((len(names), BINS, 2), dtype=np.int64)
    np.add.at(tables, (cluster, place, right.astype(np.int64)), 1)
    found = intervals(tables, {str(index): _bin_accuracy(index) for index in range(BINS)}, resamples, seed)
    return Reliability(
        n=n,
        confidence=confidence,
        accuracy=accuracy,
        intervals=tuple(found.values()),
        expected_error=float(np.nansum(n * np.abs(accuracy - confidence)) / len(gold)),
        brier=float(np.square(probabilities - truth).sum(axis=1).mean()),
        over_confidence=float(sure.mean() - right.mean()),
    )


def _share(part: NDArray[Any], whole: NDArray[Any]) -> Shares:
    share: Shares = np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)
    return share


def _bin_accuracy(index: int) -> Score:
    def accuracy(tables: Shares) -> Shares:
        return _share(tables[..., index, 1], tables[..., index, :].sum(axis=-1))

    return accuracy


FEATURES: Final = ("deploy share", "coral share", "deploy spread", "coral spread")

# A chance this near to one half is one half.
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
    """Fit the rule, with scikit-learn's default penalty, on labelled validation frames and no others.

    Args:
        features: (N, F) of these frames.
        deploy: (N,) True where the reference is Deploy.

    Returns:
        The rule; None if the frames do not have both decisions.
    """
    if deploy.all() or not deploy.any():
        return None
    scaler = StandardScaler().fit(features)
    fitted = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-12).fit(scaler.transform(features), deploy)
    return LogisticRule(scaler.mean_, scaler.scale_, fitted.coef_[0], float(fitted.intercept_[0]), len(features))


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
