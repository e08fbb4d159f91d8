"""Coral cover of each frame, as predicted and as annotated: is the number that ecologists would use any good?"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from reseed.artifacts.splits import TEST
from reseed.artifacts.table import Column
from reseed.base.classes import CORAL
from reseed.score.evidence import Evidence

CORAL_COVER: Final = (
    Column("frame_id", "text", "test frame with labelled patches"),
    Column("site", "text", "reef site"),
    Column("n_patches", "int", "labelled patches: both covers are shares of these"),
    Column("annotated", "float", "patches that are Coral by reference (percent)"),
    Column("predicted", "float", "patches predicted Coral (percent)"),
)


@dataclass(frozen=True)
class CoverErrors:
    """Predicted minus annotated coral cover over frames, in fractions of cover.

    Args:
        n: Frames.
        bias: Mean error.
        mae: Mean absolute error.
        rmse: Root of the mean squared error.
        r2: 1 - squared error / squared deviation of the annotated cover from its mean; NaN if that does not vary.
    """

    n: int
    bias: float
    mae: float
    rmse: float
    r2: float


def coral_cover(evidence: Evidence) -> pd.DataFrame:
    """Return annotated and predicted cover of each test frame, in percent of its labelled patches.

    The same patches on both sides: otherwise patches without a label would count as an error of the network.
    """
    patches = evidence.labelled_patches(TEST)
    by_frame = patches.groupby("frame_id", sort=True)
    table = pd.DataFrame(
        {
            "site": by_frame["site"].first(),
            "n_patches": by_frame.size(),
            "annotated": 100.0 * (patches["gold"] == CORAL).groupby(patches["frame_id"], sort=True).mean(),
            "predicted": 100.0 * (patches["predicted"] == CORAL).groupby(patches["frame_id"], sort=True).mean(),
        }
    )
    return table.reset_index()[[column.name for column in CORAL_COVER]]


def cover_errors(table: pd.DataFrame) -> CoverErrors:
    """Return bias, MAE, RMSE and R2 of a table that `coral_cover` gave."""
    annotated = table["annotated"].to_numpy(dtype=np.float64) / 100
    error = table["predicted"].to_numpy(dtype=np.float64) / 100 - annotated
    spread = float(np.square(annotated - annotated.mean()).sum())
    return CoverErrors(
        n=len(error),
        bias=float(error.mean()),
        mae=float(np.abs(error).mean()),
        rmse=float(np.sqrt(np.square(error).mean())),
        r2=1 - float(np.square(error).sum()) / spread if spread > 0 else float("nan"),
    )
