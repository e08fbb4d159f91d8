"""Which frames a person should look at instead: those unlike the training frames, and those near the promised alpha."""

from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.covariance import LedoitWolf

from reseed.artifacts.patches import TRAIN, VAL
from reseed.base.appearance import NAMES, NEAR_ALPHA, Familiar
from reseed.base.errors import TableError
from reseed.score.alpha import decisions
from reseed.score.promise import FRAME, needed_units


def fit_familiar(conditions: pd.DataFrame, splits: pd.DataFrame, share: Fraction) -> Familiar:
    """Learn what the frames of train and val look like.

    The distance of a frame is that from the frames of the other groups, so that a new group could have it.

    Args:
        conditions: Table CONDITIONS.
        splits: Table SPLITS_TABLE.
        share: Of familiar frames, at most this share is asked about.

    Raises:
        TableError: If there are too few groups to promise that.
    """
    known = _known(conditions, splits)
    groups = known["group"].to_numpy()
    names = sorted(set(groups))
    needed = needed_units(FRAME, share, share)
    if len(names) < needed:
        raise TableError(
            f"aggregate.ask is {float(share):g}: needs {needed} groups in train and val, there are {len(names)}; set a "
            "higher share, none, or split.group_by to smaller groups"
        )
    statistics = known[list(NAMES)].to_numpy(dtype=np.float64)
    distances = []
    for name in names:
        mine = groups == name
        others = _fitted(statistics[~mine], (), share)
        distances.append(np.array([others.distance(row) for row in statistics[mine]]))
    return _fitted(statistics, tuple(distances), share)


def _known(conditions: pd.DataFrame, splits: pd.DataFrame) -> pd.DataFrame:
    """Return the conditions of the frames of train and val with their group, group by group."""
    known = splits[splits["split"].isin([TRAIN, VAL])].merge(conditions, on="frame_id", validate="one_to_one")
    return known.sort_values(["group", "frame_id"], kind="stable")


def _fitted(statistics: NDArray[np.float64], distances: tuple[NDArray[np.float64], ...], share: Fraction) -> Familiar:
    centre, scale = statistics.mean(axis=0), np.maximum(statistics.std(axis=0), 1e-6)
    # Shrunk towards independence: there are few frames for 136 covariances.
    precision = LedoitWolf(assume_centered=True).fit((statistics - centre) / scale).precision_
    return Familiar(centre, scale, precision, distances, share)


def with_asked(
    decided: pd.DataFrame,
    conditions: pd.DataFrame,
    splits: pd.DataFrame,
    familiar: Familiar | None,
    doubt_from: Fraction | None,
) -> pd.DataFrame:
    """Say of each frame whether a person should look at it.

    Args:
        decided: Table FRAME_PREDICTIONS.
        conditions: Table CONDITIONS.
        splits: Table SPLITS_TABLE.
        familiar: What frames are compared with; None to ask about none for that.
        doubt_from: The alpha that the labelled frames alone would allow; frames that it drops on and the promised
            alpha does not are in doubt. None without a promise.

    Returns:
        `decided` with the columns familiarity and ask filled in.
    """
    reasons = np.full(len(decided), "", dtype=object)
    values = np.full(len(decided), np.nan)
    if familiar is not None:
        known = _known(conditions, splits)
        numbers = {name: number for number, name in enumerate(sorted(set(known["group"])))}
        far = dict(zip(known["frame_id"], np.concatenate(familiar.distances), strict=True))
        own = dict(zip(known["frame_id"], known["group"].map(numbers), strict=True))
        place = conditions.set_index("frame_id")[list(NAMES)]
        for row, frame in enumerate(decided["frame_id"]):
            statistics = place.loc[frame].to_numpy(dtype=np.float64)
            # Of a frame that was learned from, the distance to the other groups is on record.
            distance = far[frame] if frame in far else familiar.distance(statistics)
            values[row] = familiar.p_of_distance(distance, own.get(frame))
            reasons[row] = familiar.why(statistics) if familiar.asks(values[row]) else ""
    if doubt_from is not None:
        counts = decided["deploy_count"].to_numpy(), decided["n_patches"].to_numpy()
        near = decisions(*counts, doubt_from) & ~decisions(*counts, float(decided["alpha"].iloc[0]))
        reasons = np.where((reasons == "") & near, NEAR_ALPHA, reasons)
    return decided.assign(familiarity=values, ask=reasons)
