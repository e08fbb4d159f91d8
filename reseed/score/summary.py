"""`metrics/metrics.json`: the few numbers that are compared from run to run, percent with 4 decimals."""

from collections.abc import Callable, Mapping
from typing import Final

from reseed.artifacts.splits import TEST, TRAIN, VAL
from reseed.base.classes import CLASSES
from reseed.score.confusion import accuracy, class_scores, macro_f1
from reseed.score.evidence import Evidence, frame_confusion, frames_per_split, patch_confusion
from reseed.score.percent import class_key, percent, percent_if
from reseed.score.registry import PATCH, frame_scores

Value = float | int | bool | str


def patch_summary(evidence: Evidence) -> dict[str, Value]:
    """Score the labelled test patches: macro F1 first, with its interval, then accuracy and the F1 of each class."""
    interval = evidence.scores[PATCH][TEST].intervals["macro_f1"]
    counts = patch_confusion(evidence.labelled_patches(TEST))
    each = class_scores(counts).f1
    return {
        "macro_f1": percent(macro_f1(counts)),
        "macro_f1_low": percent_if(interval.low, interval.available),
        "macro_f1_high": percent_if(interval.high, interval.available),
        "accuracy": percent(accuracy(counts)),
        "n": int(counts.sum()),
        **{f"{class_key(name)}_f1": percent(each[index]) for index, name in enumerate(CLASSES)},
    }


def frame_summary(evidence: Evidence) -> dict[str, Value]:
    """Score the decisions on the labelled test frames; without any, each score is `n/a`."""
    scores = frame_scores(frame_confusion(evidence.labelled_frames(TEST)))
    n = int(scores.n)
    return {
        "alpha": evidence.alpha,
        "accuracy": percent_if(scores.accuracy, n),
        "macro_f1": percent_if(scores.macro_f1, n),
        "deploy_precision": percent_if(scores.deploy_precision, n),
        "deploy_recall": percent_if(scores.deploy_recall, n),
        "deploy_f1": percent_if(scores.deploy_f1, n),
        "n": n,
    }


def validation_summary(evidence: Evidence) -> dict[str, Value]:
    """Score the validation split, on which the epoch and alpha were chosen: optimistic, to be read beside test."""
    patches = patch_confusion(evidence.labelled_patches(VAL))
    frames = frame_confusion(evidence.labelled_frames(VAL))
    return {
        "patch_macro_f1": percent_if(macro_f1(patches), int(patches.sum())),
        "frame_macro_f1": percent_if(macro_f1(frames), int(frames.sum())),
    }


def data_summary(evidence: Evidence) -> dict[str, Value]:
    """Say what the scores were computed from."""
    frames = frames_per_split(evidence)
    return {
        "synthetic": evidence.synthetic,
        "frames_train": frames[TRAIN],
        "frames_test": frames[TEST],
    }


# One line per group of keys; `dvc metrics diff` stays readable with 20 keys at most.
SUMMARY: Final[Mapping[str, Callable[[Evidence], dict[str, Value]]]] = {
    "patch": patch_summary,
    "frame": frame_summary,
    "validation": validation_summary,
    "data": data_summary,
}


def summarise(evidence: Evidence) -> dict[str, dict[str, Value]]:
    """Return the content of `metrics/metrics.json`."""
    return {group: score(evidence) for group, score in SUMMARY.items()}
