"""Where a label lies on its frame: points, rectangles and outlines of any tool as rectangles of stored pixels."""

import math
from collections.abc import Sequence
from typing import Final

Box = tuple[int, int, int, int]
Size = tuple[int, int]

# An outline becomes at most so many flat rectangles, one below the other: its area is then off by about one part in a
# hundred, and a table stays readable.
_STRIPS: Final = 64
_CORNERS_OF_A_CIRCLE: Final = 64


def point_box(x: float, y: float, size_px: Size) -> Box | None:
    """Return the pixel that a point lies in, None outside the frame; the right and lower edge belong to the last pixel.

    >>> point_box(15.5, 12.0, (16, 12))
    (15, 11, 16, 12)
    """
    width, height = size_px
    if not (0 <= x <= width and 0 <= y <= height):
        return None
    column, row = min(int(x), width - 1), min(int(y), height - 1)
    return column, row, column + 1, row + 1


def clipped_box(x0: float, y0: float, x1: float, y1: float, size_px: Size) -> Box | None:
    """Return a rectangle in whole pixels, cut off at the edges of its frame.

    Returns:
        None if it is empty, or if more than half of it lies outside: its numbers are then of another picture.
    """
    width, height = size_px
    inside = max(0.0, min(x1, width) - max(x0, 0)) * max(0.0, min(y1, height) - max(y0, 0))
    if not (x0 < x1 and y0 < y1) or inside * 2 < (x1 - x0) * (y1 - y0):
        return None
    left, top = min(max(0, round(x0)), width - 1), min(max(0, round(y0)), height - 1)
    return left, top, max(left + 1, min(width, round(x1))), max(top + 1, min(height, round(y1)))


def outline_boxes(points: Sequence[float], size_px: Size) -> tuple[Box, ...]:
    """Return the inside of a polygon (even-odd rule) as flat rectangles, cut off at the edges of its frame.

    Args:
        points: x and y of each corner, one after the other; at least three corners.
        size_px: Width and height of the frame.

    Returns:
        None at all if more than half of its bounding box lies outside the frame.
    """
    xs, ys = points[::2], points[1::2]
    whole = clipped_box(min(xs), min(ys), max(xs), max(ys), size_px) if len(xs) >= 3 else None
    if whole is None:
        return ()
    _, top, _, bottom = whole
    step = math.ceil((bottom - top) / _STRIPS)
    boxes: list[Box] = []
    for y in range(top, bottom, step):
        y1 = min(y + step, bottom)
        crossings = _crossings(xs, ys, (y + y1) / 2)
        for x0, x1 in zip(crossings[::2], crossings[1::2], strict=True):
            left, right = max(0, round(x0)), min(size_px[0], round(x1))
            if left < right:
                boxes.append((left, y, right, y1))
    return tuple(boxes) or (whole,)


def circle_outline(x: float, y: float, radius: float) -> list[float]:
    """Return the corners of a polygon that stands for a circle."""
    turns = [2 * math.pi * corner / _CORNERS_OF_A_CIRCLE for corner in range(_CORNERS_OF_A_CIRCLE)]
    return [part for turn in turns for part in (x + radius * math.cos(turn), y + radius * math.sin(turn))]


def ellipse_outline(points: Sequence[float]) -> list[float]:
    """Return the corners of a polygon that stands for an ellipse, given by the ends of its two axes."""
    ax, ay, bx, by, cx, cy, dx, dy = points
    x, y = (ax + bx) / 2, (ay + by) / 2
    turns = [2 * math.pi * corner / _CORNERS_OF_A_CIRCLE for corner in range(_CORNERS_OF_A_CIRCLE)]
    return [
        part
        for turn in turns
        for part in (
            x + (bx - ax) / 2 * math.cos(turn) + (dx - cx) / 2 * math.sin(turn),
            y + (by - ay) / 2 * math.cos(turn) + (dy - cy) / 2 * math.sin(turn),
        )
    ]


def turned_outline(x0: float, y0: float, width: float, height: float, rotation_deg: float) -> list[float]:
    """Return the corners of a rectangle that is turned clockwise about its upper left corner."""
    cos, sin = math.cos(math.radians(rotation_deg)), math.sin(math.radians(rotation_deg))
    corners = ((0.0, 0.0), (width, 0.0), (width, height), (0.0, height))
    return [part for x, y in corners for part in (x0 + x * cos - y * sin, y0 + x * sin + y * cos)]


def _crossings(xs: Sequence[float], ys: Sequence[float], level: float) -> list[float]:
    found = []
    for at, (x1, y1) in enumerate(zip(xs, ys, strict=True)):
        x0, y0 = xs[at - 1], ys[at - 1]
        if (y0 <= level) != (y1 <= level):
            found.append(x0 + (level - y0) * (x1 - x0) / (y1 - y0))
    return sorted(found)
