"""`models/training.csv` and `models/train.json`: how training went, for people."""

import math
from typing import Any

from reseed.base.classes import CLASSES
from reseed.network.fit import EpochScore, FitResult


def curve_rows(history: tuple[EpochScore, ...]) -> list[dict[str, object]]:
    """Return one row of `TRAINING_CURVE` for each epoch."""
    return [
        {
            "epoch": score.epoch,
            "lr": f"{score.lr:.6g}",
            "train_loss": score.train_loss,
            "val_loss": score.val_loss,
            "val_macro_f1": percent(score.val_macro_f1),
            "val_accuracy": percent(score.val_accuracy),
        }
        for score in history
    ]


def train_metrics(result: FitResult) -> dict[str, Any]:
    """Return what `models/train.json` holds: scores of the best epoch in percent, and counts.

    What a network that was only taken over does not have is `n/a`, the way of `metrics.json`.
    """
    return {
        "best_epoch": result.best.epoch,
        "epochs": len(result.history),
        "val": {
            "macro_f1": _known(percent(result.best.val_macro_f1)),
            "accuracy": _known(percent(result.best.val_accuracy)),
            "loss": _known(round(result.best.val_loss, 6)),
            "n": int(result.val_counts.sum()),
        },
        "train": {
            "loss": _known(round(result.best.train_loss, 6)),
            "n": int(result.train_counts.sum()),
        }
        | {
            f"n_{name.lower().replace('-', '_')}": int(count)
            for name, count in zip(CLASSES, result.train_counts, strict=True)
        },
    }


def percent(fraction: float) -> float:
    """Return a fraction as percent with 4 decimals."""
    return round(100 * fraction, 4)


def _known(value: float) -> float | str:
    return "n/a" if math.isnan(value) else value
