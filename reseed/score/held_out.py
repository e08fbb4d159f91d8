"""Scores of groups that were held out in turn: each, their spread, and all of them pooled."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from reseed.artifacts.table import Column
from reseed.base.classes import CLASSES
from reseed.score.bootstrap import intervals
from reseed.score.confusion import Counts
from reseed.score.percent import class_key, percent, percent_if, percent_or_nan
from reseed.score.scoring import FRAME, PATCH, SCORES, Task, as_intervals

HELD_OUT: Final = (
    Column("group", "text", "the group that was held out"),
    Column("n_patches", "int", "its labelled patches"),
    *(Column(f"patch_{name}", "float", f"patch {name.replace('_', ' ')} (percent)") for name in SCORES[PATCH]),
    *(Column(f"{class_key(name)}_support", "int", f"labelled patches that are {name}") for name in CLASSES),
    Column("n_frames", "int", "its labelled frames"),
    *(Column(f"frame_{name}", "float", f"frame {name.replace('_', ' ')} (percent)") for name in SCORES[FRAME]),
    Column("alpha", "float", "threshold used; empty if none could be chosen"),
    Column("best_epoch", "int", "epoch that validation chose"),
    Column("val_macro_f1", "float", "patch macro F1 on the validation groups of the fold (percent)"),
    Column("train_frames", "int", "frames trained on"),
    Column("val_frames", "int", "frames that chose epoch and alpha"),
)


def held_out_row(
    group: str, patches: Counts, frames: Counts, alpha: float | None, best_epoch: int, val_macro_f1: float
) -> dict[str, Any]:
    """Return the scores of one held-out group, columns HELD_OUT but the frame counts; no score of nothing.

    Args:
        group: Its name.
        patches: (3, 3) confusion counts.
        frames: (2, 2) confusion counts.
        alpha: Threshold used.
        best_epoch: Epoch that validation chose.
        val_macro_f1: On validation, 0-1.
    """
    n_patches, n_frames = int(patches.sum()), int(frames.sum())
    return {
        "group": group,
        "n_patches": n_patches,
        **{f"patch_{name}": percent_or_nan(score(patches), n_patches) for name, score in SCORES[PATCH].items()},
        **{f"{class_key(name)}_support": int(patches[index].sum()) for index, name in enumerate(CLASSES)},
        "n_frames": n_frames,
        **{f"frame_{name}": percent_or_nan(score(frames), n_frames) for name, score in SCORES[FRAME].items()},
        "alpha": float("nan") if alpha is None else alpha,
        "best_epoch": best_epoch,
        "val_macro_f1": percent(val_macro_f1),
    }


def pooled(task: Task, counts: Sequence[Counts], resamples: int, seed: int) -> dict[str, Any]:
    """Return the scores over all groups together, each predicted by the network that never saw it, with intervals.

    Args:
        task: `patch` or `frame`.
        counts: (K, K) confusion counts of each group.
        resamples: Of the bootstrap over groups.
        seed: Of the bootstrap.
    """
    tables = np.stack(counts)
    total = tables.sum(axis=0)
    n = int(total.sum())
    return {
        "n": n,
        **{name: percent_if(score(total), n) for name, score in SCORES[task].items()},
        "intervals": as_intervals(intervals(tables, SCORES[task], resamples, seed)),
    }


def spread(table: pd.DataFrame, column: str) -> dict[str, Any]:
    """Return mean, standard deviation (n - 1), lowest and highest over the groups that have the score."""
    known = table[table[column].notna()]
    if known.empty:
        return {"groups": 0, "mean": "n/a", "sd": "n/a", "lowest": "n/a", "highest": "n/a"}
    values = known[column].to_numpy(dtype=np.float64)
    worst, best = known.iloc[int(values.argmin())], known.iloc[int(values.argmax())]
    return {
        "groups": len(values),
        "mean": round(float(values.mean()), 4),
        "sd": round(float(values.std(ddof=1)), 4) if len(values) > 1 else "n/a",
        "lowest": round(float(worst[column]), 4),
        "lowest_group": str(worst["group"]),
        "highest": round(float(best[column]), 4),
        "highest_group": str(best["group"]),
    }
