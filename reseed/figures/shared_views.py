"""Pairs of frames that show the same seafloor, with what they have in common laid over each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from reseed.figures.style import INK, MUTED, SMALL_PT, TEXT_PT, Sheet, plain_axes, styled

# Colour-blind safe, and none of the three classes' colours.
_FIRST, _SECOND = "#e6550d", "#0b7285"
_COLUMNS: Final = 3
_WIDTH_IN: Final = 9.6
_MARGIN_IN, _GAP_IN, _CAPTION_IN, _ROW_GAP_IN = 0.25, 0.14, 0.42, 0.2
_EMPTY: Final = "#eef1f4"
_WHITE_PERCENTILE: Final = 99.5
_TILES: Final = 6  # along the shorter edge of what two views have in common


@dataclass(frozen=True)
class PairOfViews:
    """Two frames and how the second lies in the first.

    Args:
        first: (H, W, 3) uint8 RGB.
        second: (H2, W2, 3) uint8 RGB, at the same scale.
        down_px: Shift of the second in the first, positive downwards.
        right_px: The same to the right.
        names: Of the two frames, short.
        splits: Of the two.
        finding: What they have in common, in a few words.
    """

    first: NDArray[np.uint8]
    second: NDArray[np.uint8]
    down_px: int
    right_px: int
    names: tuple[str, str]
    splits: tuple[str, str]
    finding: str


@styled
def shared_views_figure(pairs: Sequence[PairOfViews], title: str, subtitle: str, *, synthetic: bool) -> Figure:
    """Draw each pair in a row: both frames with what they have in common outlined, then that part from both in turn.

    Args:
        pairs: Worst first; none gives a sheet with the words alone.
        title: The finding.
        subtitle: What was looked at.
        synthetic: Whether any frame is synthetic.
    """
    edge_in = (_WIDTH_IN - 2 * _MARGIN_IN - (_COLUMNS - 1) * _GAP_IN) / _COLUMNS
    heights = [edge_in * max(p.first.shape[0] / p.first.shape[1], p.second.shape[0] / p.second.shape[1]) for p in pairs]
    body_in = sum(height + _CAPTION_IN + _ROW_GAP_IN for height in heights)
    sheet = Sheet(_WIDTH_IN, body_in, title, subtitle, synthetic=synthetic)
    top = body_in
    for pair, height in zip(pairs, heights, strict=True):
        boxes = common_boxes(pair.first.shape, pair.second.shape, pair.down_px, pair.right_px)
        lit = _brightened(pair.first, pair.second)
        notes = ((*pair.splits, pair.finding), (*pair.names, "both in turn, the second shifted to fit"))
        axes = [
            sheet.axes(_MARGIN_IN + i * (edge_in + _GAP_IN), top - height, edge_in, height) for i in range(_COLUMNS)
        ]
        for column, colour in enumerate((_FIRST, _SECOND)):
            _frame(axes[column], lit[column], boxes[column], colour)
        _in_turn(axes[2], lit, boxes)
        for column, colour in enumerate((_FIRST, _SECOND, INK)):
            left = _MARGIN_IN + column * (edge_in + _GAP_IN)
            how = {"va": "top", "ha": "left"}
            sheet.text(
                left, top - height - 0.07, notes[0][column], fontsize=TEXT_PT, color=colour, weight="bold", **how
            )
            sheet.text(left, top - height - 0.25, notes[1][column], fontsize=SMALL_PT, color=MUTED, **how)
        top -= height + _CAPTION_IN + _ROW_GAP_IN
    return sheet.figure


def common_boxes(
    first: tuple[int, ...], second: tuple[int, ...], down_px: int, right_px: int
) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
    """Return the part in common as (x0, y0, x1, y1) in each of two views.

    Args:
        first: Shape of the first, height before width.
        second: Shape of the second.
        down_px: Shift of the second in the first.
        right_px: The same to the right.
    """
    y0, x0 = max(0, down_px), max(0, right_px)
    y1, x1 = min(first[0], second[0] + down_px), min(first[1], second[1] + right_px)
    y1, x1 = max(y0, y1), max(x0, x1)
    return (x0, y0, x1, y1), (x0 - right_px, y0 - down_px, x1 - right_px, y1 - down_px)


def mosaic(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], int]:
    """Return two views of one place as a chequerboard, tiles of the first and the second in turn, and a tile's edge.

    Args:
        first: (H, W, 3) uint8.
        second: The same shape.
    """
    height, width = first.shape[:2]
    tile = max(1, round(min(height, width) / _TILES))
    rows, columns = np.arange(height)[:, None] // tile, np.arange(width)[None, :] // tile
    return np.where(((rows + columns) % 2 == 0)[:, :, None], first, second), tile


def _frame(ax: Axes, image: NDArray[np.uint8], box: tuple[int, int, int, int], colour: str) -> None:
    height, width = image.shape[:2]
    ax.imshow(image, interpolation="antialiased", extent=(0, width, height, 0))
    _bare(ax, width, height)
    x0, y0, x1, y1 = box
    ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, facecolor="none", edgecolor=colour, linewidth=2, clip_on=False))


def _in_turn(ax: Axes, images: Sequence[NDArray[np.uint8]], boxes: Sequence[tuple[int, int, int, int]]) -> None:
    """Draw what two views have in common where it lies in the first."""
    height, width = images[0].shape[:2]
    _bare(ax, width, height)
    ax.add_patch(Rectangle((0, 0), width, height, facecolor=_EMPTY, edgecolor="none", zorder=-1))
    parts = [image[y0:y1, x0:x1] for image, (x0, y0, x1, y1) in zip(images, boxes, strict=True)]
    if not parts[0].size:
        return
    picture, tile = mosaic(*parts)
    x0, y0, x1, y1 = boxes[0]
    ax.imshow(picture, interpolation="antialiased", extent=(x0, x1, y1, y0))
    white = (1.0, 1.0, 1.0, 0.6)
    ax.vlines(range(x0 + tile, x1, tile), y0, y1, colors=white, linewidth=0.4)
    ax.hlines(range(y0 + tile, y1, tile), x0, x1, colors=white, linewidth=0.4)
    _bare(ax, width, height)


def _bare(ax: Axes, width: int, height: int) -> None:
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    ax.set_aspect("equal")
    ax.set_anchor("NW")  # pictures of another shape still begin at one line
    plain_axes(ax)


def _brightened(*images: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """Return both pictures brightened alike, so that a page shows what a dark reef holds."""
    white = max(float(np.percentile(image, _WHITE_PERCENTILE)) for image in images)
    scale = max(1.0, 255 / max(white, 1.0))
    return [np.asarray(np.clip(image * scale, 0, 255), dtype=np.uint8) for image in images]
