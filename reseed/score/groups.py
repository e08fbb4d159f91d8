"""Where does it fail: scores by depth, altitude, contrast and blue-red ratio, in quartiles of the test frames."""

from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.splits import TEST
from reseed.artifacts.table import Column
from reseed.base.classes import CLASSES
from reseed.params.evaluate import EvaluateParams
from reseed.score.confusion import accuracy, class_scores, macro_f1
from reseed.score.evidence import SCORED, Evidence, frame_confusion, score_patches
from reseed.score.percent import class_key, percent_or_nan
from reseed.score.registry import frame_scores

SCORES_OF_A_PLACE: Final = (
    Column("n_patches", "int", "labelled patches"),
    Column("macro_f1", "float", "patch macro F1 over all three classes (percent)"),
    Column("macro_f1_low", "float", "lower end of its 95 % interval; empty with fewer than 5 groups here"),
    Column("macro_f1_high", "float", "upper end"),
    Column("accuracy", "float", "patch accuracy (percent)"),
    *(Column(f"{class_key(name)}_f1", "float", f"F1 of {name} patches (percent)") for name in CLASSES),
    *(Column(f"{class_key(name)}_support", "int", f"labelled patches that are {name}") for name in CLASSES),
    Column("n_frames", "int", "labelled frames"),
    Column("deploy_frames", "int", "labelled frames whose reference is Deploy"),
    Column("frame_accuracy", "float", "accuracy of the frame decisions (percent)"),
    Column("frame_macro_f1", "float", "macro F1 over the two decisions (percent)"),
    Column("deploy_precision", "float", "frame Deploy precision (percent)"),
    Column("deploy_recall", "float", "frame Deploy recall (percent)"),
)
_SPLIT: Final = Column("split", "text", "val or test")
_SITE: Final = Column("site", "text", "reef site")

BY_SITE: Final = (_SPLIT, _SITE, *SCORES_OF_A_PLACE)
BY_SEQUENCE: Final = (_SPLIT, _SITE, Column("sequence", "text", "one tow or drop"), *SCORES_OF_A_PLACE)


def by_site(evidence: Evidence) -> pd.DataFrame:
    """Score every site of the val and test splits.

    Returns:
        Columns BY_SITE, sorted by split and site; a score of no items is NaN. A class that a site does not have counts
        0 in its macro F1, as everywhere: the support columns say which.
    """
    return _by_place(evidence, ["site"], BY_SITE)


def by_sequence(evidence: Evidence) -> pd.DataFrame:
    """Score every sequence of the val and test splits; columns BY_SEQUENCE, otherwise as `by_site`."""
    return _by_place(evidence, ["site", "sequence"], BY_SEQUENCE)


def _by_place(evidence: Evidence, names: list[str], columns: tuple[Column, ...]) -> pd.DataFrame:
    rows = []
    for split in sorted(SCORED):
        patches, frames = evidence.labelled_patches(split), evidence.labelled_frames(split)
        places = pd.concat([patches[names], frames[names]]).drop_duplicates().sort_values(names)
        for place in places.to_dict("records"):
            where = {str(name): value for name, value in place.items()}
            rows.append(
                {
                    "split": split,
                    **where,
                    **patch_row(_at(patches, where), evidence.context.settings),
                    **frame_row(_at(frames, where)),
                }
            )
    return pd.DataFrame(rows, columns=[column.name for column in columns])


def _at(table: pd.DataFrame, where: dict[str, object]) -> pd.DataFrame:
    for name, value in where.items():
        table = table[table[name] == value]
    return table


def patch_row(patches: pd.DataFrame, settings: EvaluateParams) -> dict[str, float | int]:
    """Return the patch scores of some labelled patches, in percent, as the tables by place and condition hold them."""
    result = score_patches(patches, settings)
    n, each, interval = result.n, class_scores(result.confusion), result.intervals["macro_f1"]
    return {
        "n_patches": n,
        "macro_f1": percent_or_nan(macro_f1(result.confusion), n),
        "macro_f1_low": percent_or_nan(interval.low, n),
        "macro_f1_high": percent_or_nan(interval.high, n),
        "accuracy": percent_or_nan(accuracy(result.confusion), n),
        **{f"{class_key(name)}_f1": percent_or_nan(each.f1[index], n) for index, name in enumerate(CLASSES)},
        **{f"{class_key(name)}_support": int(each.support[index]) for index, name in enumerate(CLASSES)},
    }


def frame_row(frames: pd.DataFrame) -> dict[str, float | int]:
    """Return the scores of the decisions on some labelled frames, in percent, as these tables hold them."""
    scores = frame_scores(frame_confusion(frames))
    n = int(scores.n)
    return {
        "n_frames": n,
        "deploy_frames": int(scores.n_deploy),
        "frame_accuracy": percent_or_nan(scores.accuracy, n),
        "frame_macro_f1": percent_or_nan(scores.macro_f1, n),
        "deploy_precision": percent_or_nan(scores.deploy_precision, n),
        "deploy_recall": percent_or_nan(scores.deploy_recall, n),
    }


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
