"""Frame scores over alpha: how much the decision rule matters, and whether the alpha used was a good one."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reseed.base.classes import CLASS_COLOURS, DEPLOY
from reseed.figures.style import FAINT, INK, MUTED, SMALL_PT, TEXT_PT, Sheet, counted, score, styled, whiskers
from reseed.score.alpha_curve import AlphaCurve
from reseed.score.bootstrap import Interval
from reseed.score.confusion import Shares
from reseed.score.registry import FRAME, HEADLINE, SCORES

_WIDTH_IN, _PLOT_IN = 8.4, 3.4
_LEFT_IN, _BETWEEN_IN, _RIGHT_IN = 0.75, 0.35, 1.45
# Percent between two names beside the axes, and the alpha before which a line ends too early to be named there.
_APART, _EARLY = 7.5, 0.8
_HALO = [patheffects.withStroke(linewidth=3, foreground="white")]


@dataclass(frozen=True)
class _Line:
    label: str
    values: Shares
    how: dict[str, Any]


@styled
def alpha_figure(
    test: AlphaCurve,
    validation: AlphaCurve,
    alpha: float,
    macro_f1: float,
    interval: Interval,
    cheapest: float | None,
    resampled: Interval,
    *,
    synthetic: bool,
) -> Figure:
    """Draw macro F1, accuracy, Deploy precision and recall over alpha, validation beside test, and mark the alpha used.

    Args:
        test: Curve of the test frames.
        validation: Curve of the validation frames, on the same thresholds.
        alpha: The threshold used, 0-1; it need not be one of the thresholds of the curve.
        macro_f1: Frame macro F1 of the test frames at it, a fraction.
        interval: 95 % interval of that.
        resampled: Range of the alphas that resampled validation groups choose.
        cheapest: Threshold of least expected cost on validation; None if it is not known.
        synthetic: Whether the data is synthetic.
    """
    title, text = _words(test, validation, alpha, macro_f1, interval)
    text += _ground(validation, resampled)
    sheet = Sheet(_WIDTH_IN, _PLOT_IN + 0.95, title, text, synthetic=synthetic)
    width = (_WIDTH_IN - _LEFT_IN - _BETWEEN_IN - _RIGHT_IN) / 2
    panels = (("Validation: alpha may be chosen here", validation), ("Test: scored once", test))
    for number, (heading, curve) in enumerate(panels):
        ax = sheet.axes(_LEFT_IN + number * (width + _BETWEEN_IN), 0.6, width, _PLOT_IN)
        _panel(ax, curve, named=number == 1 or test.n == 0)
        _mark_used(ax, alpha)
        ax.set_title(heading, loc="left", fontsize=TEXT_PT, fontweight="bold", color=INK, pad=18)
        if number == 0:
            ax.set_ylabel("Score on frames (%)")
            _mark_cheapest(ax, cheapest)
            _mark_plateau(ax, validation, resampled)
        else:
            ax.tick_params(labelleft=False)
            whiskers(ax, alpha, interval, horizontal=False)
    sheet.text(
        _LEFT_IN + width + _BETWEEN_IN / 2,
        0.12,
        "Alpha: a frame is Deploy where the share of its Deploy patches is above alpha",
        ha="center",
        color=INK,
    )
    return sheet.figure


def _panel(ax: Axes, curve: AlphaCurve, *, named: bool) -> None:
    lines = _lines(curve)
    for line in lines:
        ax.plot(curve.alphas, line.values, drawstyle="steps-post", solid_joinstyle="round", **line.how)
    ax.set_xlim(0, 1)
    ax.set_ylim(-2, 104)
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.set_yticks(range(0, 101, 20))
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    if not lines:
        said = ax.text(0.5, 50, "no frame has a\nreference decision", ha="center", va="center", color=MUTED)
        said.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 4})  # the line of alpha may pass there
        return
    _shade_never(ax, curve)
    if named:
        _name_lines(ax, curve.alphas, lines)


def _words(
    test: AlphaCurve, validation: AlphaCurve, alpha: float, macro_f1: float, interval: Interval
) -> tuple[str, str]:
    counts = f"{counted(validation.n, 'validation frame')}, {counted(test.n, 'test frame')}"
    if validation.n == 0:
        counts += ". No validation frame has a reference decision, so alpha cannot be chosen"
    if test.n == 0:
        return f"No frame score at alpha {alpha:.2f}: no test frame has a reference decision", f"{counts}."
    title = (
        f"At alpha {alpha:.2f} frame macro F1 is {score(100 * macro_f1)}, {_verdict(test, validation, alpha, macro_f1)}"
    )
    counts += f", {test.n_deploy} of them Deploy by reference."
    if interval.available:
        return title, f"{counts} Macro F1: 95 % interval {100 * interval.low:.0f} to {100 * interval.high:.0f}."
    return title, f"{counts} No interval: {interval.reason}."


def _ground(validation: AlphaCurve, resampled: Interval) -> str:
    """Return how much the choice of alpha depends on these validation frames."""
    if validation.n == 0:
        return ""
    best = validation.best()
    text = f" Shaded: alphas {float(best.low):.2f} to {float(best.high):.2f} are equally good on validation; auto takes"
    text += " the middle."
    if resampled.available:
        text += f" Line below: 95 % of resampled validation groups choose {resampled.low:.2f} to {resampled.high:.2f}."
    return text


def _verdict(test: AlphaCurve, validation: AlphaCurve, alpha: float, macro_f1: float) -> str:
    """Return how good the choice of alpha was; one that validation did not make is not praised for its luck."""
    if validation.n == 0:
        return "with an alpha set by hand"
    picked = float(validation.best().alpha)
    if not np.isclose(picked, alpha):
        return f"with an alpha set by hand: validation picks {picked:.2f}"
    best = test.best()
    gap = 100 * (best.score - macro_f1)
    if gap < 0.05:
        return "the best of any alpha"
    return f"{gap:.1f}\u00a0points below the best alpha in hindsight ({float(best.alpha):.2f})"


# Drawn from below to above: macro F1 lies on top. A score that is new here is grey.
_LOOK: Final[dict[str, dict[str, Any]]] = {
    "accuracy": {"color": "#9a6700", "linewidth": 1.6},
    "deploy_recall": {"color": "#3d9bd9", "linewidth": 1.8},
    "deploy_precision": {"color": CLASS_COLOURS[DEPLOY], "linewidth": 1.8},
    HEADLINE: {"color": INK, "linewidth": 2.6},
}


def _lines(curve: AlphaCurve) -> list[_Line]:
    if curve.n == 0:
        return []
    shown = {key: entry.label for key, entry in SCORES[FRAME].items() if entry.in_tables}
    lines = []
    for key in sorted(shown, key=[*(key for key in shown if key not in _LOOK), *_LOOK].index):
        values = 100 * curve.score(key)
        # Where no frame is decided Deploy the precision is 0/0: 0 by rule in the files, no line here.
        values = np.where(curve.n_deployed > 0, values, np.nan) if key == "deploy_precision" else values
        lines.append(_Line(_capital(shown[key]), values, _LOOK.get(key, {"color": MUTED, "linewidth": 1.4})))
    return [line for line in lines if not np.isnan(line.values).all()]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _mark_cheapest(ax: Axes, cheapest: float | None) -> None:
    if cheapest is None:
        return
    ax.plot([cheapest], [0], "v", color=MUTED, markersize=7, clip_on=False, zorder=6)
    side = -1 if cheapest > 0.5 else 1
    ax.annotate(
        f"least cost: {cheapest:.2f}",
        (cheapest, 0),
        xytext=(side * 7, 4),
        textcoords="offset points",
        ha="right" if side < 0 else "left",
        fontsize=SMALL_PT,
        color=MUTED,
        path_effects=_HALO,
    )


def _mark_plateau(ax: Axes, validation: AlphaCurve, resampled: Interval) -> None:
    """Shade the alphas of equal best macro F1, and draw those that other validation groups would choose."""
    if validation.n == 0:
        return
    best = validation.best()
    ax.axvspan(float(best.low), float(best.high), color="#e7e2d3", zorder=0, linewidth=0)
    if resampled.available:
        ends: dict[str, Any] = {"marker": "|", "markersize": 7, "clip_on": False, "zorder": 6}
        ax.plot([resampled.low, resampled.high], [-2, -2], color=INK, linewidth=1.6, **ends)


def _mark_used(ax: Axes, alpha: float) -> None:
    ax.axvline(alpha, color=MUTED, linewidth=1.0, zorder=1)
    right = alpha < 0.6
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


def _shade_never(ax: Axes, curve: AlphaCurve) -> None:
    never = curve.alphas[curve.n_deployed == 0]
    if len(never) and never[0] < 1:
        ax.axvspan(float(never[0]), 1, color="#f0f2f4", zorder=0, linewidth=0)
        if never[0] < 0.75:
            ax.text(
                0.985,
                9,
                f"none is Deploy\nfrom alpha {never[0]:.2f} on",
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
