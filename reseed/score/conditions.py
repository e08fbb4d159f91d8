"""Where does it fail: scores by depth, altitude, contrast and blue-red ratio, in quartiles of the test frames."""

from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.splits import TEST
from reseed.artifacts.table import Column
from reseed.score.by_site import SCORES_OF_A_PLACE, frame_row, patch_row
from reseed.score.evidence import Evidence

# Column of the frames, and its name with unit for people.
CONDITIONS: Final = {
    "water_depth_m": "water depth (m)",
    "altitude_m": "altitude (m)",
    "contrast": "contrast (% of full scale)",
    "blue_red_ratio": "blue-red ratio",
}
UNKNOWN: Final = 0
QUARTILES: Final = 4

BY_CONDITION: Final = (
    Column("condition", "text", "water_depth_m, altitude_m, contrast or blue_red_ratio"),
    Column("quartile", "int", "1 (lowest quarter of the test frames) to 4; 0: not known for these frames"),
    Column("from", "float", "lowest value of these frames; empty if not known"),
    Column("to", "float", "highest value of these frames; empty if not known"),
    Column("frames", "int", "test frames"),
    *SCORES_OF_A_PLACE,
)


def by_condition(evidence: Evidence) -> pd.DataFrame:
    """Score the test patches and frames in each quartile of each condition; columns BY_CONDITION."""
    frames = evidence.frames[evidence.frames["split"] == TEST]
    rows = []
    for condition in CONDITIONS:
        values = frames[condition].to_numpy(dtype=np.float64)
        place = quartiles(values)
        for quartile in sorted(set(place.tolist())):
            mine = values[place == quartile]
            names = set(frames.loc[place == quartile, "frame_id"])
            patches, decided = evidence.labelled_patches(TEST), evidence.labelled_frames(TEST)
            rows.append(
                {
                    "condition": condition,
                    "quartile": quartile,
                    "from": float(mine.min()) if quartile else np.nan,
                    "to": float(mine.max()) if quartile else np.nan,
                    "frames": len(mine),
                    **patch_row(patches[patches["frame_id"].isin(names)], evidence.context.settings),
                    **frame_row(decided[decided["frame_id"].isin(names)]),
                }
            )
    return pd.DataFrame(rows, columns=[column.name for column in BY_CONDITION])


def quartiles(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return 1 to 4 for each value, 0 where it is NaN; equal values stay together, so a quarter may be empty.

    Args:
        values: (N,).
    """
    known = ~np.isnan(values)
    out = np.zeros(len(values), dtype=np.int64)
    if known.any():
        edges = np.quantile(values[known], [0.25, 0.5, 0.75])
        out[known] = 1 + np.searchsorted(edges, values[known], side="left")
    return out
