"""Where each row of an export says that its label lies, as the declaration of the tool explains it."""

import json
import math
from dataclasses import dataclass
from typing import Final

from reseed.artifacts.annotations import POINT, RECT
from reseed.base.csv import Row, TextTable, whole_number
from reseed.base.errors import TableError
from reseed.base.numerals import NumberError, parse_number
from reseed.survey.exports.declaration import Declaration
from reseed.survey.exports.shapes import (
    Box,
    Size,
    circle_outline,
    clipped_box,
    ellipse_outline,
    outline_boxes,
    point_box,
    turned_outline,
)
from reseed.survey.labels import LabelMap
from reseed.survey.machine import Witness

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
    width, height = size_px
    at = {word: whole_number(row, sheet.columns[word][0], sheet.mark) for word in PLACES if word in sheet.columns}
    if "x0" not in at:
        x, y = at["x"], at["y"]
        if not (0 <= x < width and 0 <= y < height):
            raise TableError(
                f"{row.where}: point at row {y}, column {x} is outside its image of {width} x {height} px (rows 0 to "
                f"{height - 1}, columns 0 to {width - 1})"
            )
        return POINT, ((x, y, x + 1, y + 1),)
    x0, y0, x1, y1 = at["x0"], at["y0"], at["x1"], at["y1"]
    if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
        raise TableError(
            f"{row.where}: rectangle x {x0} to {x1}, y {y0} to {y1} is empty or not inside its frame of "
            f"{width} x {height} px"
        )
    return RECT, ((x0, y0, x1, y1),)


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
