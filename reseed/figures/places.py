"""What the figures of test sites and of held-out groups share: a row for each place, the F1 of each class as dots."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from reseed.base.classes import CLASS_COLOURS, CLASSES
from reseed.figures.style import FAINT, INK, SMALL_PT, TEXT_PT

BAR: Final = "#4d8290"
_LONGEST_NAME: Final = 24
_BELOW: Final = (-0.19, 0.0, 0.19)


def place_rows(
    ax: Axes, names: Sequence[str], f1: Mapping[str, NDArray[np.float64]], overall: float, meaning: str
) -> None:
    """Draw one row per place: a dot for each class, the score over all as a dashed line; name the places at the left.

    Args:
        ax: Axes; bars may be in it already.
        names: N places, worst first: from top to bottom.
        f1: Class -> (N,) F1 in percent, NaN where the place does not have the class.
        overall: Macro F1 over all places, percent.
        meaning: What bars and dots are: the label of the axis.
    """
    y = np.arange(len(names))
    for name, below in zip(CLASSES, _BELOW, strict=True):
        has = ~np.isnan(f1[name])
        ax.scatter(
            f1[name][has],
            y[has] + below,
            s=38,
            color=CLASS_COLOURS[name],
            edgecolor="white",
            linewidth=1.0,
            zorder=4,
            clip_on=False,
            label=f"F1 of {name}",
        )
    ax.axvline(overall, color=INK, linewidth=1.0, linestyle=(0, (4, 2.5)), zorder=3)
    ax.set_xlim(0, 100)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(y, [short_name(name) for name in names], fontsize=TEXT_PT)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel(meaning)
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=3,
        frameon=False,
        fontsize=SMALL_PT,
        handletextpad=0.2,
        columnspacing=1.2,
        borderpad=0.1,
    )


def names_width_in(names: Sequence[str]) -> float:
    """Return how much room the names need at the left of the axes, inches."""
    return min(max(1.2, 0.092 * max(len(name) for name in names) + 0.35), 2.6)


def short_name(name: str) -> str:
    """Return a name of at most 24 characters."""
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
