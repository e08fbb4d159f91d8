"""Reading the tables in which people label frames: grid cells, rectangles and whole frames, by any annotators.

Every row must fit a frame that is there. Labels of a quarantined frame, labels of a machine that no person confirmed
and codes that the label map sets to null are left out and counted.
"""

import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reseed.artifacts.catalog import FRAME, GRID, MACHINE, RECT
from reseed.base.classes import parse_class, parse_decision
from reseed.base.csv import Row, TextTable, decimal_mark, whole_number
from reseed.base.errors import TableError
from reseed.params.catalog import MachineLabels, OnConflict, Unmapped
from reseed.survey.labels import (
    FrameLabel,
    LabelMap,
    Labels,
    Rectangle,
    Said,
    label_counts,
    no_label_map,
    settle,
    unmapped_error,
)
from reseed.survey.layouts.reading import FrameFinder
from reseed.survey.machine import find_witness, machine_remark, nothing_left

RECT_COLUMNS: Final = ("x0", "y0", "x1", "y1")
_GRID_COLUMNS: Final = ("grid_rows", "grid_cols", "row", "col")
_SHOWN: Final = 10

Edges = tuple[int, int, int, int]


@dataclass(frozen=True)
class Rules:
    """How label tables are understood.

    Args:
        on_conflict: Whether labels that contradict each other are an error, or all left out and counted.
        unmapped: Whether a code that the label map lacks is an error, or left out and counted.
        machine_labels: Whether labels of a machine that no person confirmed are left out or kept.
        map_of: The label map that counts in a folder of the source.
    """

    on_conflict: OnConflict = "error"
    unmapped: Unmapped = "error"
    machine_labels: MachineLabels = "exclude"
    map_of: Callable[[str], LabelMap] = lambda _: no_label_map()


@dataclass
class _Tally:
    """What became of the rows of all tables of one kind."""

    rows: int = 0
    of_quarantined_frames: int = 0
    unconfirmed: int = 0
    null: int = 0
    unmapped: Counter[str] = field(default_factory=Counter)
    objections: Counter[str] = field(default_factory=Counter)
    wheres: set[str] = field(default_factory=set)

    def counts(self, contradicting: int, kept: int) -> dict[str, int]:
        left_out = {
            "unconfirmed_dropped": self.unconfirmed,
            "mapped_to_null_dropped": self.null,
            "unmapped_dropped": self.unmapped.total(),
        }
        others = self.of_quarantined_frames + sum(left_out.values())
        counts = label_counts(self.rows, others, contradicting, kept)
        counts["of_quarantined_frames_dropped"] = self.of_quarantined_frames
        return counts | {name: number for name, number in left_out.items() if number}


@dataclass(frozen=True)
class _Labelled:
    """One row that counts."""

    row: Row
    path: str
    annotator: str
    label: str
    kind: str


def read_labels(
    annotations: Sequence[tuple[str, TextTable]],
    frame_labels: Sequence[tuple[str, TextTable]],
    frames: FrameFinder,
    rules: Rules | None = None,
) -> Labels:
    """Read the labels of one source.

    Args:
        annotations: Tables of grid cells (frame, grid_rows, grid_cols, row, col, label, annotator) or rectangles
            (frame, x0, y0, x1, y1, label, annotator), each with its folder below the source.
        frame_labels: Tables of whole frames (frame, label, annotator), likewise.
        frames: The frames of the source.
        rules: How they are understood.

    Raises:
        TableError: If a column is missing; if a frame is not there; if a label is no class, or a frame label no
            decision, and no map knows it; if a rectangle is empty or not inside its frame; if rows contradict each
            other; if no label is left because all are of a machine.
    """
    rules = rules or Rules()
    boxes, of_boxes = _Tally(), _Tally()
    rectangles, against, unsure = _read_rectangles(annotations, frames, rules, boxes)
    decisions, frames_against, frames_unsure = _read_frame_labels(frame_labels, frames, rules, of_boxes)
    objections = boxes.objections + of_boxes.objections
    if not rectangles and not decisions and boxes.unconfirmed + of_boxes.unconfirmed:
        raise nothing_left(", ".join(table.where for _, table in (*annotations, *frame_labels)), objections)
    counts = {f"annotation_{name}": number for name, number in boxes.counts(against, len(rectangles)).items()}
    counts |= {f"frame_label_{name}": n for name, n in of_boxes.counts(frames_against, len(decisions)).items()}
    remarks = machine_remark(objections, kept=rules.machine_labels == "keep")
    return Labels(tuple(rectangles), tuple(decisions), counts, tuple(remarks), unsure | frames_unsure)


def _read_rectangles(
    tables: Iterable[tuple[str, TextTable]], frames: FrameFinder, rules: Rules, tally: _Tally
) -> tuple[list[Rectangle], int, frozenset[str]]:
    said: dict[tuple[Any, ...], list[Said[Rectangle]]] = {}
    for folder, table in tables:
        kind = _kind(table)
        numbers = _GRID_COLUMNS if kind == GRID else RECT_COLUMNS
        mark = decimal_mark(table, dict.fromkeys(numbers))
        for one in _labelled(folder, table, frames, rules, tally, parse_class):
            size_px = frames.sizes[one.path]
            edges = (
                _grid_cell(one.row, size_px, mark)
                if kind == GRID
                else whole_rectangle(one.row, RECT_COLUMNS, size_px, mark)
            )
            source = one.row.cells["label"]
            rectangle = Rectangle(one.path, one.annotator, *edges, one.label, one.kind or kind, source)
            said.setdefault((one.path, one.annotator, *edges), []).append(Said(one.row.where, one.label, rectangle))
    _require_mapped(rules, tally)
    return settle(said, rules.on_conflict, lambda r: (r.kind == MACHINE, r.kind, r.source_label))


