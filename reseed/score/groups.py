"""Where does it fail: scores by depth, altitude, contrast and blue-red ratio, in quartiles of the test frames."""

from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.splits import TEST
from reseed.artifacts.table import Column
from reseed.base.classes import CLASSES
from reseed.params.evaluate import EvaluateParams
from reseed.score.evidence import SCORED, Evidence, item_confusion, score_items
from reseed.score.percent import class_key, percent_or_nan
from reseed.score.registry import FRAME, HEADLINE, PATCH, SCORES, Entry, Task


def _shown(task: Task) -> list[tuple[str, Entry]]:
    """Return key and entry of the scores in these tables; of frames accuracy comes first, as in metrics.json."""
    shown = [(key, entry) for key, entry in SCORES[task].items() if entry.in_tables]
    return sorted(shown, key=lambda pair: task == FRAME and pair[0] != "accuracy")


def _columns(task: Task) -> tuple[Column, ...]:
    headline, *others = (entry for _, entry in _shown(task))
    ends = (
        Column(f"{HEADLINE}_low", "float", "lower end of its 95 % interval; empty with fewer than 5 groups here"),
        Column(f"{HEADLINE}_high", "float", "upper end"),
    )
    first, *rest = (Column(entry.column, "float", f"{entry.full_label} (percent)") for entry in (headline, *others))
    return (first, *(ends if task == PATCH else ()), *rest)


SCORES_OF_A_PLACE: Final = (
    Column("n_patches", "int", "labelled patches"),
    *_columns(PATCH),
    *(Column(f"{class_key(name)}_support", "int", f"labelled patches that are {name}") for name in CLASSES),
    Column("n_frames", "int", "labelled frames"),
    Column("deploy_frames", "int", "labelled frames whose reference is Deploy"),
    *_columns(FRAME),
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
                    **place_row(_at(patches, where), _at(frames, where), evidence.context.settings),
                }
            )
    return pd.DataFrame(rows, columns=[column.name for column in columns])


def _at(table: pd.DataFrame, where: dict[str, object]) -> pd.DataFrame:
    for name, value in where.items():
        table = table[table[name] == value]
    return table


def place_row(patches: pd.DataFrame, frames: pd.DataFrame, settings: EvaluateParams) -> dict[str, float | int]:
    """Return the scores of some labelled patches and frames, in percent, as the tables by place hold them."""
    result, counts = score_items(PATCH, patches, settings), item_confusion(FRAME, frames)
    interval, supports, n_frames = result.intervals[HEADLINE], result.confusion.sum(axis=1), int(counts.sum())
    return {
        "n_patches": result.n,
        f"{HEADLINE}_low": percent_or_nan(interval.low, result.n),
        f"{HEADLINE}_high": percent_or_nan(interval.high, result.n),
        **{entry.column: percent_or_nan(result.scores[key], result.n) for key, entry in _shown(PATCH)},
        **{f"{class_key(name)}_support": int(supports[index]) for index, name in enumerate(CLASSES)},
        "n_frames": n_frames,
        "deploy_frames": int(counts[1].sum()),
        **{entry.column: percent_or_nan(entry(counts), n_frames) for _, entry in _shown(FRAME)},
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
                    **place_row(
                        patches[patches["frame_id"].isin(names)],
                        decided[decided["frame_id"].isin(names)],
                        evidence.context.settings,
                    ),
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
