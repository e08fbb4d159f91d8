"""Which classes are confused: matrices with recall and precision, and the most confident mistakes as pictures."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from reseed.base.classes import CLASS_COLOURS, CLASSES, DEPLOY
from reseed.base.errors import TableError
from reseed.figures.style import INK, MUTED, SMALL_PT, TEXT_PT, Sheet, counted, plain_axes, score, styled
from reseed.score.bootstrap import Interval
from reseed.score.confusion import Counts, absent_names, accuracy, class_scores, macro_f1

_SHADES: Final = LinearSegmentedColormap.from_list("share", ["#f6f8fa", "#a9c4c9", "#4d8290", "#123f4d"])
_DARK: Final = 0.45  # shares above it get white text

# Inches.
_LEFT, _RIGHT, _BELOW, _ABOVE = 1.5, 1.75, 0.68, 0.7
_MATRIX: Final = 3.5
_GAP, _CHIP = 0.04, 0.07


@styled
def confusion_figure(
    counts: Counts, names: Sequence[str], interval: Interval, *, item: str, place: str = "", synthetic: bool
) -> Figure:
    """Draw a confusion matrix of the test split.

    Args:
        counts: (K, K), rows gold, columns predicted.
        names: K class names.
        interval: 95 % interval of the macro F1.
        item: What is counted, `patch` or `frame`.
        place: Ends the title, such as ` at alpha 0.50`.
        synthetic: Whether the data is synthetic.
    """
    title, subtitle = _matrix_words(counts, names, interval, item, place)
    if counts.sum() == 0:
        return Sheet(_LEFT + _MATRIX + _RIGHT, 0.1, title, subtitle, synthetic=synthetic).figure
    sheet = Sheet(_LEFT + _MATRIX + _RIGHT, _BELOW + _MATRIX + _ABOVE, title, subtitle, synthetic=synthetic)
    ax = sheet.axes(_LEFT, _BELOW, _MATRIX, _MATRIX)
    plain_axes(ax)
    ax.set_xlim(0, _MATRIX)  # data units are inches, rows run down
    ax.set_ylim(_MATRIX, 0)
    _cells(ax, counts)
    _names(ax, names)
    _margins(ax, counts)
    heading: dict[str, Any] = {"fontsize": TEXT_PT, "fontweight": "bold", "ha": "center", "va": "center"}
    ax.text(_MATRIX / 2, -0.5, "Predicted" if item == "patch" else "Decision", **heading)
    ax.text(-1.2, _MATRIX / 2, "Reference", rotation=90, **heading)
    return sheet.figure


def _matrix_words(counts: Counts, names: Sequence[str], interval: Interval, item: str, place: str) -> tuple[str, str]:
    n = int(counts.sum())
    cells = f"Each cell: {'patches' if item == 'patch' else 'frames'}, and their share of the row."
    if n == 0:
        return f"No {item} score{place}", f"No test {item} has a reference label, so nothing is made up here."
    title = (
        f"{item.capitalize()} macro F1 {score(100 * float(macro_f1(counts)))} on {counted(n, f'test {item}')}{place}"
    )
    if interval.available:
        sure = f"95 % interval of macro F1 {100 * interval.low:.1f} to {100 * interval.high:.1f}. "
    else:
        sure = f"No interval: {interval.reason}. "
    absent = absent_names(counts, names)
    if absent:
        sure = f"No test {item} is {' or '.join(absent)} by reference, which counts 0 in the macro F1. {sure}"
    return title, f"{sure}Accuracy {score(100 * float(accuracy(counts)))}. {cells}"


def _cells(ax: Axes, counts: Counts) -> None:
    support = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, support, out=np.zeros(counts.shape), where=support > 0)
    cell = _MATRIX / len(counts)
    for (row, column), count in np.ndenumerate(counts):
        share = float(shares[row, column])
        left, top, edge = column * cell + _GAP / 2, row * cell + _GAP / 2, cell - _GAP
        ax.add_patch(Rectangle((left, top), edge, edge, facecolor=_SHADES(share), edgecolor="none"))
        how: dict[str, Any] = {"ha": "center", "va": "center", "color": "white" if share > _DARK else INK}
        weight = "bold" if row == column else "normal"
        middle = (row + 0.5) * cell
        ax.text((column + 0.5) * cell, middle - 0.08, f"{int(count):,}", fontsize=15, fontweight=weight, **how)
        below = f"{100 * share:.0f} %" if support[row, 0] else "no reference"
        ax.text((column + 0.5) * cell, middle + 0.21, below, fontsize=SMALL_PT, **how)


def _names(ax: Axes, names: Sequence[str]) -> None:
    """Write the class names beside a bar in the colour of the class."""
    cell = _MATRIX / len(names)
    for index, name in enumerate(names):
        start, length = index * cell + _GAP / 2, cell - _GAP
        how: dict[str, Any] = {"facecolor": CLASS_COLOURS[name], "edgecolor": "none", "clip_on": False}
        ax.add_patch(Rectangle((start, -_CHIP - _GAP), length, _CHIP, **how))
        ax.add_patch(Rectangle((-_CHIP - _GAP, start), _CHIP, length, **how))
        ax.text((index + 0.5) * cell, -0.24, name, ha="center", va="center", fontsize=TEXT_PT)
        ax.text(-0.19, (index + 0.5) * cell, name, ha="right", va="center", fontsize=TEXT_PT)


def _margins(ax: Axes, counts: Counts) -> None:
    """Write recall and F1 of each class beside its row, precision below its column."""
    each, cell = class_scores(counts), _MATRIX / len(counts)
    recall_at, f1_at, precision_at = _MATRIX + 0.15, _MATRIX + 0.98, _MATRIX + 0.2
    for x, word in ((recall_at, "Recall"), (f1_at, "F1")):
        ax.text(x, -0.24, word, ha="left", va="center", fontsize=TEXT_PT, fontweight="bold")
    ax.text(-0.19, precision_at, "Precision", ha="right", va="center", fontsize=TEXT_PT, fontweight="bold")
    of: dict[str, Any] = {"fontsize": SMALL_PT, "color": MUTED, "va": "center"}
    for index in range(len(counts)):
        middle = (index + 0.5) * cell
        ax.text(recall_at, middle, _share(each.recall[index]), ha="left", va="center", fontsize=TEXT_PT)
        ax.text(recall_at, middle + 0.2, f"of {int(each.support[index]):,}", ha="left", **of)
        ax.text(f1_at, middle, _share(each.f1[index]), ha="left", va="center", fontsize=TEXT_PT)
        ax.text(middle, precision_at, _share(each.precision[index]), ha="center", va="center", fontsize=TEXT_PT)
        ax.text(middle, precision_at + 0.2, f"of {int(each.predicted[index]):,}", ha="center", **of)


def _share(fraction: float) -> str:
    return score(100 * float(fraction))


_FEW = 16  # up to so many fit a page in four columns
_GAP_IN, _CAPTION_IN = 0.16, 0.62
_MARGIN_IN = 0.25


@styled
def mistakes_figure(
    mistakes: pd.DataFrame, pictures: NDArray[np.uint8], n_wrong: int, n: int, *, synthetic: bool
) -> Figure:
    """Draw wrong test patches with reference, prediction, probability and frame.

    Args:
        mistakes: M rows, columns patch_id, site, gold, predicted, probability (0-1), surest first.
        pictures: (M, H, W, 3) uint8 RGB, in the order of `mistakes`.
        n_wrong: All wrong test patches.
        n: All labelled test patches.
        synthetic: Whether the data is synthetic.

    Raises:
        TableError: If there is not one picture for each mistake.
    """
    if len(pictures) != len(mistakes):
        raise TableError(f"{len(pictures)} pictures for {len(mistakes)} mistakes; one for each is needed")
    columns, width_in = (4, 7.2) if len(mistakes) <= _FEW else (6, 9.6)
    rows = max(1, -(-len(mistakes) // columns))
    edge_in = (width_in - 2 * _MARGIN_IN - (columns - 1) * _GAP_IN) / columns
    step_in = edge_in + _CAPTION_IN
    body_in = rows * step_in + 0.15 if len(mistakes) else 0.3
    sheet = Sheet(width_in, body_in, *_mistake_words(mistakes, n_wrong, n), synthetic=synthetic)
    for index in range(len(mistakes)):
        row, column = divmod(index, columns)
        left = _MARGIN_IN + column * (edge_in + _GAP_IN)
        bottom = body_in - row * step_in - edge_in
        ax = sheet.axes(left, bottom, edge_in, edge_in)
        _picture(ax, pictures[index], CLASS_COLOURS[str(mistakes["predicted"].iloc[index])])
        _caption(ax, mistakes.iloc[index], edge_in)
    return sheet.figure


def _mistake_words(mistakes: pd.DataFrame, n_wrong: int, n: int) -> tuple[str, str]:
    if mistakes.empty:
        return (
            f"No mistake among {n:,} test patches",
            "No mistakes to show. Check the data: a perfect score often means that test frames are in train.",
        )
    false_deploy = mistakes[mistakes["predicted"] == DEPLOY]
    taken = " or ".join(name for name in CLASSES if name in set(false_deploy["gold"]))
    number, shown = len(false_deploy), len(mistakes)
    if number == shown:
        title = f"The surest mistakes all take {taken} for Deploy"
    elif number:
        title = f"{number} of the {shown} surest mistakes take {taken} for Deploy"
    else:
        title = "No false Deploy among the surest mistakes"
    subtitle = (
        f"The surest {shown} of {n_wrong:,} wrong among {counted(n, 'test patch')}. "
        "Below each: reference, then prediction (also the edge colour) with its probability. "
        "The reference can be wrong too."
    )
    return title, subtitle


def _picture(ax: Axes, picture: NDArray[np.uint8], colour: str) -> None:
    ax.imshow(picture, interpolation="antialiased", aspect="auto", extent=(0, 1, 0, 1))
    plain_axes(ax)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.add_patch(Rectangle((0, 0), 1, 1, facecolor="none", edgecolor=colour, linewidth=3, clip_on=False))


def _caption(ax: Axes, mistake: pd.Series, edge_in: float) -> None:
    gold, predicted = str(mistake["gold"]), str(mistake["predicted"])
    line = 0.165 / edge_in
    ax.text(0, -0.05, gold, ha="left", va="top", fontsize=TEXT_PT, color=_dark(gold), fontweight="bold")
    ax.text(
        0,
        -0.05 - line,
        f"→ {predicted} {100 * float(mistake['probability']):.0f} %",
        ha="left",
        va="top",
        fontsize=TEXT_PT,
        color=_dark(predicted),
        fontweight="bold",
    )
    ax.text(
        0,
        -0.05 - 2 * line,
        short_id(str(mistake["patch_id"]), int(edge_in * 13)),
        ha="left",
        va="top",
        fontsize=SMALL_PT,
        color=MUTED,
    )


def _dark(name: str) -> str:
    return {"No-Deploy": "#5c5c5c"}.get(name, CLASS_COLOURS.get(name, INK))


def short_id(patch_id: str, width: int) -> str:
    """Return the end of a patch id that still tells frames apart: `…_0012 r3 c5`.

    Args:
        patch_id: `<frame_id>#r003c005` or `<frame_id>#y0671x0217`.
        width: Characters that fit.
    """
    frame, _, cell = patch_id.partition("#")
    stem = PurePosixPath(frame).stem
    if cell.startswith("r"):
        row, _, column = cell[1:].partition("c")
        cell = f"r{int(row)} c{int(column)}"
    room = max(width - len(cell) - 1, 4)
    return f"{stem if len(stem) <= room else '…' + stem[-(room - 1) :]} {cell}"
