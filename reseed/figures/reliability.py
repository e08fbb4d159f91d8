"""Reliability diagram: is a patch that the network calls 80 % sure right in 80 % of the cases?"""

import numpy as np
from matplotlib.figure import Figure

from reseed.figures.style import FAINT, INK, MUTED, SMALL_PT, TEXT_PT, Sheet, counted, score, styled, whiskers
from reseed.score.calibration import BINS, Reliability

_WIDTH_IN, _PLOT_IN, _COUNT_IN = 6.0, 3.4, 0.75
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
        _WIDTH_IN,
        _PLOT_IN + _COUNT_IN + 0.9,
        *_words(found, method, temperature),
        synthetic=synthetic,
    )
    left, width = 0.75, _WIDTH_IN - 0.75 - 0.6
    below = sheet.axes(left, 0.6, width, _COUNT_IN)
    ax = sheet.axes(left, 0.6 + _COUNT_IN + 0.2, width, _PLOT_IN)
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
    return float(np.degrees(np.arctan2(_PLOT_IN / 100, width_in / 80)))


def _words(found: Reliability, method: str, temperature: float) -> tuple[str, str]:
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
