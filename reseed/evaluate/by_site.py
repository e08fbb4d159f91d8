"""Scores site by site: a mean over sites hides the one where it fails."""

from typing import Final

import pandas as pd

from reseed.artifacts.table import Column
from reseed.classes import CLASSES
from reseed.evaluate.confusion import accuracy, class_scores, macro_f1
from reseed.evaluate.evidence import SCORED, Evidence, frame_confusion, patch_confusion
from reseed.evaluate.frame_scores import frame_scores
from reseed.evaluate.percent import percent_or_nan
from reseed.evaluate.summary import class_key

BY_SITE: Final = (
    Column("split", "text", "val or test"),
    Column("site", "text", "reef site"),
    Column("n_patches", "int", "labelled patches"),
    Column("macro_f1", "float", "patch macro F1 over all three classes (percent)"),
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


def by_site(evidence: Evidence) -> pd.DataFrame:
    """Score every site of the val and test splits.

    Returns:
        Columns BY_SITE, sorted by split and site; a score of no items is NaN. A class that a site does not have counts
        0 in its macro F1, as everywhere: the support columns say which.
    """
    rows = []
    for split in sorted(SCORED):
        patches, frames = evidence.labelled_patches(split), evidence.labelled_frames(split)
        rows += [
            {
                "split": split,
                "site": site,
                **_patch_row(patches[patches["site"] == site]),
                **_frame_row(frames[frames["site"] == site]),
            }
            for site in sorted(set(patches["site"]) | set(frames["site"]))
        ]
    return pd.DataFrame(rows, columns=[column.name for column in BY_SITE])


def _patch_row(patches: pd.DataFrame) -> dict[str, float | int]:
    counts = patch_confusion(patches)
    n, each = int(counts.sum()), class_scores(counts)
    return {
        "n_patches": n,
        "macro_f1": percent_or_nan(macro_f1(counts), n),
        "accuracy": percent_or_nan(accuracy(counts), n),
        **{f"{class_key(name)}_f1": percent_or_nan(each.f1[index], n) for index, name in enumerate(CLASSES)},
        **{f"{class_key(name)}_support": int(each.support[index]) for index, name in enumerate(CLASSES)},
    }


def _frame_row(frames: pd.DataFrame) -> dict[str, float | int]:
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
