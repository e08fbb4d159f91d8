"""The pictures of one run: one line of the registry per file in `plots/figures`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reseed.artifacts.splits import TEST, VAL
from reseed.classes import CLASSES, DECISIONS
from reseed.evaluate.by_site import by_site
from reseed.evaluate.confusion import macro_f1
from reseed.evaluate.evidence import Evidence, frame_confusion, patch_confusion
from reseed.evaluate.percent import percent
from reseed.figures.alpha_curve import alpha_figure
from reseed.figures.by_site import site_figure
from reseed.figures.confusion import confusion_figure
from reseed.figures.mistakes import mistakes_figure
from reseed.figures.notice import WEAK_NOTICE
from reseed.figures.training import training_figure


@dataclass(frozen=True)
class ReportData:
    """What the pictures show.

    Args:
        evidence: Predictions and references.
        mistakes: M most confident mistakes, see `reseed.evaluate.mistakes`.
        pictures: (M, H, W, 3) uint8 RGB, the patches of `mistakes` in their order.
        training: One row per epoch, `plots/training.csv`.
    """

    evidence: Evidence
    mistakes: pd.DataFrame
    pictures: NDArray[np.uint8]
    training: pd.DataFrame


def notices(data: ReportData) -> list[str]:
    """Return what every picture must say above its title, beside the notice of synthetic data."""
    return [WEAK_NOTICE] if data.evidence.weak else []


def patch_confusion_picture(data: ReportData) -> Figure:
    """Draw the patch confusion matrix of the test split."""
    counts = patch_confusion(data.evidence.labelled_patches(TEST))
    return confusion_figure(counts, CLASSES, item="patch", synthetic=data.evidence.synthetic)


def frame_confusion_picture(data: ReportData) -> Figure:
    """Draw the confusion matrix of the frame decisions of the test split."""
    counts = frame_confusion(data.evidence.labelled_frames(TEST))
    place = f" at alpha {data.evidence.alpha:.2f}"
    return confusion_figure(counts, DECISIONS, item="frame", place=place, synthetic=data.evidence.synthetic)


def alpha_picture(data: ReportData) -> Figure:
    """Draw the frame scores over alpha."""
    evidence = data.evidence
    used = float(macro_f1(frame_confusion(evidence.labelled_frames(TEST))))
    return alpha_figure(evidence.curve(TEST), evidence.curve(VAL), evidence.alpha, used, synthetic=evidence.synthetic)


def site_picture(data: ReportData) -> Figure:
    """Draw the patch macro F1 of each test site."""
    overall = percent(macro_f1(patch_confusion(data.evidence.labelled_patches(TEST))))
    return site_figure(by_site(data.evidence), overall, synthetic=data.evidence.synthetic)


def mistakes_picture(data: ReportData) -> Figure:
    """Draw the most confident mistakes."""
    patches = data.evidence.labelled_patches(TEST)
    wrong = int((patches["gold"] != patches["predicted"]).sum())
    return mistakes_figure(data.mistakes, data.pictures, wrong, len(patches), synthetic=data.evidence.synthetic)


def training_picture(data: ReportData) -> Figure:
    """Draw the training curves."""
    return training_figure(data.training, synthetic=data.evidence.synthetic)


# One line per picture: file name without `.png`, and what draws it.
PICTURES: Final[Mapping[str, Callable[[ReportData], Figure]]] = {
    "confusion_patches": patch_confusion_picture,
    "confusion_frames": frame_confusion_picture,
    "alpha_curve": alpha_picture,
    "by_site": site_picture,
    "mistakes": mistakes_picture,
    "training": training_picture,
}
