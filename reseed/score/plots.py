"""The tables of scores by place and condition, of coral cover, and those behind `dvc plots`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.patches import TEST, VAL
from reseed.artifacts.table import Column
from reseed.base.appearance import NEAR_ALPHA
from reseed.base.classes import CLASSES, CORAL
from reseed.params.evaluate import EvaluateParams
from reseed.score.alpha_curve import expected_costs
from reseed.score.calibration import BINS
from reseed.score.evidence import SCORED, Evidence, item_confusion, score_items, split_reliability
from reseed.score.registry import (
    FRAME,
    HEADLINE,
    NOT_AVAILABLE,
    PATCH,
    SCORES,
    Entry,
    Task,
    as_metrics,
    class_key,
    percent,
    percent_or_nan,
)

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


def ask_details(evidence: Evidence) -> dict[str, Any] | str:
    """Return how many test frames are asked about, and what the decisions on the others are worth."""
    if evidence.frames["familiarity"].isna().all() and (evidence.frames["ask"] == "").all():
        return NOT_AVAILABLE
    frames = evidence.frames[evidence.frames["split"] == TEST]
    asked = frames["ask"] != ""
    labelled = evidence.labelled_frames(TEST)
    rest = score_items(FRAME, labelled[labelled["ask"] == ""], evidence.context.settings)
    return {
        "test_frames": len(frames),
        "asked": int(asked.sum()),
        "asked_share": percent(asked.mean()) if len(frames) else NOT_AVAILABLE,
        "near_alpha": int((frames["ask"] == NEAR_ALPHA).sum()),
        "unfamiliar": int((asked & (frames["ask"] != NEAR_ALPHA)).sum()),
        "without_asked": as_metrics(rest) if rest.n else NOT_AVAILABLE,
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


CONFUSION: Final = (
    Column("actual", "text", "reference"),
    Column("predicted", "text", "what the network, or the rule, says"),
)

# Column prefix of each split in the table over alpha.
_PREFIX: Final = {TEST: "", VAL: "validation_"}
_OVER_ALPHA: Final = tuple(entry for entry in SCORES[FRAME].values() if entry.in_tables)
ALPHA_CURVE: Final = (
    Column("alpha", "float", "threshold, 0-1"),
    *(
        Column(f"{prefix}{entry.key}", "float", f"{entry.label} on the {split} frames (percent)")
        for split, prefix in _PREFIX.items()
        for entry in _OVER_ALPHA
    ),
    Column("cost", "float", "expected cost of a test frame, in the unit of evaluate.cost_*"),
    Column("validation_cost", "float", "expected cost of a validation frame"),
)

RELIABILITY: Final = (
    Column("from", "float", "lower edge of the bin of the highest probability, exclusive (percent)"),
    Column("to", "float", "upper edge, inclusive (percent)"),
    Column("n", "int", "labelled test patches in it"),
    Column("confidence", "float", "their mean highest probability (percent)"),
    Column("accuracy", "float", "share of them that is right (percent)"),
    Column("accuracy_low", "float", "lower end of its 95 % interval; empty with fewer than 5 groups"),
    Column("accuracy_high", "float", "upper end"),
)


def patch_pairs(evidence: Evidence) -> pd.DataFrame:
    """Return reference and prediction of every labelled test patch, in patch_id order; columns CONFUSION."""
    rows = evidence.labelled_patches(TEST).sort_values("patch_id", kind="stable")
    return pd.DataFrame({"actual": rows["gold"], "predicted": rows["predicted"]})


def frame_pairs(evidence: Evidence) -> pd.DataFrame:
    """Return reference and decision of every labelled test frame, in frame_id order; columns CONFUSION."""
    rows = evidence.labelled_frames(TEST).sort_values("frame_id", kind="stable")
    return pd.DataFrame({"actual": rows["gold"], "predicted": rows["decision"]})


def alpha_table(evidence: Evidence) -> pd.DataFrame:
    """Return the frame scores at every alpha; columns ALPHA_CURVE, NaN where no frame is labelled."""
    settings = evidence.context.settings
    table = pd.DataFrame()
    for split, prefix in _PREFIX.items():
        curve = evidence.curve(split)
        table["alpha"] = curve.alphas
        for entry in _OVER_ALPHA:
            table[f"{prefix}{entry.key}"] = 100.0 * curve.score(entry.key) if curve.n else np.nan
        table[f"{prefix}cost"] = expected_costs(curve, settings.cost_false_deploy, settings.cost_missed_deploy)
    return table


def reliability_table(evidence: Evidence) -> pd.DataFrame:
    """Return confidence against accuracy of the labelled test patches; columns RELIABILITY, NaN in an empty bin."""
    found = split_reliability(evidence, TEST)
    assert found is not None  # `gather` refuses a test split without labels
    edges = np.linspace(0, 100, BINS + 1)
    return pd.DataFrame(
        {
            "from": edges[:-1],
            "to": edges[1:],
            "n": found.n,
            "confidence": 100 * found.confidence,
            "accuracy": 100 * found.accuracy,
            "accuracy_low": [100 * interval.low for interval in found.intervals],
            "accuracy_high": [100 * interval.high for interval in found.intervals],
        }
    )


@dataclass(frozen=True)
class ScoreTable:
    """One table of scores: its columns, and how it is built."""

    columns: tuple[Column, ...]
    build: Callable[[Evidence], pd.DataFrame]


# One line per table: file without `.csv`.
TABLES: Final[Mapping[str, ScoreTable]] = {
    "metrics/by_site": ScoreTable(BY_SITE, by_site),
    "metrics/by_sequence": ScoreTable(BY_SEQUENCE, by_sequence),
    "metrics/by_condition": ScoreTable(BY_CONDITION, by_condition),
    "plots/confusion_patches": ScoreTable(CONFUSION, patch_pairs),
    "plots/confusion_frames": ScoreTable(CONFUSION, frame_pairs),
    "plots/alpha_curve": ScoreTable(ALPHA_CURVE, alpha_table),
    "plots/reliability": ScoreTable(RELIABILITY, reliability_table),
    "plots/coral_cover": ScoreTable(CORAL_COVER, coral_cover),
}
