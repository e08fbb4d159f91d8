"""The network beside simpler answers: what would have been enough?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reseed.evaluate.bootstrap import Interval
from reseed.figures.style import FAINT, INK, MUTED, SMALL_PT, TEXT_PT, Sheet, score, styled
from reseed.figures.whiskers import whiskers

_WIDTH_IN, _ROW_IN = 7.2, 0.4
_NARROW = 25.0  # percent; a number does not fit into a bar, or left of a whisker, that ends before
_OWN, _OTHER = "#4d8290", "#c3d3d7"


@dataclass(frozen=True)
class Bar:
    """One answer to one task.

    Args:
        name: Whose.
        macro_f1: Percent; None if it was not run or answers nothing here.
        interval: 95 % interval of it, as fractions; None if unknown.
        note: Why there is no score, or empty.
        own: Whether it is the network.
    """

    name: str
    macro_f1: float | None
    interval: Interval | None
    note: str
    own: bool


@styled
def baselines_figure(
    patch: Sequence[Bar], frame: Sequence[Bar], verdicts: Sequence[str], reason: str, *, synthetic: bool
) -> Figure:
    """Draw macro F1 of the network and of each baseline, on patches and on frames.

    Args:
        patch: Answers on patches, the network first.
        frame: The same on frames.
        verdicts: In words whether the network beats them; the first is the title.
        reason: Why there are no intervals; empty if there are.
        synthetic: Whether the data is synthetic.
    """
    lines = f"Whiskers: 95 % intervals over the groups of the split. {verdicts[1]}"
    if reason:
        lines = f"No intervals: {reason}. {verdicts[1]}"
    plot_in = _ROW_IN * max(len(patch), len(frame))
    sheet = Sheet(_WIDTH_IN, plot_in + 0.9, verdicts[0].rstrip("."), lines, synthetic=synthetic)
    left, width = 1.5, (_WIDTH_IN - 1.5 - 0.35 - 0.35) / 2
    for number, (bars, heading) in enumerate(((patch, "Patches"), (frame, "Frames"))):
        ax = sheet.axes(left + number * (width + 0.35), 0.6, width, plot_in)
        _bars(ax, bars)
        ax.set_title(heading, loc="left", fontsize=TEXT_PT, fontweight="bold", color=INK)
        ax.set_xlabel("Macro F1 (%)")
        ax.set_yticks(range(len(bars)), [bar.name for bar in bars] if number == 0 else [""] * len(bars))
        for label, bar in zip(ax.get_yticklabels(), bars, strict=True):
            label.set_fontweight("bold" if bar.own else "normal")
    return sheet.figure


def _bars(ax: Axes, bars: Sequence[Bar]) -> None:
    y = np.arange(len(bars))
    known = [0.0 if bar.macro_f1 is None else bar.macro_f1 for bar in bars]
    ax.barh(y, known, height=0.66, color=[_OWN if bar.own else _OTHER for bar in bars], zorder=2)
    own = next((bar.macro_f1 for bar in bars if bar.own), None)
    if own is not None:
        ax.axvline(own, color=INK, linewidth=1.0, linestyle=(0, (4, 2.5)), zorder=1)
    for at, bar in enumerate(bars):
        if bar.macro_f1 is None:
            ax.text(2, at, bar.note, va="center", fontsize=SMALL_PT, color=MUTED)
            continue
        if bar.interval is not None:
            whiskers(ax, at, bar.interval, horizontal=True)
        low, high = bar.macro_f1, bar.macro_f1
        if bar.interval is not None and bar.interval.available:
            low, high = 100 * bar.interval.low, 100 * bar.interval.high
        inside = low > _NARROW
        ax.text(
            2 if inside else high + 2,
            at,
            score(bar.macro_f1),
            va="center",
            fontsize=SMALL_PT,
            fontweight="bold" if bar.own else "normal",
            color="white" if bar.own and inside else INK,
            zorder=5,
        )
    ax.set_xlim(0, 100)
    ax.set_ylim(len(bars) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
