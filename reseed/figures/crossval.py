"""Every group held out in turn: where would the network fail that a single test split may have missed?"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reseed.base.classes import CLASSES
from reseed.figures.by_site import BAR, names_width_in, place_rows, short_name
from reseed.figures.style import MUTED, SMALL_PT, Sheet, counted, score, styled, together
from reseed.score.percent import class_key

_WIDTH_IN, _ROW_IN = 7.2, 0.55
_BAND = "#e7e2d3"


@styled
def crossval_figure(
    table: pd.DataFrame, overall: float, interval: tuple[float, float] | None, group_by: str, *, synthetic: bool
) -> Figure:
    """Draw a bar of patch macro F1 for each held-out group, worst at the top, with the F1 of each class as dots.

    Args:
        table: Columns of `reseed.compare.crossval.HELD_OUT`; groups without labelled patches are not drawn.
        overall: Patch macro F1 over all held-out patches, percent.
        interval: Its 95 % interval, percent; None if there is none.
        group_by: What was held out: `site` or `sequence`.
        synthetic: Whether the data is synthetic.
    """
    scored = table[table["n_patches"] > 0]
    rows = scored.sort_values(["patch_macro_f1", "group"], kind="stable").reset_index(drop=True)
    plot_in = max(_ROW_IN * len(rows), 1.0)
    sheet = Sheet(
        _WIDTH_IN, plot_in + 1.0, _title(rows, group_by), _subtitle(overall, interval, group_by), synthetic=synthetic
    )
    names = [str(group) for group in rows["group"]]
    left_in = names_width_in(names)
    ax = sheet.axes(left_in, 0.6, _WIDTH_IN - left_in - 1.3, plot_in)
    if interval is not None:
        ax.axvspan(*interval, color=_BAND, zorder=1, linewidth=0)
    ax.barh(np.arange(len(rows)), rows["patch_macro_f1"], height=0.6, color=BAR, zorder=2)
    f1 = {
        name: rows[f"patch_{class_key(name)}_f1"]
        .where(rows[f"{class_key(name)}_support"] > 0)
        .to_numpy(dtype=np.float64)
        for name in CLASSES
    }
    meaning = "Patch macro F1 of the held-out group (bar) and F1 of each class (dots), %"
    place_rows(ax, names, f1, overall, meaning)
    for at, (value, n) in enumerate(zip(rows["patch_macro_f1"], rows["n_patches"], strict=True)):
        ax.text(
            103, at, f"{score(float(value))}\n{counted(int(n), 'patch')}", va="center", fontsize=SMALL_PT, color=MUTED
        )
    return sheet.figure


def _title(rows: pd.DataFrame, group_by: str) -> str:
    worst, best = rows.iloc[0], rows.iloc[-1]
    return f"On a {group_by} it never saw, patch macro F1 ranges from {_place(worst)} to {_place(best)}"


def _subtitle(overall: float, interval: tuple[float, float] | None, group_by: str) -> str:
    band = (
        f" (95 % interval {interval[0]:.1f} to {interval[1]:.1f}, shaded)"
        if interval is not None
        else f" (no interval: too few {group_by}s)"
    )
    return (
        f"Each {group_by} predicted by a network trained on the others. Dashed: {score(overall)} over all{band}. "
        f"A class a {group_by} does not have counts 0."
    )


def _place(row: pd.Series) -> str:
    return together(f"{score(float(row['patch_macro_f1']))} ({short_name(str(row['group']))})")
