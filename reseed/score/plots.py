"""The tables of scores by place and condition, and those behind `dvc plots`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from reseed.artifacts.splits import TEST, VAL
from reseed.artifacts.table import Column
from reseed.score.alpha_curve import expected_costs
from reseed.score.calibration import BINS
from reseed.score.coral_cover import CORAL_COVER, coral_cover
from reseed.score.evidence import Evidence, split_reliability
from reseed.score.groups import BY_CONDITION, BY_SEQUENCE, BY_SITE, by_condition, by_sequence, by_site
from reseed.score.registry import FRAME, SCORES

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
