"""The most confident mistakes, as pictures: where to look first, for a wrong network and for a wrong label."""

from pathlib import PurePosixPath

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from reseed.base.classes import CLASS_COLOURS, CLASSES, DEPLOY
from reseed.base.errors import TableError
from reseed.figures.style import INK, MUTED, SMALL_PT, TEXT_PT, Sheet, counted, plain_axes, styled

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
    sheet = Sheet(width_in, body_in, *_words(mistakes, n_wrong, n), synthetic=synthetic)
    for index in range(len(mistakes)):
        row, column = divmod(index, columns)
        left = _MARGIN_IN + column * (edge_in + _GAP_IN)
        bottom = body_in - row * step_in - edge_in
        ax = sheet.axes(left, bottom, edge_in, edge_in)
        _picture(ax, pictures[index], CLASS_COLOURS[str(mistakes["predicted"].iloc[index])])
        _caption(ax, mistakes.iloc[index], edge_in)
    return sheet.figure


def _words(mistakes: pd.DataFrame, n_wrong: int, n: int) -> tuple[str, str]:
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
