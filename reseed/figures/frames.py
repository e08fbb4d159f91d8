"""Whole test frames with what the reference and the network say of their patches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from reseed.artifacts.patches import TEST
from reseed.base.classes import CLASS_COLOURS
from reseed.figures.style import INK, MUTED, SMALL_PT, Sheet, plain_axes, styled
from reseed.score.evidence import Evidence, patch_losses

_WIDTH_IN, _MARGIN_IN, _GAP_IN, _TEXT_IN = 7.2, 0.25, 0.08, 0.36
_COLUMNS: Final = 2
_WRONG: Final = "#c0002f"
_PATCH_PX: Final = 48
MOST_FRAMES: Final = 12


@dataclass(frozen=True)
class ShownFrame:
    """One frame of the picture.

    Args:
        frame_id: Which.
        image: (H, W, 3) uint8, its patches side by side.
        patches: Its rows of `Evidence.patches` with row and col of the grid.
        decision: Of the run.
        gold: Reference decision, empty if there is none.
        loss: Mean negative logarithm of the probability of the reference class.
    """

    frame_id: str
    image: NDArray[np.uint8]
    patches: pd.DataFrame
    decision: str
    gold: str
    loss: float


def pick_by_loss(patches: pd.DataFrame, number: int) -> pd.DataFrame:
    """Return the test frames of highest loss, and as many around the median.

    Args:
        patches: Labelled test patches with probabilities.
        number: Of each kind, at most.

    Returns:
        Columns frame_id, loss and kind (`worst` or `typical`), worst first.
    """
    losses = (
        pd.Series(patch_losses(patches))
        .groupby(patches["frame_id"].to_numpy())
        .mean()
        .rename("loss")
        .rename_axis("frame_id")
    )
    ordered = losses.reset_index().sort_values(["loss", "frame_id"], ascending=[False, True], kind="stable")
    worst = ordered.head(min(number, (len(ordered) + 1) // 2))
    rest = ordered.iloc[len(worst) :]
    start = max(0, (len(rest) - number) // 2)
    typical = rest.iloc[start : start + number]
    return pd.concat([worst.assign(kind="worst"), typical.assign(kind="typical")], ignore_index=True)


def shown_frames(evidence: Evidence, index: pd.DataFrame, packed: NDArray[np.uint8]) -> dict[str, list[ShownFrame]]:
    """Return the frames to draw, by kind; of patches around points there is no whole frame, so none.

    Args:
        evidence: The predictions.
        index: Table PATCH_INDEX, in the order of `packed`.
        packed: (N, S, S, 3) uint8.
    """
    labelled = evidence.labelled_patches(TEST)
    places = index.assign(place=np.arange(len(index)))[["patch_id", "row", "col", "place"]]
    decided = evidence.frames.set_index("frame_id")
    found: dict[str, list[ShownFrame]] = {"worst": [], "typical": []}
    for picked in pick_by_loss(labelled, MOST_FRAMES).to_dict("records"):
        mine = evidence.patches[evidence.patches["frame_id"] == picked["frame_id"]].merge(places, on="patch_id")
        mine = mine.sort_values(["row", "col"], kind="stable")
        if mine["row"].min() < 0:
            continue
        frame = decided.loc[picked["frame_id"]]
        shown = np.asarray(packed[mine["place"].to_numpy()])
        image = _side_by_side(shown, mine["row"].to_numpy(), mine["col"].to_numpy())
        decision, gold, loss = str(frame["decision"]), str(frame["gold"]), float(picked["loss"])
        found[picked["kind"]].append(ShownFrame(str(picked["frame_id"]), image, mine, decision, gold, loss))
    return found


def _side_by_side(images: NDArray[np.uint8], rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Lay patches on the grid of their frame; a cell without a patch stays white."""
    step = max(1, images.shape[1] // _PATCH_PX)
    edge = images.shape[1] // step
    blocks = images[:, : edge * step, : edge * step].reshape(-1, edge, step, edge, step, 3)
    whole = np.full((int(rows.max()) + 1, int(cols.max()) + 1, edge, edge, 3), 255, dtype=np.uint8)
    whole[rows, cols] = blocks.mean(axis=(2, 4)).astype(np.uint8)
    height, width = whole.shape[0] * edge, whole.shape[1] * edge
    return np.asarray(whole.swapaxes(1, 2).reshape(height, width, 3))


@styled
def frames_figure(shown: Mapping[str, list[ShownFrame]], *, synthetic: bool) -> Figure:
    """Draw frames twice each, with the reference and with the predicted classes; wrong patches are crossed.

    Args:
        shown: Frames by kind, `worst` and `typical`.
        synthetic: Whether they are rendered.
    """
    cell_in = (_WIDTH_IN - 2 * _MARGIN_IN - 3 * _GAP_IN) / (2 * _COLUMNS)
    rows = {kind: -(-len(frames) // _COLUMNS) for kind, frames in shown.items() if frames}
    ratio = max((f.image.shape[0] / f.image.shape[1] for frames in shown.values() for f in frames), default=0.5)
    row_in, head_in = cell_in * ratio + _TEXT_IN, 0.32
    body_in = sum(n * row_in + head_in for n in rows.values()) + 0.1
    first = next((frames[0] for frames in shown.values() if frames), None)
    name = "" if first is None else first.frame_id.split("/")[-1]
    title = "No labelled test frame" if first is None else f"Highest loss, {first.loss:.2f}, in {name}"
    colours = ", ".join(f"{name} {word}" for name, word in zip(CLASS_COLOURS, ("grey", "orange", "blue"), strict=True))
    subtitle = f"Left reference, right predicted; wrong patches crossed, wrong decisions red. {colours}."
    sheet = Sheet(_WIDTH_IN, body_in, title, subtitle, synthetic=synthetic)
    top = body_in - 0.05
    for kind, n_rows in rows.items():
        heading = f"{kind.capitalize()} test frames by loss"
        sheet.text(_MARGIN_IN, top - 0.2, heading, fontsize=SMALL_PT, fontweight="bold")
        top -= head_in
        for number, frame in enumerate(shown[kind]):
            left = _MARGIN_IN + (number % _COLUMNS) * 2 * (cell_in + _GAP_IN)
            bottom = top - (number // _COLUMNS + 1) * row_in + _TEXT_IN
            height = cell_in * frame.image.shape[0] / frame.image.shape[1]
            for side, column in enumerate(("gold", "predicted")):
                _draw(sheet.axes(left + side * (cell_in + _GAP_IN), bottom, cell_in, height), frame, column)
            wrong = bool(frame.gold) and frame.gold != frame.decision
            reference = f"reference {frame.gold}" if frame.gold else "no reference"
            text = f"{frame.decision}, {reference}; loss {frame.loss:.2f}"
            sheet.text(left, bottom - 0.15, text, color=_WRONG if wrong else INK, fontsize=SMALL_PT)
            sheet.text(left, bottom - 0.29, frame.frame_id.split("/")[-1][-46:], fontsize=SMALL_PT, color=MUTED)
        top -= n_rows * row_in
    return sheet.figure


def _draw(ax: Axes, frame: ShownFrame, column: str) -> None:
    plain_axes(ax)
    ax.imshow(frame.image, interpolation="antialiased", aspect="auto")
    rows, cols = (int(frame.patches[name].max()) + 1 for name in ("row", "col"))
    height, width = frame.image.shape[0] / rows, frame.image.shape[1] / cols
    for row in frame.patches.to_dict("records"):
        name, gold = str(row[column]), str(row["gold"])
        if name not in CLASS_COLOURS:
            continue
        x, y = (row["col"] + 0.06) * width, (row["row"] + 0.06) * height
        colour = CLASS_COLOURS[name]
        ax.add_patch(Rectangle((x, y), 0.88 * width, 0.88 * height, fill=False, edgecolor=colour, linewidth=1.3))
        if column == "predicted" and gold in CLASS_COLOURS and gold != name:
            xs, ys = [x + 0.25 * width, x + 0.63 * width], [y + 0.25 * height, y + 0.63 * height]
            for ends, thick, ink in ((ys, 2.2, "black"), (ys, 1.0, "white")):
                ax.plot(xs, ends, color=ink, linewidth=thick)
                ax.plot(xs, ends[::-1], color=ink, linewidth=thick)
    ax.set_xlim(0, frame.image.shape[1])
    ax.set_ylim(frame.image.shape[0], 0)
