"""Where each row of an export says that its label lies: points, rectangles and outlines as rectangles of pixels."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reseed.artifacts.catalog import POINT, RECT
from reseed.base.csv import Row, TextTable, whole_number
from reseed.base.errors import TableError
from reseed.base.numerals import NumberError, parse_number
from reseed.survey.label_tables import RECT_COLUMNS, whole_rectangle
from reseed.survey.labels import LabelMap
from reseed.survey.layouts.export_tools import Declaration
from reseed.survey.machine import Witness

Box = tuple[int, int, int, int]
Size = tuple[int, int]

# An outline becomes at most so many flat rectangles, one below the other: its area is then off by about one part in a
# hundred, and a table stays readable.
_STRIPS: Final = 64
_CORNERS_OF_A_CIRCLE: Final = 64
PLACES: Final = ("x", "y", "x0", "y0", "x1", "y1", "width", "height", "rotation")
_WITHOUT_AREA: Final = ("linestring", "line", "wholeframe", "polyline")
_LEAST_NUMBERS: Final = {"point": 2, "circle": 3, "ellipse": 8}


@dataclass(frozen=True)
class Sheet:
    """One table of an export, with what is needed to read its rows.

    Args:
        path: POSIX path below the source.
        table: The table.
        declared: The tool.
        columns: By our word, the columns that hold it.
        witness: Which columns tell whose label a row is.
        map: The label map that counts there.
        mark: Decimal mark of its numbers, None if no cell tells.
    """

    path: str
    table: TextTable
    declared: Declaration
    columns: dict[str, tuple[str, ...]]
    witness: Witness
    map: LabelMap
    mark: str | None

    def text(self, row: Row, word: str) -> str:
        """Return what a row has under one of our words, empty if nothing."""
        return " ".join(filter(None, (row.cells.get(column, "") for column in self.columns.get(word, ()))))


def label_boxes(sheet: Sheet, row: Row, frame: str, size_px: Size) -> tuple[str, tuple[Box, ...]]:
    """Return whether a label is of a point or an area, and its rectangles; none for a line, which has no area.

    Args:
        sheet: The table.
        row: Its row.
        frame: Path of the frame, for messages.
        size_px: Width and height of the frame.

    Raises:
        TableError: If its numbers are none, or lie outside the frame.
    """
    if sheet.declared.whole:
        return _whole_boxes(sheet, row, size_px)
    shape = sheet.text(row, "shape").casefold().replace(" ", "")
    if shape in _WITHOUT_AREA:
        return RECT, ()
    width, height = size_px
    scales = {"px": (1.0, 1.0), "fraction": (width, height), "percent": (width / 100, height / 100)}
    scale = scales[sheet.declared.unit]
    outline = _outline(row, sheet.text(row, "points"), shape)
    kind, boxes = _outlined(outline, shape, scale, size_px) if outline else _numbered(sheet, row, scale, size_px)
    if not boxes:
        raise TableError(
            f"{row.where}: its place is empty, or not on {frame}, which is {width} x {height} px: the numbers are of a "
            "picture of another size"
        )
    return kind, boxes


def number_of(row: Row, text: str, word: str, mark: str | None) -> float:
    """Return the number in a cell.

    Raises:
        TableError: If it is none, or may be several.
    """
    try:
        return float(parse_number(text, mark, 3))
    except NumberError as error:
        raise TableError(f"{row.where}: {word}: {error}") from error


def _outlined(
    outline: list[float], shape: str, scale: tuple[float, float], size_px: Size
) -> tuple[str, tuple[Box, ...]]:
    if shape == "point":
        return POINT, _only(point_box(outline[0] * scale[0], outline[1] * scale[1], size_px))
    if shape == "circle":
        outline = circle_outline(*outline[:3])
    elif shape == "ellipse":
        outline = ellipse_outline(outline)
    return RECT, outline_boxes([part * scale[at % 2] for at, part in enumerate(outline)], size_px)


def _numbered(sheet: Sheet, row: Row, scale: tuple[float, float], size_px: Size) -> tuple[str, tuple[Box, ...]]:
    """Return what columns of their own give: corners, a point, or a point with width and height."""
    at = {
        word: number_of(row, text, word, sheet.mark) * (1 if word == "rotation" else scale[word in _DOWN])
        for word in PLACES
        if (text := sheet.text(row, word))
    }
    if {"x0", "y0", "x1", "y1"} <= at.keys():
        return RECT, _only(clipped_box(at["x0"], at["y0"], at["x1"], at["y1"], size_px))
    if not {"x", "y"} <= at.keys():
        raise TableError(f"{row.where}: no place: neither a point, a rectangle nor an outline")
    x, y = at["x"], at["y"]
    if not {"width", "height"} <= at.keys():
        return POINT, _only(point_box(x, y, size_px))
    width, height = at["width"], at["height"]
    if sheet.declared.origin == "centre":
        x, y = x - width / 2, y - height / 2
    if at.get("rotation"):
        return RECT, outline_boxes(turned_outline(x, y, width, height, at["rotation"]), size_px)
    kind = POINT if (width, height) == (1.0, 1.0) else RECT
    return kind, _only(clipped_box(x, y, x + width, y + height, size_px))


_DOWN: Final = ("y", "y0", "y1", "height")


def _whole_boxes(sheet: Sheet, row: Row, size_px: Size) -> tuple[str, tuple[Box, ...]]:
    """Return the place in a table whose numbers are whole pixels that must lie inside the frame."""
    if "x0" in sheet.columns:
        corners = [sheet.columns[word][0] for word in RECT_COLUMNS]
        return RECT, (whole_rectangle(row, corners, size_px, sheet.mark),)
    width, height = size_px
    x, y = (whole_number(row, sheet.columns[word][0], sheet.mark) for word in ("x", "y"))
    if not (0 <= x < width and 0 <= y < height):
        raise TableError(
            f"{row.where}: point at row {y}, column {x} is outside its image of {width} x {height} px (rows 0 to "
            f"{height - 1}, columns 0 to {width - 1})"
        )
    return POINT, ((x, y, x + 1, y + 1),)


def _outline(row: Row, text: str, shape: str) -> list[float]:
    """Return the numbers of a cell that holds a list, none if it is empty."""
    if not text:
        return []
    try:
        numbers = [float(part) for part in json.loads(text)]
    except (TypeError, ValueError) as error:
        raise TableError(f"{row.where}: points {text[:40]!r}: a list of numbers is needed") from error
    least = _LEAST_NUMBERS.get(shape, 6)
    if not all(map(math.isfinite, numbers)) or len(numbers) < least or (len(numbers) % 2 and shape != "circle"):
        raise TableError(f"{row.where}: points {text[:40]!r}: at least {least} numbers are needed, x and y in turn")
    return numbers


def _only(box: Box | None) -> tuple[Box, ...]:
    return () if box is None else (box,)


# ---- shapes


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