def _read_frame_labels(
    tables: Iterable[tuple[str, TextTable]], frames: FrameFinder, rules: Rules, tally: _Tally
) -> tuple[list[FrameLabel], int, frozenset[str]]:
    said: dict[tuple[Any, ...], list[Said[FrameLabel]]] = {}
    for folder, table in tables:
        table.require(["frame", "label", "annotator"])
        for one in _labelled(folder, table, frames, rules, tally, parse_decision):
            decision = FrameLabel(one.path, one.annotator, one.label, one.kind or FRAME)
            said.setdefault((one.path, one.annotator), []).append(Said(one.row.where, one.label, decision))
    _require_mapped(rules, tally)
    return settle(said, rules.on_conflict, lambda decision: (decision.kind == MACHINE, decision.label))


def _labelled(
    folder: str,
    table: TextTable,
    frames: FrameFinder,
    rules: Rules,
    tally: _Tally,
    parse: Callable[[str, str], str],
) -> Iterator[_Labelled]:
    """Yield the rows of a table that label a usable frame, with their class or decision; count the others."""
    witness, codes = find_witness(table.columns, ["annotator"]), rules.map_of(folder)
    for row, path in placed_rows(folder, table, "frame", frames, frames.find):
        tally.rows += 1
        text, annotator = required_text(row, "label"), required_text(row, "annotator")
        objection = witness.objection(row)
        if objection:
            tally.objections[objection] += 1
            if rules.machine_labels == "exclude":
                tally.unconfirmed += 1
                continue
        known, label = codes.class_of(text, own=True)
        if known and label is None:
            tally.null += 1
            continue
        if not known and codes.where:
            tally.unmapped[text] += 1
            tally.wheres.add(codes.where)
            continue
        label = parse(label or text, row.where)  # says what is allowed
        if path not in frames.sizes:
            tally.of_quarantined_frames += 1
        else:
            yield _Labelled(row, path, annotator, label, MACHINE if objection else "")


def _require_mapped(rules: Rules, tally: _Tally) -> None:
    if tally.unmapped and rules.unmapped == "error":
        raise unmapped_error(tally.unmapped, tally.wheres, "")


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
    named = {text: find(text, folder) for text in dict.fromkeys(required_text(row, column) for row in table.rows)}
    found = [(row, named[row.cells[column]]) for row in table.rows]
    lost = [row.cells[column] for row, path in found if path is None]
    if lost:
        raise lost_frames(table.where, column, folder, lost, frames)
    return [(row, path) for row, path in found if path is not None]


def lost_frames(where: str, column: str, folder: str, texts: Sequence[str], frames: FrameFinder) -> TableError:
    """Return the error that rows are for frames that are not there, with the nearest name as a hint.

    Args:
        where: The table.
        column: Its column that names frames.
        folder: Folder of the table below the source.
        texts: What the rows say there.
        frames: The frames of the source.
    """
    names = list(dict.fromkeys(texts))
    nearest = frames.nearest(posixpath.normpath(posixpath.join(folder, names[0])))
    hint = f" (did you mean {nearest}?)" if nearest else ""
    return TableError(
        f"{where}: {len(texts)} rows are for {len(names)} frames that are not there, first: "
        f"{', '.join(names[:_SHOWN])}{hint}; `{column}` is a path relative to the folder of the table"
    )


def required_text(row: Row, column: str) -> str:
    """Return a cell that must not be empty.

    Raises:
        TableError: If it is.
    """
    text = row.cells[column]
    if not text:
        raise TableError(f"{row.where}: {column} is empty; remove rows without a value")
    return text


def _grid_cell(row: Row, size_px: tuple[int, int], mark: str | None) -> Edges:
    """Return the rectangle of a grid cell: tile i of n along an edge of L px spans floor(L*i/n) to floor(L*(i+1)/n)."""
    width, height = size_px
    rows, cols, r, c = (whole_number(row, name, mark) for name in _GRID_COLUMNS)
    if not (1 <= rows <= height and 1 <= cols <= width):
        raise TableError(f"{row.where}: a grid of {rows} x {cols} cells does not fit a frame of {width} x {height} px")
    if not (0 <= r < rows and 0 <= c < cols):
        raise TableError(f"{row.where}: cell row {r}, col {c} is outside a grid of {rows} rows and {cols} columns")
    return width * c // cols, height * r // rows, width * (c + 1) // cols, height * (r + 1) // rows


def whole_rectangle(row: Row, columns: Sequence[str], size_px: tuple[int, int], mark: str | None) -> Edges:
    """Return the rectangle whose corners four columns give in whole pixels.

    Raises:
        TableError: If it is empty or not inside its frame.
    """
    width, height = size_px
    x0, y0, x1, y1 = (whole_number(row, name, mark) for name in columns)
    if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
        raise TableError(
            f"{row.where}: rectangle x {x0} to {x1}, y {y0} to {y1} is empty or not inside its frame of "
            f"{width} x {height} px"
        )
    return x0, y0, x1, y1
