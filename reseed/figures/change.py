"""Patch scores before and after a change, with their intervals: is the step larger than the doubt?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reseed.base.classes import CLASS_COLOURS
from reseed.figures.style import FAINT, INK, MUTED, SMALL_PT, TEXT_PT, Sheet, score, styled
from reseed.score.bootstrap import Interval

_WIDTH_IN, _ROW_IN = 7.2, 0.62
_APART: Final = 0.17  # between base and head, in rows


@dataclass(frozen=True)
class Step:
    """One score on both sides.

    Args:
        name: Of the score.
        base: Percent; None if there is no score.
        head: Likewise.
        base_interval: 95 %, fractions.
        head_interval: Likewise.
    """

    name: str
    base: float | None
    head: float | None
    base_interval: Interval
    head_interval: Interval


@styled
def change_figure(steps: Sequence[Step], title: str, subtitle: str, *, synthetic: bool) -> Figure:
    """Draw each score of base and head as a pair of dots with whiskers.

    Args:
        steps: In reading order, macro F1 first.
        title: The finding, in one sentence.
        subtitle: What was measured, on what.
        synthetic: Whether the data is synthetic.
    """
    plot_in = _ROW_IN * len(steps)
    sheet = Sheet(_WIDTH_IN, plot_in + 0.8, title, subtitle, synthetic=synthetic)
    ax = sheet.axes(1.25, 0.6, _WIDTH_IN - 1.25 - 0.9, plot_in)
    for at, step in enumerate(steps):
        colour = CLASS_COLOURS.get(step.name, "#4d8290")
        _dot(ax, at - _APART, step.base, step.base_interval, colour, hollow=True)
        _dot(ax, at + _APART, step.head, step.head_interval, colour, hollow=False)
    ax.set_xlim(0, 100)
    ax.set_ylim(len(steps) - 0.5, -0.5)
    ax.set_yticks(range(len(steps)), [step.name for step in steps], fontsize=TEXT_PT)
    ax.get_yticklabels()[0].set_fontweight("bold")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel("F1 on test patches (%): base above, hollow; head below, filled")
    return sheet.figure


def _dot(ax: Axes, at: float, value: float | None, interval: Interval, colour: str, *, hollow: bool) -> None:
    if value is None:
        ax.text(101.5, at, "no score", va="center", fontsize=SMALL_PT, color=MUTED)
        return
    ends = [100 * interval.low, 100 * interval.high] if interval.available else [value, value]
    ax.plot(ends, [at, at], color=colour, linewidth=1.6, zorder=2, solid_capstyle="butt", clip_on=False)
    ax.scatter(
        [value],
        [at],
        s=46,
        facecolor="white" if hollow else colour,
        edgecolor=colour,
        linewidth=1.6,
        zorder=3,
        clip_on=False,
    )
    ax.text(
        101.5,
        at,
        score(value),
        va="center",
        fontsize=SMALL_PT,
        fontweight="normal" if hollow else "bold",
        color=MUTED if hollow else INK,
    )
