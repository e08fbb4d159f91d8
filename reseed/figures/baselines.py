"""Scores side by side: the network and simpler answers, and a result before and after a change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reseed.base.classes import CLASS_COLOURS
from reseed.figures.style import FAINT, INK, MUTED, SMALL_PT, TEXT_PT, Sheet, score, styled, together, whiskers
from reseed.score.baselines import NO_INTERVAL, BaselineScore, Ceiling
from reseed.score.bootstrap import Interval
from reseed.score.confusion import absent_names
from reseed.score.registry import NAMES, PATCH, Task, TaskScores

_WIDTH_IN, _ROW_IN = 7.2, 0.4
_NARROW = 25.0  # percent; a number does not fit into a bar, or left of a whisker, that ends before
# Behind a number beside its bar: the dashed line of the network does not cross it.
_PAPER: Final = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
_FILL: Final = {"network": "#4d8290", "baseline": "#c3d3d7", "annotator": "#dcc9a3"}


@dataclass(frozen=True)
class Bar:
    """One answer to one task.

    Args:
        name: Whose.
        kind: Who answers.
        scores: Its scores; None if it was not run or answers nothing here.
        note: Why there is no score, or empty.
    """

    name: str
    kind: Literal["network", "baseline", "annotator"]
    scores: TaskScores | None
    note: str = ""


def bars(network: TaskScores, baselines: Sequence[BaselineScore], ceilings: Sequence[Ceiling], task: Task) -> list[Bar]:
    """Return the network, every baseline and every other annotator on one task; both tasks have the same rows.

    Args:
        network: Scores of the network on test.
        baselines: All baselines.
        ceilings: Other annotators, of either task.
        task: `patch` or `frame`.
    """
    found = [Bar("network", "network", network if network.n else None, "no reference")]
    for entry in baselines:
        elsewhere = "frames only" if task == PATCH else "no reference"
        found.append(Bar(entry.name, "baseline", entry.scores(task), "not run" if entry.not_run else elsewhere))
    for name in sorted({entry.annotator for entry in ceilings}):
        theirs = [entry.human for entry in ceilings if (entry.task, entry.annotator) == (task, name)]
        found.append(Bar(f"annotator {name}", "annotator", theirs[0] if theirs else None, "no answer"))
    return found


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
    verdicts = [text.replace(" %", together(" %")) for text in verdicts]  # no line begins with the sign
    lines = f"Whiskers: 95 % intervals over the groups of the split. {verdicts[1]}"
    if reason:
        lines = f"No intervals: {reason}. {verdicts[1]}"
    plot_in = _ROW_IN * max(len(patch), len(frame))
    sheet = Sheet(_WIDTH_IN, plot_in + 0.9, verdicts[0].split(NO_INTERVAL)[0].rstrip("."), lines, synthetic=synthetic)
    left, width = 1.5, (_WIDTH_IN - 1.5 - 0.35 - 0.35) / 2
    for number, (rows, heading) in enumerate(((patch, "Patches"), (frame, "Frames"))):
        ax = sheet.axes(left + number * (width + 0.35), 0.6, width, plot_in)
        _bars(ax, rows)
        ax.set_title(f"{heading}{_absent(rows[0].scores)}", loc="left", fontsize=TEXT_PT, fontweight="bold", color=INK)
        ax.set_xlabel("Macro F1 (%)")
        ax.set_yticks(range(len(rows)), [bar.name for bar in rows] if number == 0 else [""] * len(rows))
        for label, bar in zip(ax.get_yticklabels(), rows, strict=True):
            label.set_fontweight("bold" if bar.kind == "network" else "normal")
    return sheet.figure


def _absent(scores: TaskScores | None) -> str:
    """Return what no test item is by reference, for the heading: a macro F1 counts it as 0."""
    if scores is None:
        return ""
    names = absent_names(scores.confusion, NAMES[scores.task])
    return f" (no {', no '.join(names)}: counts 0)" if names else ""


def _bars(ax: Axes, rows: Sequence[Bar]) -> None:
    values = [None if bar.scores is None else 100 * bar.scores.scores["macro_f1"] for bar in rows]
    lengths = [value or 0.0 for value in values]
    ax.barh(np.arange(len(rows)), lengths, height=0.66, color=[_FILL[bar.kind] for bar in rows], zorder=2)
    if values[0] is not None:
        ax.axvline(values[0], color=INK, linewidth=1.0, linestyle=(0, (4, 2.5)), zorder=1)
    for at, (bar, value) in enumerate(zip(rows, values, strict=True)):
        if bar.scores is None or value is None:
            ax.text(2, at, bar.note, va="center", fontsize=SMALL_PT, color=MUTED, bbox=_PAPER, zorder=5)
            continue
        interval = bar.scores.intervals["macro_f1"]
        whiskers(ax, at, interval, horizontal=True)
        low, high = (100 * interval.low, 100 * interval.high) if interval.available else (value, value)
        own, inside = bar.kind == "network", low > _NARROW
        ax.text(
            2 if inside else high + 2,
            at,
            score(value),
            va="center",
            fontsize=SMALL_PT,
            fontweight="bold" if own else "normal",
            color="white" if own and inside else INK,
            bbox=None if inside else _PAPER,
            zorder=5,
        )
    ax.set_xlim(0, 100)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)


_CHANGE_WIDTH_IN, _CHANGE_ROW_IN = 7.2, 0.62
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
    plot_in = _CHANGE_ROW_IN * len(steps)
    sheet = Sheet(_CHANGE_WIDTH_IN, plot_in + 0.8, title, subtitle, synthetic=synthetic)
    ax = sheet.axes(1.25, 0.6, _CHANGE_WIDTH_IN - 1.25 - 0.9, plot_in)
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
