"""Macro F1 by site, by depth, altitude, contrast and colour of the water: a mean hides where it fails."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reseed.artifacts.patches import TEST
from reseed.base.classes import CLASS_COLOURS, CLASSES
from reseed.figures.style import FAINT, INK, MUTED, SMALL_PT, TEXT_PT, Sheet, counted, score, styled, together, whiskers
from reseed.score.bootstrap import Interval
from reseed.score.plots import CONDITIONS, QUARTILES, UNKNOWN
from reseed.score.registry import class_key

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


# Below this many labelled patches one patch moves the macro F1 by several points.
FEW_PATCHES = 50

_WIDTH_IN, _ROW_IN = 7.2, 0.62
_NARROW = 12.0  # percent; a narrower bar cannot hold its number
_BAR_FEW = "#c3d3d7"


@styled
def site_figure(table: pd.DataFrame, overall: float, *, synthetic: bool) -> Figure:
    """Draw a bar of patch macro F1 for every test site, worst at the top, with the F1 of each class as dots.

    Args:
        table: Columns of `reseed.score.plots.BY_SITE`; only test rows are drawn.
        overall: Patch macro F1 over all test patches, percent.
        synthetic: Whether the data is synthetic.
    """
    scored = table[(table["split"] == TEST) & (table["n_patches"] > 0)]
    rows = scored.sort_values(["macro_f1", "site"], kind="stable").reset_index(drop=True)
    plot_in = max(_ROW_IN * len(rows), 1.0)
    sheet = Sheet(_WIDTH_IN, plot_in + 1.0, _title(rows), _subtitle(rows, overall), synthetic=synthetic)
    names = [str(site) for site in rows["site"]]
    left_in = names_width_in(names)
    ax = sheet.axes(left_in, 0.6, _WIDTH_IN - left_in - 1.65, plot_in)
    few = (rows["n_patches"] < FEW_PATCHES).to_numpy()
    ax.barh(
        np.arange(len(rows)), rows["macro_f1"], height=0.62, color=[_BAR_FEW if flag else BAR for flag in few], zorder=2
    )
    for place, (low, high) in enumerate(rows[["macro_f1_low", "macro_f1_high"]].to_numpy(dtype=np.float64)):
        whiskers(ax, place, Interval(low / 100, high / 100, 0, "none" if np.isnan(low) else ""), horizontal=True)
    f1 = {
        name: rows[f"{class_key(name)}_f1"].where(rows[f"{class_key(name)}_support"] > 0).to_numpy(dtype=np.float64)
        for name in CLASSES
    }
    place_rows(ax, names, f1, overall, "Patch macro F1 (bar) and F1 of each class (dots), %")
    for index, row in rows.iterrows():
        at = float(str(index))
        ax.text(
            1.5,
            at,
            f"{row['macro_f1']:.1f}",
            ha="left",
            va="center",
            fontsize=TEXT_PT,
            fontweight="bold",
            color=INK if few[int(at)] or row["macro_f1"] < _NARROW else "white",
            zorder=5,
        )
        ax.text(103, at, _note(row), ha="left", va="center", fontsize=SMALL_PT, color=MUTED, linespacing=1.25)
    return sheet.figure


def _title(rows: pd.DataFrame) -> str:
    if len(rows) == 1:
        return f"One test site only, macro F1 {score(rows['macro_f1'].iloc[0])}: nothing is known of others"
    worst, best = rows.iloc[0], rows.iloc[-1]
    return f"Patch macro F1 ranges from {_place(worst)} to {_place(best)}"


def _subtitle(rows: pd.DataFrame, overall: float) -> str:
    text = f"{counted(len(rows), 'test site')}; dashed: {score(overall)} over all test patches. "
    text += "A class a site does not have counts 0."
    if (rows["n_patches"] < FEW_PATCHES).any():
        text += f" Pale: fewer than {FEW_PATCHES} labelled patches, hardly a score."
    if rows["macro_f1_low"].notna().any():
        text += " Whiskers: 95 % intervals."
    return text


def _note(row: pd.Series) -> str:
    missing = [name for name in CLASSES if row[f"{class_key(name)}_support"] == 0]
    second = f"no {', '.join(missing)}" if missing else counted(int(row["n_frames"]), "frame")
    return f"{counted(int(row['n_patches']), 'patch')}\n{second}"


def _place(row: pd.Series) -> str:
    return together(f"{score(row['macro_f1'])} ({short_name(str(row['site']))})")


_HELD_OUT_ROW_IN: Final = 0.55
_BAND: Final = "#e7e2d3"


@styled
def crossval_figure(
    table: pd.DataFrame,
    overall: float,
    interval: tuple[float, float] | None,
    group_by: str,
    *,
    trainings: str = "",
    synthetic: bool,
) -> Figure:
    """Draw a bar of patch macro F1 for each held-out group, worst at the top, with the F1 of each class as dots.

    Args:
        table: Columns of `reseed.compare.crossval.HELD_OUT`; groups without labelled patches are not drawn.
        overall: Patch macro F1 over all held-out patches, percent.
        interval: Its 95 % interval, percent; None if there is none.
        group_by: What was held out: `site` or `sequence`.
        trainings: Mean and standard deviation over trainings of the overall score; empty with a single training.
        synthetic: Whether the data is synthetic.
    """
    scored = table[table["n_patches"] > 0]
    rows = scored.sort_values(["patch_macro_f1", "group"], kind="stable").reset_index(drop=True)
    plot_in = max(_HELD_OUT_ROW_IN * len(rows), 1.0)
    sheet = Sheet(
        _WIDTH_IN,
        plot_in + 1.0,
        _held_out_title(rows, group_by),
        _held_out_subtitle(overall, interval, group_by, trainings),
        synthetic=synthetic,
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


def _held_out_title(rows: pd.DataFrame, group_by: str) -> str:
    worst, best = rows.iloc[0], rows.iloc[-1]
    return (
        f"On a {group_by} it never saw, patch macro F1 ranges from {_held_out_place(worst)} to {_held_out_place(best)}"
    )


def _held_out_subtitle(overall: float, interval: tuple[float, float] | None, group_by: str, trainings: str) -> str:
    band = (
        f" (95 % interval {interval[0]:.1f} to {interval[1]:.1f}, shaded)"
        if interval is not None
        else f" (no interval: too few {group_by}s)"
    )
    return (
        f"Each {group_by} predicted by a network trained on the others. Dashed: {score(overall)} over all{band}. "
        f"A class a {group_by} does not have counts 0.{f' Over trainings: {trainings}.' if trainings else ''}"
    )


def _held_out_place(row: pd.Series) -> str:
    return together(f"{score(float(row['patch_macro_f1']))} ({short_name(str(row['group']))})")


_CONDITIONS_WIDTH_IN, _PANEL_IN = 7.2, 1.75
_LINE = "#4d8290"
_LONGEST_RANGE, _MOST_DECIMALS = 8, 4
FEW_FRAMES = 5  # a quarter of fewer is in no headline
CONTRAST = "contrast"  # drawn in percent of full scale


@styled
def conditions_figure(table: pd.DataFrame, overall: float, *, synthetic: bool) -> Figure:
    """Draw patch macro F1 in the quartiles of each condition, one panel each.

    Args:
        table: Columns of `reseed.score.plots.BY_CONDITION`.
        overall: Patch macro F1 over all test patches, percent.
        synthetic: Whether the data is synthetic.
    """
    scored = table[table["n_patches"] > 0]
    sheet = Sheet(_CONDITIONS_WIDTH_IN, 2 * _PANEL_IN + 2.1, *_words(scored, overall), synthetic=synthetic)
    width = (_CONDITIONS_WIDTH_IN - 0.75 - 0.6 - 0.3) / 2
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
