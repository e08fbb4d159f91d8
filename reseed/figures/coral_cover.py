"""Coral cover of each test frame, predicted against annotated."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reseed.base.classes import CLASS_COLOURS, CORAL
from reseed.figures.style import FAINT, MUTED, SMALL_PT, Sheet, counted, styled
from reseed.score.coral_cover import cover_errors

_WIDTH_IN, _PLOT_IN = 5.6, 3.9
_CLEAR = 1.0  # percentage points; a smaller bias is called none


@styled
def coral_figure(table: pd.DataFrame, *, synthetic: bool) -> Figure:
    """Draw a dot for each test frame.

    Args:
        table: Columns of `reseed.score.coral_cover.CORAL_COVER`, percent.
        synthetic: Whether the data is synthetic.
    """
    sheet = Sheet(_WIDTH_IN, _PLOT_IN + 0.8, *_words(table), synthetic=synthetic)
    ax = sheet.axes(0.85, 0.6, _PLOT_IN, _PLOT_IN)
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


def _words(table: pd.DataFrame) -> tuple[str, str]:
    errors = cover_errors(table)
    bias = 100 * errors.bias
    if abs(bias) < _CLEAR:
        title = "Coral cover is right on average"
    else:
        title = f"Coral cover comes out {abs(bias):.1f} points too {'high' if bias > 0 else 'low'}"
    title += f", {100 * errors.mae:.1f} points off per frame"
    r2 = "R2 undefined" if np.isnan(errors.r2) else f"R2 {errors.r2:.2f}"
    return title, (
        f"{counted(errors.n, 'test frame')}; cover is a share of the labelled patches. "
        f"RMSE {100 * errors.rmse:.1f} points, {r2}."
    )
