"""Curves: training by epoch, reliability of the probabilities, coral cover predicted against annotated."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from reseed.base.classes import CLASS_COLOURS, CORAL
from reseed.base.errors import TableError
from reseed.figures.style import FAINT, INK, MUTED, SMALL_PT, TEXT_PT, Sheet, counted, score, styled, whiskers
from reseed.score.calibration import BINS, Reliability
from reseed.score.plots import cover_errors

NEEDED = ("epoch", "train_loss", "val_loss", "val_macro_f1")

_WIDTH_IN, _PLOT_IN = 7.2, 2.7
_TRAIN, _VAL = "#8250a8", "#1a7f5a"


@styled
def training_figure(curve: pd.DataFrame, *, synthetic: bool) -> Figure:
    """Draw the loss of both splits and the validation macro F1 over the epochs, and mark the epoch that was kept.

    Args:
        curve: One row per epoch: epoch, train_loss, val_loss, val_macro_f1 (percent); none if the network was taken
            over.
        synthetic: Whether the data is synthetic.

    Raises:
        TableError: If a column is missing.
    """
    missing = [name for name in NEEDED if name not in curve.columns]
    if missing:
        raise TableError(f"models/training.csv: no column {missing[0]}; run `dvc repro train`")
    if curve.empty:
        return _nothing_trained(synthetic=synthetic)
    epochs, macro = curve["epoch"].to_numpy(), curve["val_macro_f1"].to_numpy(dtype=np.float64)
    kept = int(np.argmax(macro))
    title = f"Validation macro F1 peaks at {score(macro[kept])} in epoch {int(epochs[kept])} of {int(epochs[-1])}"
    subtitle = "Dashed: the epoch whose weights are kept. Validation picks it; test frames play no part."
    sheet = Sheet(_WIDTH_IN, _PLOT_IN + 0.85, title, subtitle, synthetic=synthetic)
    width = (_WIDTH_IN - 2.5) / 2
    loss, f1 = sheet.axes(0.7, 0.6, width, _PLOT_IN - 0.1), sheet.axes(2.25 + width, 0.6, width, _PLOT_IN - 0.1)
    marker = "o" if len(epochs) == 1 else ""  # a line of one point is invisible
    loss.plot(epochs, curve["train_loss"], color=_TRAIN, linewidth=2, marker=marker)
    loss.plot(epochs, curve["val_loss"], color=_VAL, linewidth=2, marker=marker)
    loss.set_ylim(0, 1.08 * float(curve[["train_loss", "val_loss"]].to_numpy().max()))
    _name_ends(loss, epochs, [("train", curve["train_loss"], _TRAIN), ("validation", curve["val_loss"], _VAL)])
    f1.plot(epochs, macro, color=_VAL, linewidth=2)
    f1.plot(epochs[kept], macro[kept], "o", color=_VAL, markersize=8, markeredgecolor="white")
    f1.set_ylim(0, 100)
    for ax, name in ((loss, "Loss"), (f1, "Validation macro F1 (%)")):
        _dress(ax, name, epochs, float(epochs[kept]))
    return sheet.figure


def _nothing_trained(*, synthetic: bool) -> Figure:
    title = "Nothing was trained here: the network was taken over from a checkpoint"
    subtitle = "models/model.json names its file and digest. Validation patches only scored it."
    return Sheet(_WIDTH_IN, 0.0, title, subtitle, synthetic=synthetic).figure


def _dress(ax: Axes, name: str, epochs: np.ndarray, kept: float) -> None:
    ax.set_title(name, loc="left", fontsize=TEXT_PT, fontweight="bold", color=INK)
    ax.set_xlabel("Epoch")
    ax.axvline(kept, color=MUTED, linewidth=1.0, linestyle=(0, (4, 2.5)), zorder=1)
    if len(epochs) == 1:
        ax.set_xticks(epochs)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    pad = 0.5 if len(epochs) == 1 else 0.02 * float(epochs[-1] - epochs[0])
    ax.set_xlim(float(epochs[0]) - pad, float(epochs[-1]) + pad)
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)


def _name_ends(ax: Axes, epochs: np.ndarray, lines: list[tuple[str, pd.Series, str]]) -> None:
    ends = [float(values.iloc[-1]) for _, values, _ in lines]
    gap = 0.07 * ax.get_ylim()[1]
    apart = (gap - abs(ends[0] - ends[1])) / 2 if abs(ends[0] - ends[1]) < gap else 0.0
    for index, (name, _, colour) in enumerate(lines):
        higher = ends[index] > ends[1 - index] or (ends[index] == ends[1 - index] and index == 1)
        ax.annotate(
            name,
            (float(epochs[-1]), ends[index] + (apart if higher else -apart)),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=TEXT_PT,
            annotation_clip=False,
        )


_RELIABILITY_WIDTH_IN, _RELIABILITY_PLOT_IN, _COUNT_IN = 6.0, 3.4, 0.75
_LINE = "#4d8290"
FEW_PATCHES = 10  # of which a share right says nothing: a hollow dot without a line
_APART = 5.0  # percent; a larger calibration error belongs into the title
_CLEAR = 1.0  # percent; less over- or under-confidence than this is called none


@styled
def reliability_figure(found: Reliability, method: str, temperature: float, *, synthetic: bool) -> Figure:
    """Draw accuracy over confidence of the test patches in equal bins, and how many patches each bin holds.

    Args:
        found: Confidence and accuracy by bin.
        method: `none` or `temperature`, how the probabilities were calibrated.
        temperature: What logits were divided by.
        synthetic: Whether the data is synthetic.
    """
    sheet = Sheet(
        _RELIABILITY_WIDTH_IN,
        _RELIABILITY_PLOT_IN + _COUNT_IN + 0.9,
        *_reliability_words(found, method, temperature),
        synthetic=synthetic,
    )
    left, width = 0.75, _RELIABILITY_WIDTH_IN - 0.75 - 0.6
    below = sheet.axes(left, 0.6, width, _COUNT_IN)
    ax = sheet.axes(left, 0.6 + _COUNT_IN + 0.2, width, _RELIABILITY_PLOT_IN)
    ax.plot([0, 100], [0, 100], color=MUTED, linewidth=1.0, linestyle=(0, (4, 2.5)), zorder=1)
    ax.annotate(
        "as sure as right",
        (31, 31),
        xytext=(0, 5),
        textcoords="offset points",
        rotation=_angle(width),
        va="bottom",
        ha="center",
        fontsize=SMALL_PT,
        color=MUTED,
        rotation_mode="anchor",
    )
    filled = found.n > 0
    x, y = 100 * found.confidence[filled], 100 * found.accuracy[filled]
    enough = found.n[filled] >= FEW_PATCHES
    ax.plot(x, np.where(enough, y, np.nan), color=_LINE, linewidth=1.8, zorder=2)
    biggest = float(found.n.max())
    area = 25 + 60 * found.n[filled] / biggest
    ax.scatter(x[enough], y[enough], s=area[enough], color=_LINE, edgecolor="white", zorder=4, clip_on=False)
    ax.scatter(x[~enough], y[~enough], s=area[~enough], color="white", edgecolor=_LINE, zorder=4, clip_on=False)
    for bin_index in np.flatnonzero(filled):
        whiskers(ax, 100 * float(found.confidence[bin_index]), found.intervals[bin_index], horizontal=False)
    edges = np.linspace(0, 100, BINS + 1)
    below.bar(edges[:-1], found.n, width=100 / BINS - 1, align="edge", color="#c3d3d7", zorder=2)
    for start, n in zip(edges[:-1], found.n, strict=True):
        if n:
            below.text(start + 50 / BINS, n, f"{n:,}", ha="center", va="bottom", fontsize=SMALL_PT, color=MUTED)
    ax.set_ylim(0, 100)
    ax.set_yticks(range(0, 101, 20))
    ax.set_ylabel("Right (%)")
    ax.tick_params(labelbottom=False)
    below.set_ylabel("Patches", color=INK)
    below.set_ylim(0, 1.35 * biggest)
    below.set_yticks([])
    below.set_xlabel("Confidence: highest of the three probabilities (%)")
    for axes in (ax, below):
        axes.set_xlim(20, 100)
        axes.set_xticks(range(20, 101, 10))
        axes.grid(axis="both" if axes is ax else "x", color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
    ax.yaxis.label.set_fontsize(TEXT_PT)
    return sheet.figure


def _angle(width_in: float) -> float:
    return float(np.degrees(np.arctan2(_RELIABILITY_PLOT_IN / 100, width_in / 80)))


def _reliability_words(found: Reliability, method: str, temperature: float) -> tuple[str, str]:
    over, apart = 100 * found.over_confidence, 100 * found.expected_error
    if abs(over) < _CLEAR and apart > _APART:
        title = f"As sure as right on average, but {apart:.1f} points off at a given confidence"
    elif abs(over) < _CLEAR:
        title = "The network is about as sure as it is right"
    elif over > 0:
        title = f"The network is {over:.1f} points surer than it is right"
    else:
        title = f"The network is {-over:.1f} points less sure than it is right"
    how = "as the network gives them" if method == "none" else f"calibrated, temperature {temperature:.2f}"
    text = (
        f"{counted(int(found.n.sum()), 'test patch')}; probabilities {how}. "
        f"Expected calibration error {score(100 * found.expected_error)}, Brier score {found.brier:.3f}."
    )
    if any(interval.available for interval in found.intervals):
        text += " Whiskers: 95 % intervals."
    if ((found.n > 0) & (found.n < FEW_PATCHES)).any():
        text += f" Hollow: fewer than {FEW_PATCHES} patches."
    return title, text


_COVER_WIDTH_IN, _COVER_PLOT_IN = 5.6, 3.9
_CLEAR_BIAS = 1.0  # percentage points; a smaller bias is called none


@styled
def coral_figure(table: pd.DataFrame, *, synthetic: bool) -> Figure:
    """Draw a dot for each test frame.

    Args:
        table: Columns of `reseed.score.plots.CORAL_COVER`, percent.
        synthetic: Whether the data is synthetic.
    """
    sheet = Sheet(_COVER_WIDTH_IN, _COVER_PLOT_IN + 0.8, *_cover_words(table), synthetic=synthetic)
    ax = sheet.axes(0.85, 0.6, _COVER_PLOT_IN, _COVER_PLOT_IN)
    ax.plot([0, 100], [0, 100], color=MUTED, linewidth=1.0, linestyle=(0, (4, 2.5)), zorder=1)
    places, counts = np.unique(table[["annotated", "predicted"]].to_numpy(dtype=np.float64), axis=0, return_counts=True)
    ax.scatter(
        places[:, 0],
        places[:, 1],
        s=45 * counts,
        color=CLASS_COLOURS[CORAL],
        alpha=0.75,
        edgecolor="white",
        linewidth=0.8,
        zorder=3,
        clip_on=False,
    )
    if counts.max() > 1:
        ax.text(98, 3, "larger dots: several frames", ha="right", fontsize=SMALL_PT, color=MUTED)
    ax.text(3, 95, "dashed: as annotated", fontsize=SMALL_PT, color=MUTED)
    ax.set_xlim(0, 100)
    ax.set_ylim(0, 100)
    ax.set_xticks(range(0, 101, 20))
    ax.set_yticks(range(0, 101, 20))
    ax.grid(color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel("Annotated coral cover (%)")
    ax.set_ylabel("Predicted coral cover (%)")
    return sheet.figure


def _cover_words(table: pd.DataFrame) -> tuple[str, str]:
    errors = cover_errors(table)
    bias = 100 * errors.bias
    if abs(bias) < _CLEAR_BIAS:
        title = "Coral cover is right on average"
    else:
        title = f"Coral cover comes out {abs(bias):.1f} points too {'high' if bias > 0 else 'low'}"
    title += f", {100 * errors.mae:.1f} points off per frame"
    r2 = "R2 undefined" if np.isnan(errors.r2) else f"R2 {errors.r2:.2f}"
    return title, (
        f"{counted(errors.n, 'test frame')}; cover is a share of the labelled patches. "
        f"RMSE {100 * errors.rmse:.1f} points, {r2}."
    )
