"""Reading the tables in which people label frames: grid cells, rectangles and whole frames, by any annotators.

Every row must fit a frame that is there. Labels of a quarantined frame are left out and counted.
"""

import posixpath
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from reseed.artifacts.annotations import GRID, RECT
from reseed.base.classes import parse_class, parse_decision
from reseed.base.csv import Row, TextTable
from reseed.base.errors import TableError
from reseed.params.catalog import OnConflict
from reseed.survey.frame_finder import FrameFinder
from reseed.survey.labels import FrameLabel, Labels, Rectangle, Said, label_counts, settle

RECT_COLUMNS: Final = ("x0", "y0", "x1", "y1")
_GRID_COLUMNS: Final = ("grid_rows", "grid_cols", "row", "col")
_SHOWN: Final = 10
_WHOLE = re.compile(r"[+-]?\d{1,12}(\.0*)?")  # spreadsheets write 4.0 for 4; no coordinate has more digits


def read_labels(
    annotations: Iterable[tuple[str, TextTable]],
    frame_labels: Iterable[tuple[str, TextTable]],
    frames: FrameFinder,
    on_conflict: OnConflict = "error",
) -> Labels:
    """Read the labels of one source.

    Args:
        annotations: Tables of grid cells (frame, grid_rows, grid_cols, row, col, label, annotator) or rectangles
            (frame, x0, y0, x1, y1, label, annotator), each with its folder below the source.
        frame_labels: Tables of whole frames (frame, label, annotator), likewise.
        frames: The frames of the source.
        on_conflict: Whether labels that contradict each other are an error, or all left out and counted.

    Raises:
        TableError: If a column is missing; if a frame is not there; if a label is no class, or a frame label no
            decision; if a rectangle is empty or not inside its frame; if rows contradict each other.
    """
    rectangles, rectangle_counts = _read_rectangles(annotations, frames, on_conflict)
    decisions, decision_counts = _read_frame_labels(frame_labels, frames, on_conflict)
    return Labels(
        tuple(rectangles),
        tuple(decisions),
        {f"annotation_{name}": number for name, number in rectangle_counts.items()}
        | {f"frame_label_{name}": number for name, number in decision_counts.items()},
    )


def read_rectangle_table(
    tables: Iterable[tuple[str, TextTable]], frames: FrameFinder, annotator: str, on_conflict: OnConflict
) -> Labels:
    """Read tables of rectangles (file, x0, y0, x1, y1, label and, if there is one, annotator).

    Args:
        tables: Each with its folder below the source.
        frames: The frames of the source.
        annotator: Name of the annotator of tables that name none.
        on_conflict: Whether labels that contradict each other are an error, or all left out and counted.

    Raises:
        TableError: As `read_labels`.
    """
    said: dict[tuple[Any, ...], list[Said[Rectangle]]] = {}
    rows = dropped = 0
    for folder, table in tables:
        table.require(["file", *RECT_COLUMNS, "label"])
        for row, path in placed_rows(folder, table, "file", frames, frames.find_by_name):
            rows += 1
            label = parse_class(required_text(row, "label"), row.where)
            who = required_text(row, "annotator") if "annotator" in table.columns else annotator
            if path not in frames.sizes:
                dropped += 1
                continue
            edges = _rectangle(row, frames.sizes[path])
            rectangle = Rectangle(path, who, *edges, label, RECT, row.cells["label"])
            said.setdefault((path, who, *edges), []).append(Said(row.where, label, rectangle))
    kept, contradicting = settle(said, on_conflict, lambda rectangle: rectangle.source_label)
    counts = label_counts(rows, dropped, contradicting, len(kept))
    return Labels(tuple(kept), (), {f"annotation_{name}": number for name, number in counts.items()})


def _read_rectangles(
    tables: Iterable[tuple[str, TextTable]], frames: FrameFinder, on_conflict: OnConflict
) -> tuple[list[Rectangle], dict[str, int]]:
    said: dict[tuple[Any, ...], list[Said[Rectangle]]] = {}
    rows = dropped = 0
    for folder, table in tables:
        kind = _kind(table)
        for row, path in placed_rows(folder, table, "frame", frames, frames.find):
            rows += 1
            label = parse_class(required_text(row, "label"), row.where)
            annotator = required_text(row, "annotator")
            if path not in frames.sizes:
                dropped += 1
                continue
            edges = _grid_cell(row, frames.sizes[path]) if kind == GRID else _rectangle(row, frames.sizes[path])
            rectangle = Rectangle(path, annotator, *edges, label, kind, row.cells["label"])
            said.setdefault((path, annotator, *edges), []).append(Said(row.where, label, rectangle))
    kept, contradicting = settle(said, on_conflict, lambda r: (r.kind, r.source_label))
    return kept, label_counts(rows, dropped, contradicting, len(kept))


