"""`metrics/details.json`: the whole report, one family of scores per entry of the registry."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from reseed.artifacts.annotations import WEAK
from reseed.artifacts.splits import TEST, TRAIN, VAL
from reseed.classes import CLASSES, DECISIONS
from reseed.evaluate.confusion import Counts, accuracy, class_scores, macro_f1
from reseed.evaluate.evidence import SCORED, Evidence, frame_confusion, frames_per_split, patch_confusion
from reseed.evaluate.percent import NOT_AVAILABLE, percent
from reseed.evaluate.summary import class_key

UNITS: Final = "scores and shares in percent; n, support, predicted and confusion are counts; alpha 0-1"


def describe(evidence: Evidence) -> dict[str, Any]:
    """Return the content of `metrics/details.json`."""
    return {"units": UNITS, **{family: score(evidence) for family, score in DETAILS.items()}}


def patch_details(evidence: Evidence) -> dict[str, Any]:
    """Score the patches of val and test: per class, with the confusion and what is predicted of unlabelled patches."""
    return {split: _patch_split(evidence, split) for split in SCORED}


def frame_details(evidence: Evidence) -> dict[str, Any]:
    """Score the decisions on the frames of val and test."""
    return {split: _frame_split(evidence, split) for split in SCORED}


def alpha_details(evidence: Evidence) -> dict[str, Any]:
    """Compare the alpha used with the best of each split; the best on test is hindsight, never a choice."""
    return {
        "used": evidence.alpha,
        "best_on_validation": _best(evidence, VAL),
        "best_on_test_in_hindsight": _best(evidence, TEST),
    }


def data_details(evidence: Evidence) -> dict[str, Any]:
    """Name the data sources and count the frames of each split, rendered ones apart."""
    rendered = evidence.frames[evidence.frames["synthetic"] == 1]
    return {
        "synthetic": evidence.synthetic,
        "sources": [
            {
                "name": source.name,
                "kind": source.kind,
                "sha256": source.sha256,
                "pinned": source.pinned,
                "licence": source.licence,
                "synthetic": source.synthetic,
            }
            for source in evidence.sources
        ],
        "frames": frames_per_split(evidence),
        "patch_labels": {split: _kinds(evidence.labelled_patches(split)) for split in (TRAIN, VAL, TEST)},
        "synthetic_frames": {split: int((rendered["split"] == split).sum()) for split in (TRAIN, VAL, TEST)},
    }


# One line per family of scores.
DETAILS: Final[Mapping[str, Callable[[Evidence], dict[str, Any]]]] = {
    "patch": patch_details,
    "frame": frame_details,
    "alpha": alpha_details,
    "data": data_details,
}


def _patch_split(evidence: Evidence, split: str) -> dict[str, Any]:
    everything = evidence.patches[evidence.patches["split"] == split]
    labelled = evidence.labelled_patches(split)
    return {
        "n": len(labelled),
        "unlabelled": len(everything) - len(labelled),
        "labels": "weak" if (labelled["kind"] == WEAK).any() else "annotated",
        **_scores(patch_confusion(labelled), CLASSES, f"no patch of the {split} split has a reference class"),
        "predicted_share": _shares(everything["predicted"]),
    }


def _frame_split(evidence: Evidence, split: str) -> dict[str, Any]:
    labelled = evidence.labelled_frames(split)
    n = int((evidence.frames["split"] == split).sum())
    return {
        "n": len(labelled),
        "unlabelled": n - len(labelled),
        **_scores(frame_confusion(labelled), DECISIONS, f"no frame of the {split} split has a reference decision"),
    }


def _scores(counts: Counts, names: tuple[str, ...], without: str) -> dict[str, Any]:
    if counts.sum() == 0:
        return {"scores": NOT_AVAILABLE, "reason": without}
    each = class_scores(counts)
    return {
        "macro_f1": percent(macro_f1(counts)),
        "accuracy": percent(accuracy(counts)),
        "classes": {
            class_key(name): {
                "precision": percent(each.precision[index]),
                "recall": percent(each.recall[index]),
                "f1": percent(each.f1[index]),
                "support": int(each.support[index]),
                "predicted": int(each.predicted[index]),
            }
            for index, name in enumerate(names)
        },
        "confusion": {"rows": "gold", "columns": "predicted", "order": list(names), "counts": counts.tolist()},
    }


def _shares(predicted: pd.Series) -> dict[str, float]:
    names = predicted.to_numpy(dtype=object)
    return {class_key(name): percent(np.mean(names == name)) if len(names) else 0.0 for name in CLASSES}


def _kinds(labelled: pd.DataFrame) -> dict[str, int]:
    counts = labelled["kind"].value_counts()
    return {str(kind): int(counts[kind]) for kind in sorted(counts.index)}


def _best(evidence: Evidence, split: str) -> dict[str, Any] | str:
    curve = evidence.curve(split)
    if curve.n == 0:
        return NOT_AVAILABLE
    alpha, score = curve.best()
    return {"alpha": alpha, "frame_macro_f1": percent(score), "n": curve.n}
