"""Every group held out in turn: where would the network fail that a single test split may have missed?"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reseed.classes import CLASS_COLOURS, CLASSES
from reseed.evaluate.percent import class_key
from reseed.figures.style import FAINT, INK, MUTED, SMALL_PT, TEXT_PT, Sheet, counted, score, styled, together

_WIDTH_IN, _ROW_IN = 7.2, 0.55
_BAR, _BAND = "#4d8290", "#e7e2d3"


@styled
def crossval_figure(
    table: pd.DataFrame, overall: float, interval: tuple[float, float] | None, group_by: str, *, synthetic: bool
) -> Figure:
    """Draw a bar of patch macro F1 for each held-out group, worst at the top, with the F1 of each class as dots.

    Args:
        table: Columns of `reseed.evaluate.held_out.HELD_OUT`; groups without labelled patches are not drawn.
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
    left_in = min(max(1.2, 0.092 * max(len(str(group)) for group in rows["group"]) + 0.35), 2.6)
    ax = sheet.axes(left_in, 0.6, _WIDTH_IN - left_in - 1.3, plot_in)
    y = np.arange(len(rows))
    if interval is not None:
        ax.axvspan(*interval, color=_BAND, zorder=1, linewidth=0)
    ax.barh(y, rows["patch_macro_f1"], height=0.6, color=_BAR, zorder=2)
    for name, below in zip(CLASSES, (-0.18, 0.0, 0.18), strict=True):
        has = (rows[f"{class_key(name)}_support"] > 0).to_numpy()
        ax.scatter(
            rows.loc[has, f"patch_{class_key(name)}_f1"],
            y[has] + below,
            s=34,
            color=CLASS_COLOURS[name],
            edgecolor="white",
            linewidth=1.0,
            zorder=4,
            clip_on=False,
            label=f"F1 of {name}",
        )
    ax.axvline(overall, color=INK, linewidth=1.0, linestyle=(0, (4, 2.5)), zorder=3)
    ax.set_xlim(0, 100)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_yticks(y, [_short(str(group)) for group in rows["group"]], fontsize=TEXT_PT)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel("Patch macro F1 of the held-out group (bar) and F1 of each class (dots), %")
    for at, (value, n) in enumerate(zip(rows["patch_macro_f1"], rows["n_patches"], strict=True)):
        ax.text(
            103, at, f"{score(float(value))}\n{counted(int(n), 'patch')}", va="center", fontsize=SMALL_PT, color=MUTED
        )
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
    return together(f"{score(float(row['patch_macro_f1']))} ({_short(str(row['group']))})")


def _short(group: str) -> str:
    return group if len(group) <= 24 else group[:23] + "…"
