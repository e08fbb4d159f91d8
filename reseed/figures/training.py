"""Training curves: did it learn, did it overfit, and which epoch was kept."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from reseed.base.errors import TableError
from reseed.figures.style import FAINT, INK, MUTED, TEXT_PT, Sheet, score, styled

NEEDED = ("epoch", "train_loss", "val_loss", "val_macro_f1")

_WIDTH_IN, _PLOT_IN = 7.2, 2.7
_TRAIN, _VAL = "#8250a8", "#1a7f5a"


@styled
def training_figure(curve: pd.DataFrame, *, synthetic: bool) -> Figure:
    """Draw the loss of both splits and the validation macro F1 over the epochs, and mark the epoch that was kept.

    Args:
        curve: One row per epoch: epoch, train_loss, val_loss, val_macro_f1 (percent); none if the network was taken
            over.
        synthetic: Whether the data is synthetic.

    Raises:
        TableError: If a column is missing.
    """
    missing = [name for name in NEEDED if name not in curve.columns]
    if missing:
        raise TableError(f"models/training.csv: no column {missing[0]}; run `dvc repro train`")
    if curve.empty:
        return _nothing_trained(synthetic=synthetic)
    epochs, macro = curve["epoch"].to_numpy(), curve["val_macro_f1"].to_numpy(dtype=np.float64)
    kept = int(np.argmax(macro))
    title = f"Validation macro F1 peaks at {score(macro[kept])} in epoch {int(epochs[kept])} of {int(epochs[-1])}"
    subtitle = "Dashed: the epoch whose weights are kept. Validation picks it; test frames play no part."
    sheet = Sheet(_WIDTH_IN, _PLOT_IN + 0.85, title, subtitle, synthetic=synthetic)
    width = (_WIDTH_IN - 2.5) / 2
    loss, f1 = sheet.axes(0.7, 0.6, width, _PLOT_IN - 0.1), sheet.axes(2.25 + width, 0.6, width, _PLOT_IN - 0.1)
    marker = "o" if len(epochs) == 1 else ""  # a line of one point is invisible
    loss.plot(epochs, curve["train_loss"], color=_TRAIN, linewidth=2, marker=marker)
    loss.plot(epochs, curve["val_loss"], color=_VAL, linewidth=2, marker=marker)
    loss.set_ylim(0, 1.08 * float(curve[["train_loss", "val_loss"]].to_numpy().max()))
    _name_ends(loss, epochs, [("train", curve["train_loss"], _TRAIN), ("validation", curve["val_loss"], _VAL)])
    f1.plot(epochs, macro, color=_VAL, linewidth=2)
    f1.plot(epochs[kept], macro[kept], "o", color=_VAL, markersize=8, markeredgecolor="white")
    f1.set_ylim(0, 100)
    for ax, name in ((loss, "Loss"), (f1, "Validation macro F1 (%)")):
        _dress(ax, name, epochs, float(epochs[kept]))
    return sheet.figure


def _nothing_trained(*, synthetic: bool) -> Figure:
    title = "Nothing was trained here: the network was taken over from a checkpoint"
    subtitle = "models/model.json names its file and digest. Validation patches only scored it."
    return Sheet(_WIDTH_IN, 0.0, title, subtitle, synthetic=synthetic).figure


def _dress(ax: Axes, name: str, epochs: np.ndarray, kept: float) -> None:
    ax.set_title(name, loc="left", fontsize=TEXT_PT, fontweight="bold", color=INK)
    ax.set_xlabel("Epoch")
    ax.axvline(kept, color=MUTED, linewidth=1.0, linestyle=(0, (4, 2.5)), zorder=1)
    if len(epochs) == 1:
        ax.set_xticks(epochs)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    pad = 0.5 if len(epochs) == 1 else 0.02 * float(epochs[-1] - epochs[0])
    ax.set_xlim(float(epochs[0]) - pad, float(epochs[-1]) + pad)
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)


def _name_ends(ax: Axes, epochs: np.ndarray, lines: list[tuple[str, pd.Series, str]]) -> None:
    ends = [float(values.iloc[-1]) for _, values, _ in lines]
    gap = 0.07 * ax.get_ylim()[1]
    apart = (gap - abs(ends[0] - ends[1])) / 2 if abs(ends[0] - ends[1]) < gap else 0.0
    for index, (name, _, colour) in enumerate(lines):
        higher = ends[index] > ends[1 - index] or (ends[index] == ends[1 - index] and index == 1)
        ax.annotate(
            name,
            (float(epochs[-1]), ends[index] + (apart if higher else -apart)),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=TEXT_PT,
            annotation_clip=False,
        )
