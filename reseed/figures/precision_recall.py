"""Precision against recall of each class over every threshold of its probability."""

from typing import Final

import pandas as pd
from matplotlib.figure import Figure
from sklearn.metrics import average_precision_score, precision_recall_curve

from reseed.base.classes import CLASS_COLOURS, CLASSES
from reseed.figures.style import FAINT, INK, SMALL_PT, Sheet, styled
from reseed.score.registry import class_key

_WIDTH_IN, _PLOT_IN = 7.2, 3.6
_DOT: Final = 44


@styled
def precision_recall_figure(patches: pd.DataFrame, *, synthetic: bool) -> Figure:
    """Draw a curve for each class that has a test patch, and a dot where the network stands.

    Args:
        patches: Labelled test patches with probabilities.
        synthetic: Whether they are rendered.
    """
    curves = {}
    for name in CLASSES:
        is_it, probability = (patches["gold"] == name).to_numpy(), patches[f"p_{class_key(name)}"].to_numpy()
        if is_it.any():
            curves[name] = (
                *precision_recall_curve(is_it, probability)[:2],
                average_precision_score(is_it, probability),
            )
    weakest = min(curves, key=lambda name: curves[name][2])
    title = f"{weakest} is the hardest class to tell: average precision {100 * curves[weakest][2]:.1f} %"
    subtitle = f"{len(patches)} test patches, each class against the others. Dots: the answers of the network."
    sheet = Sheet(_WIDTH_IN, _PLOT_IN + 0.8, title, subtitle, synthetic=synthetic)
    ax = sheet.axes(0.75, 0.6, _WIDTH_IN - 0.75 - 2.1, _PLOT_IN)
    for name, (precision, recall, area) in curves.items():
        label = f"{name}, {100 * area:.1f} %"
        ax.plot(100 * recall, 100 * precision, color=CLASS_COLOURS[name], linewidth=1.8, label=label)
        said, right = patches["predicted"] == name, (patches["predicted"] == name) & (patches["gold"] == name)
        if said.any():
            at = 100 * right.sum() / (patches["gold"] == name).sum(), 100 * right.sum() / said.sum()
            ax.scatter(*at, s=_DOT, color=CLASS_COLOURS[name], edgecolor=INK, linewidth=0.8, zorder=3)
    ax.set_xlim(0, 101)
    ax.set_ylim(0, 103)
    ax.grid(color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel("Recall (%)")
    ax.set_ylabel("Precision (%)")
    ax.legend(
        loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=SMALL_PT, title="Average precision"
    )
    return sheet.figure