def _read_frame_labels(
    tables: Iterable[tuple[str, TextTable]], frames: FrameFinder, on_conflict: OnConflict
) -> tuple[list[FrameLabel], dict[str, int]]:
    said: dict[tuple[Any, ...], list[Said[FrameLabel]]] = {}
    rows = dropped = 0
    for folder, table in tables:
        table.require(["frame", "label", "annotator"])
        for row, path in placed_rows(folder, table, "frame", frames, frames.find):
            rows += 1
            label = parse_decision(required_text(row, "label"), row.where)
            annotator = required_text(row, "annotator")
            if path not in frames.sizes:
                dropped += 1
                continue
            said.setdefault((path, annotator), []).append(Said(row.where, label, FrameLabel(path, annotator, label)))
    kept, contradicting = settle(said, on_conflict, lambda decision: decision.label)
    return kept, label_counts(rows, dropped, contradicting, len(kept))


def _kind(table: TextTable) -> str:
    table.require(["frame", "label", "annotator"])
    if all(name in table.columns for name in _GRID_COLUMNS):
        return GRID
    if all(name in table.columns for name in RECT_COLUMNS):
        return RECT
    raise TableError(
        f"{table.where}: neither the columns of grid cells ({', '.join(_GRID_COLUMNS)}) nor those of rectangles "
        f"({', '.join(RECT_COLUMNS)}); found: {', '.join(table.columns)}"
    )


def placed_rows(
    folder: str, table: TextTable, column: str, frames: FrameFinder, find: Callable[[str, str], str | None]
) -> list[tuple[Row, str]]:
    """Return each row with the path of the frame that its cell `column` names.

    Args:
        folder: Folder of the table below the source.
        table: The table.
        column: Column that names the frame.
        frames: The frames of the source.
        find: `FrameFinder.find` or `FrameFinder.find_by_name`.

    Raises:
        TableError: If frames are not there; lists them, with the nearest name as a hint.
    """
    found = [(row, find(required_text(row, column), folder)) for row in table.rows]
    lost = [row for row, path in found if path is None]
    if lost:
        names = list(dict.fromkeys(row.cells[column] for row in lost))
        nearest = frames.nearest(posixpath.normpath(posixpath.join(folder, names[0])))
        hint = f" (did you mean {nearest}?)" if nearest else ""
        raise TableError(
            f"{table.where}: {len(lost)} rows are for {len(names)} frames that are not there, first: "
            f"{', '.join(names[:_SHOWN])}{hint}; `{column}` is a path relative to the folder of the table"
        )
    return [(row, path) for row, path in found if path is not None]


def required_text(row: Row, column: str) -> str:
    """Return a cell that must not be empty.

    Raises:
        TableError: If it is.
    """
    text = row.cells[column]
    if not text:
        raise TableError(f"{row.where}: {column} is empty; remove rows without a value")
    return text


def required_integer(row: Row, column: str) -> int:
    """Return a cell that must hold a whole number; spreadsheets write 4.0 for 4.

    Raises:
        TableError: If it holds anything else.
    """
    text = row.cells[column]
    if not _WHOLE.fullmatch(text):
        raise TableError(f"{row.where}: {column} is {text[:40]!r}; a whole number is needed")
    return int(text.split(".")[0])


def _grid_cell(row: Row, size_px: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the rectangle of a grid cell: tile i of n along an edge of L px spans floor(L*i/n) to floor(L*(i+1)/n)."""
    width, height = size_px
    rows, cols, r, c = (required_integer(row, name) for name in _GRID_COLUMNS)
    if not (1 <= rows <= height and 1 <= cols <= width):
        raise TableError(f"{row.where}: a grid of {rows} x {cols} cells does not fit a frame of {width} x {height} px")
    if not (0 <= r < rows and 0 <= c < cols):
        raise TableError(f"{row.where}: cell row {r}, col {c} is outside a grid of {rows} rows and {cols} columns")
    return width * c // cols, height * r // rows, width * (c + 1) // cols, height * (r + 1) // rows


def _rectangle(row: Row, size_px: tuple[int, int]) -> tuple[int, int, int, int]:
    width, height = size_px
    x0, y0, x1, y1 = (required_integer(row, name) for name in RECT_COLUMNS)
    if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
        raise TableError(
            f"{row.where}: rectangle x {x0} to {x1}, y {y0} to {y1} is empty or not inside its frame of "
            f"{width} x {height} px"
        )
    return x0, y0, x1, y1
