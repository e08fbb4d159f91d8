"""The pictures of one run: one line of the registry per file in `plots/figures`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reseed.artifacts.patches import TEST, VAL
from reseed.artifacts.raw import label_notices
from reseed.base.classes import CLASSES, DECISIONS
from reseed.figures.alpha_curve import alpha_figure
from reseed.figures.baselines import bars, baselines_figure
from reseed.figures.by_site import conditions_figure, site_figure
from reseed.figures.confusion import confusion_figure, mistakes_figure
from reseed.figures.frames import ShownFrame, frames_figure
from reseed.figures.precision_recall import precision_recall_figure
from reseed.figures.training import coral_figure, reliability_figure, training_figure
from reseed.score.alpha_curve import cheapest_alpha, expected_costs
from reseed.score.baselines import human_ceiling, score_baselines, verdict
from reseed.score.evidence import SCORED, Evidence, score_items, split_reliability
from reseed.score.plots import by_condition, by_site, coral_cover
from reseed.score.registry import FRAME, HEADLINE, PATCH, TASKS, percent


@dataclass(frozen=True)
class ReportData:
    """What the pictures show.

    Args:
        evidence: Predictions and references.
        mistakes: M most confident mistakes, see `reseed.score.evidence.confident_mistakes`.
        pictures: (M, H, W, 3) uint8 RGB, the patches of `mistakes` in their order.
        training: One row per epoch, `models/training.csv`.
        frames: Whole test frames by kind, see `reseed.figures.frames.shown_frames`.
    """

    evidence: Evidence
    mistakes: pd.DataFrame
    pictures: NDArray[np.uint8]
    training: pd.DataFrame
    frames: Mapping[str, list[ShownFrame]]


def notices(data: ReportData) -> list[str]:
    """Return what every picture must say above its title, beside the notice of synthetic data."""
    return label_notices(*map(data.evidence.label_kinds, SCORED))


def patch_confusion_picture(data: ReportData) -> Figure:
    """Draw the patch confusion matrix of the test split."""
    scores = data.evidence.scores[PATCH][TEST]
    interval = scores.intervals[HEADLINE]
    return confusion_figure(scores.confusion, CLASSES, interval, item="patch", synthetic=data.evidence.synthetic)


def frame_confusion_picture(data: ReportData) -> Figure:
    """Draw the confusion matrix of the frame decisions of the test split."""
    evidence = data.evidence
    scores = evidence.scores[FRAME][TEST]
    place = f" at alpha {evidence.alpha:.2f}" if evidence.rule == "ratio" else " by the logistic rule"
    interval = scores.intervals[HEADLINE]
    return confusion_figure(
        scores.confusion, DECISIONS, interval, item="frame", place=place, synthetic=evidence.synthetic
    )


def alpha_picture(data: ReportData) -> Figure:
    """Draw the frame scores over alpha, validation beside test, and mark the alpha used."""
    evidence = data.evidence
    frames, settings = evidence.labelled_frames(TEST), evidence.context.settings
    by_ratio = score_items(FRAME, frames, settings, frames["ratio_decision"])
    val = evidence.curve(VAL)
    costs = expected_costs(val, settings.cost_false_deploy, settings.cost_missed_deploy)
    return alpha_figure(
        evidence.curve(TEST),
        val,
        evidence.alpha,
        by_ratio.scores[HEADLINE],
        by_ratio.intervals[HEADLINE],
        float(cheapest_alpha(val, costs)) if val.n else None,
        evidence.alpha_interval(),
        synthetic=evidence.synthetic,
    )


def site_picture(data: ReportData) -> Figure:
    """Draw the patch macro F1 of each test site."""
    overall = percent(data.evidence.scores[PATCH][TEST].scores[HEADLINE])
    return site_figure(by_site(data.evidence), overall, synthetic=data.evidence.synthetic)


def baselines_picture(data: ReportData) -> Figure:
    """Draw the network beside simpler answers and other annotators."""
    evidence = data.evidence
    baselines, ceilings = score_baselines(evidence), human_ceiling(evidence)
    patch, frame = (bars(evidence.scores[task][TEST], baselines, ceilings, task) for task in TASKS)
    reason = evidence.scores[PATCH][TEST].intervals[HEADLINE].reason
    verdicts = [verdict(evidence, baselines, task) for task in TASKS]
    return baselines_figure(patch, frame, verdicts, reason, synthetic=evidence.synthetic)


def reliability_picture(data: ReportData) -> Figure:
    """Draw the reliability diagram of the test patches."""
    found = split_reliability(data.evidence, TEST)
    assert found is not None  # `gather` refuses a test split without labels
    calibration = data.evidence.context.calibration
    return reliability_figure(
        found, calibration["method"], calibration["temperature"], synthetic=data.evidence.synthetic
    )


def conditions_picture(data: ReportData) -> Figure:
    """Draw the patch macro F1 by depth, altitude, contrast and colour."""
    overall = 100 * data.evidence.scores[PATCH][TEST].scores[HEADLINE]
    return conditions_figure(by_condition(data.evidence), overall, synthetic=data.evidence.synthetic)


def coral_picture(data: ReportData) -> Figure:
    """Draw predicted against annotated coral cover of the test frames."""
    return coral_figure(coral_cover(data.evidence), synthetic=data.evidence.synthetic)


def mistakes_picture(data: ReportData) -> Figure:
    """Draw the most confident mistakes."""
    patches = data.evidence.labelled_patches(TEST)
    wrong = int((patches["gold"] != patches["predicted"]).sum())
    return mistakes_figure(data.mistakes, data.pictures, wrong, len(patches), synthetic=data.evidence.synthetic)


def frames_picture(data: ReportData) -> Figure:
    """Draw the worst and typical test frames with both grids."""
    return frames_figure(data.frames, synthetic=data.evidence.synthetic)


def precision_recall_picture(data: ReportData) -> Figure:
    """Draw precision against recall of each class."""
    return precision_recall_figure(data.evidence.labelled_patches(TEST), synthetic=data.evidence.synthetic)


def training_picture(data: ReportData) -> Figure:
    """Draw the training curves."""
    return training_figure(data.training, synthetic=data.evidence.synthetic)


# One line per picture: file name without `.png`, and what draws it.
PICTURES: Final[Mapping[str, Callable[[ReportData], Figure]]] = {
    "confusion_patches": patch_confusion_picture,
    "confusion_frames": frame_confusion_picture,
    "alpha_curve": alpha_picture,
    "by_site": site_picture,
    "baselines": baselines_picture,
    "conditions": conditions_picture,
    "reliability": reliability_picture,
    "coral_cover": coral_picture,
    "mistakes": mistakes_picture,
    "frames": frames_picture,
    "precision_recall": precision_recall_picture,
    "training": training_picture,
}
