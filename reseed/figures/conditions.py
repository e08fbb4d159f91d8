"""Patch macro F1 by depth, altitude, contrast and colour of the water: where does it fail?"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reseed.base.classes import CLASSES
from reseed.figures.style import FAINT, INK, MUTED, TEXT_PT, Sheet, score, styled, whiskers
from reseed.score.bootstrap import Interval
from reseed.score.groups import CONDITIONS, QUARTILES, UNKNOWN
from reseed.score.percent import class_key

_WIDTH_IN, _PANEL_IN = 7.2, 1.75
_LINE = "#4d8290"
_LONGEST_RANGE, _MOST_DECIMALS = 8, 4
FEW_FRAMES = 5  # a quarter of fewer is in no headline
CONTRAST = "contrast"  # drawn in percent of full scale


@styled
def conditions_figure(table: pd.DataFrame, overall: float, *, synthetic: bool) -> Figure:
    """Draw patch macro F1 in the quartiles of each condition, one panel each.

    Args:
        table: Columns of `reseed.score.groups.BY_CONDITION`.
        overall: Patch macro F1 over all test patches, percent.
        synthetic: Whether the data is synthetic.
    """
    scored = table[table["n_patches"] > 0]
    sheet = Sheet(_WIDTH_IN, 2 * _PANEL_IN + 2.1, *_words(scored, overall), synthetic=synthetic)
    width = (_WIDTH_IN - 0.75 - 0.6 - 0.3) / 2
    for number, (condition, name) in enumerate(CONDITIONS.items()):
        row, column = divmod(number, 2)
        bottom = 0.7 + (1 - row) * (_PANEL_IN + 0.95)
        ax = sheet.axes(0.75 + column * (width + 0.6), bottom, width, _PANEL_IN)
        _panel(ax, scored[scored["condition"] == condition], overall)
        ax.set_title(name[0].upper() + name[1:], loc="left", fontsize=TEXT_PT, fontweight="bold", color=INK)
        if column == 0:
            ax.set_ylabel("Macro F1 (%)")
    return sheet.figure


def _panel(ax: Axes, rows: pd.DataFrame, overall: float) -> None:
    known = rows[rows["quartile"] != UNKNOWN]
    ax.set_xlim(0.4, QUARTILES + 0.6)
    ax.set_ylim(0, 100)
    ax.set_yticks(range(0, 101, 25))
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    if known.empty:
        ax.set_xticks([])
        ax.text(0.5, 0.5, "not known for these frames", transform=ax.transAxes, ha="center", color=MUTED)
        return
    ax.axhline(overall, color=INK, linewidth=1.0, linestyle=(0, (4, 2.5)), zorder=1)
    x, y = known["quartile"].to_numpy(dtype=np.float64), known["macro_f1"].to_numpy(dtype=np.float64)
    ax.plot(x, y, "o-", color=_LINE, linewidth=1.8, markersize=7, markeredgecolor="white", zorder=4, clip_on=False)
    records = known.to_dict("records")
    for row in records:
        low, high = float(row["macro_f1_low"]), float(row["macro_f1_high"])
        reason = "unknown" if np.isnan(low) else ""
        whiskers(ax, float(row["quartile"]), Interval(low / 100, high / 100, 0, reason), horizontal=False)
    ranges = _ranges(records)
    # In two lines where one would run into its neighbour's.
    between = "\n\u2013" if max(map(len, ranges)) > _LONGEST_RANGE else "\u2013"
    texts = [text.replace("\u2013", between) for text in ranges]
    ax.set_xticks(x, [f"{text}\n({int(row['n_patches']):,})" for text, row in zip(texts, records, strict=True)])


def _ranges(rows: Sequence[Mapping[Hashable, Any]]) -> list[str]:
    """Return lowest and highest value of each quarter, with as many decimals as tell the quarters apart."""
    for decimals in range(1, _MOST_DECIMALS + 1):
        texts = [_range(row, decimals) for row in rows]
        if len(set(texts)) == len(texts):
            break
    return texts


def _range(row: Mapping[Hashable, Any], decimals: int = 1) -> str:
    low, high = float(row["from"]), float(row["to"])
    scale = 100 if row["condition"] == CONTRAST else 1
    texts = [f"{scale * value:.{decimals}f}" for value in (low, high)]
    return texts[0] if texts[0] == texts[1] else "\u2013".join(texts)


def _words(scored: pd.DataFrame, overall: float) -> tuple[str, str]:
    known = scored[scored["quartile"] != UNKNOWN]
    text = f"Patch macro F1 in quarters of the test frames (labelled patches); dashed: {score(overall)} over all."
    text += " Whiskers: 95 % intervals." if known["macro_f1_low"].notna().any() else " Too few groups for intervals."
    text += " An absent class counts 0; sites differ in more than one condition."
    if known.empty:
        return "Nothing is known of the conditions of the test frames", text
    # A quarter of a few frames is weak by chance, and one without a class by the rule that an absent class counts 0.
    supports = known[[f"{class_key(name)}_support" for name in CLASSES]]
    sound = known[(known["frames"] >= FEW_FRAMES) & (supports > 0).all(axis=1)]
    if sound.empty:
        return f"No quarter has {FEW_FRAMES} frames and patches of every class: none can be called the weakest", text
    worst = min(sound.to_dict("records"), key=lambda row: float(row["macro_f1"]))
    name = CONDITIONS[str(worst["condition"])]
    place = known[known["condition"] == worst["condition"]]
    told = dict(zip(place["quartile"], _ranges(place.to_dict("records")), strict=True))[worst["quartile"]]
    title = f"Weakest, at {score(float(worst['macro_f1']))}, where {name.split(' (')[0]} is {told}"
    unit = name.split(" (")[1].rstrip(")") if "(" in name else ""
    return f"{title} {unit}".rstrip(), text
