"""The tables behind `dvc plots`: confusion of patches and frames, and the alpha curve."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from reseed.artifacts.splits import TEST, VAL
from reseed.artifacts.table import Column
from reseed.evaluate.alpha_curve import AlphaCurve
from reseed.evaluate.confusion import Shares
from reseed.evaluate.evidence import Evidence

CONFUSION: Final = (
    Column("actual", "text", "reference"),
    Column("predicted", "text", "what the network, or the rule, says"),
)

ALPHA_CURVE: Final = (
    Column("alpha", "float", "threshold, 0-1"),
    Column("macro_f1", "float", "macro F1 over the two decisions on test frames (percent)"),
    Column("accuracy", "float", "accuracy on test frames (percent)"),
    Column("deploy_precision", "float", "Deploy precision on test frames (percent)"),
    Column("deploy_recall", "float", "Deploy recall on test frames (percent)"),
    Column("validation_macro_f1", "float", "macro F1 over the two decisions on validation frames (percent)"),
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
    test, validation = evidence.curve(TEST), evidence.curve(VAL)
    return pd.DataFrame(
        {
            "alpha": test.alphas,
            "macro_f1": _percents(test, test.scores.macro_f1),
            "accuracy": _percents(test, test.scores.accuracy),
            "deploy_precision": _percents(test, test.scores.deploy_precision),
            "deploy_recall": _percents(test, test.scores.deploy_recall),
            "validation_macro_f1": _percents(validation, validation.scores.macro_f1),
        }
    )


@dataclass(frozen=True)
class PlotTable:
    """One table behind `dvc plots`: its columns, and how it is built."""

    columns: tuple[Column, ...]
    build: Callable[[Evidence], pd.DataFrame]


# One line per table: file name without `.csv`.
PLOT_TABLES: Final[Mapping[str, PlotTable]] = {
    "confusion_patches": PlotTable(CONFUSION, patch_pairs),
    "confusion_frames": PlotTable(CONFUSION, frame_pairs),
    "alpha_curve": PlotTable(ALPHA_CURVE, alpha_table),
}


def _percents(curve: AlphaCurve, fractions: Shares) -> Shares:
    return 100.0 * fractions if curve.n else np.full(len(fractions), np.nan)
