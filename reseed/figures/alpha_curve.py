"""Frame scores over alpha: how much the decision rule matters, and whether the alpha used was a good one."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reseed.classes import CLASS_COLOURS, DEPLOY
from reseed.evaluate.alpha_curve import AlphaCurve
from reseed.evaluate.confusion import Shares
from reseed.figures.style import FAINT, INK, MUTED, SMALL_PT, TEXT_PT, Sheet, counted, score, styled

_WIDTH_IN, _PLOT_IN = 7.2, 3.6
# Percent between two names beside the axes, and the alpha before which a line ends too early to be named there.
_APART, _EARLY = 7.5, 0.8
_HALO = [patheffects.withStroke(linewidth=3, foreground="white")]


@dataclass(frozen=True)
class _Line:
    label: str
    values: Shares
    how: dict[str, Any]


@styled
def alpha_figure(test: AlphaCurve, validation: AlphaCurve, alpha: float, macro_f1: float, *, synthetic: bool) -> Figure:
    """Draw macro F1, accuracy, Deploy precision and recall of the test frames over alpha, and mark the alpha used.

    Args:
        test: Curve of the test frames.
        validation: Curve of the validation frames, on the same thresholds.
        alpha: The threshold used, 0-1; it need not be one of the thresholds of the curve.
        macro_f1: Frame macro F1 of the test frames at it, a fraction.
        synthetic: Whether the data is synthetic.
    """
    sheet = Sheet(_WIDTH_IN, _PLOT_IN + 0.75, *_words(test, validation, alpha, macro_f1), synthetic=synthetic)
    ax = sheet.axes(0.75, 0.6, _WIDTH_IN - 2.45, _PLOT_IN)
    lines = _lines(test, validation)
    for line in lines:
        ax.plot(test.alphas, line.values, drawstyle="steps-post", solid_joinstyle="round", **line.how)
    ax.set_xlim(0, 1)
    ax.set_ylim(-2, 104)
    ax.set_xticks(np.linspace(0, 1, 11))
    ax.set_yticks(range(0, 101, 20))
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel("Alpha: a frame is Deploy where the share of its Deploy patches is above alpha")
    ax.set_ylabel("Score on frames (%)")
    _mark_used(ax, alpha)
    _shade_never(ax, test)
    _name_lines(ax, test.alphas, lines)
    return sheet.figure


def _words(test: AlphaCurve, validation: AlphaCurve, alpha: float, macro_f1: float) -> tuple[str, str]:
    dashed = (
        f"Dashed: {counted(validation.n, 'validation frame')}, the only ones alpha may be chosen on."
        if validation.n
        else "No validation frame has a reference decision, so alpha cannot be chosen."
    )
    if test.n == 0:
        return f"No frame score at alpha {alpha:.2f}: no test frame has a reference decision", dashed
    best_at, best = test.best()
    gap = 100 * (best - macro_f1)
    verdict = (
        "the best of any alpha"
        if gap < 0.05
        else f"{gap:.1f}\u00a0points below the best alpha in hindsight ({best_at:.2f})"
    )
    title = f"At alpha {alpha:.2f} frame macro F1 is {score(100 * macro_f1)}, {verdict}"
    n_deploy = int(test.scores.n_deploy[0])
    return title, f"Solid: {counted(test.n, 'test frame')}, {n_deploy} of them Deploy by reference. {dashed}"


def _lines(test: AlphaCurve, validation: AlphaCurve) -> list[_Line]:
    lines = []
    if test.n:
        scores = test.scores
        blue = CLASS_COLOURS[DEPLOY]
        lines = [
            _Line("Accuracy", 100 * scores.accuracy, {"color": "#9a6700", "linewidth": 1.6}),
            _Line("Deploy recall", 100 * scores.deploy_recall, {"color": "#3d9bd9", "linewidth": 1.8}),
            # Where no frame is decided Deploy the precision is 0/0: 0 by rule in the files, no line here.
            _Line(
                "Deploy precision",
                np.where(scores.n_deployed > 0, 100 * scores.deploy_precision, np.nan),
                {"color": blue, "linewidth": 1.8},
            ),
            _Line("Macro F1", 100 * scores.macro_f1, {"color": INK, "linewidth": 2.6}),
        ]
    if validation.n:
        how = {"color": INK, "linewidth": 1.3, "linestyle": (0, (4, 2.5))}
        lines.append(_Line("Macro F1 on\nvalidation", 100 * validation.scores.macro_f1, how))
    return [line for line in lines if not np.isnan(line.values).all()]


def _mark_used(ax: Axes, alpha: float) -> None:
    ax.axvline(alpha, color=MUTED, linewidth=1.0, zorder=1)
    right = alpha < 0.8
    ax.annotate(
        f"alpha used: {alpha:.2f}",
        (alpha, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(4 if right else -4, 1),
        textcoords="offset points",
        ha="left" if right else "right",
        va="bottom",
        fontsize=TEXT_PT,
        fontweight="bold",
    )


def _shade_never(ax: Axes, test: AlphaCurve) -> None:
    never = test.alphas[test.scores.n_deployed == 0]
    if test.n and len(never) and never[0] < 1:
        ax.axvspan(float(never[0]), 1, color="#f0f2f4", zorder=0, linewidth=0)
        if never[0] < 0.8:
            ax.text(
                0.985,
                3,
                f"no test frame is Deploy\nfrom alpha {never[0]:.2f} on",
                ha="right",
                va="bottom",
                fontsize=SMALL_PT,
                color=MUTED,
            )


def _name_lines(ax: Axes, alphas: Shares, lines: list[_Line]) -> None:
    """Write each line's name where it ends: beside the axes, apart from each other, or in them if it ends early."""
    how: dict[str, Any] = {"va": "center", "fontsize": TEXT_PT, "annotation_clip": False, "zorder": 6}
    to_edge: list[tuple[float, _Line]] = []
    for line in lines:
        last = int(np.flatnonzero(~np.isnan(line.values))[-1])
        if alphas[last] < _EARLY:
            stop = (float(alphas[last + 1]), float(line.values[last]))
            ax.annotate(line.label, stop, (5, 0), textcoords="offset points", path_effects=_HALO, **how | _ink(line))
        else:
            to_edge.append((float(line.values[last]), line))
    heights = _apart([end for end, _ in to_edge])
    for (end, line), height in zip(to_edge, heights, strict=True):
        ax.plot([1, 1.03], [end, height], color=line.how["color"], linewidth=1, clip_on=False)
        ax.annotate(line.label, (1.037, height), **how | _ink(line))


def _ink(line: _Line) -> dict[str, Any]:
    return {"color": line.how["color"], "fontweight": "bold" if line.how["linewidth"] > 2 else "normal"}


def _apart(ends: list[float]) -> list[float]:
    """Return heights near `ends`, in the same order from low to high, at least `_APART` from each other."""
    order = sorted(range(len(ends)), key=lambda index: (ends[index], -index))
    heights = list(ends)
    for _ in range(100):
        for low, high in pairwise(order):
            short = _APART - (heights[high] - heights[low])
            if short > 0:
                heights[low] -= short / 2
                heights[high] += short / 2
    return heights
