"""What annotators said: rectangles on frames and decisions for whole frames, from any number of tables.

Every row must fit a frame that is there. Rows that say the same twice are merged and counted, rows that contradict each
other are an error that lists them. Labels of a quarantined frame are left out and counted.
"""

import difflib
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from reseed.classes import parse_class, parse_decision
from reseed.errors import TableError
from reseed.field.delimited import Row, TextTable

GRID: Final = "grid"
RECT: Final = "rect"
_GRID_COLUMNS: Final = ("grid_rows", "grid_cols", "row", "col")
_RECT_COLUMNS: Final = ("x0", "y0", "x1", "y1")
_SHOWN: Final = 10
_WHOLE = re.compile(r"[+-]?\d+(\.0*)?")  # spreadsheets write 4.0 for 4


@dataclass(frozen=True)
class Rectangle:
    """One labelled rectangle; x1 and y1 are exclusive, all in stored pixels.

    Args:
        path: POSIX path of the frame below its source.
        annotator: Who labelled it.
        x0: Left edge.
        y0: Top edge.
        x1: Right edge.
        y1: Bottom edge.
        label: One of the three classes.
        kind: `grid` or `rect`.
        source_label: The label as the file has it.
    """

    path: str
    annotator: str
    x0: int
    y0: int
    x1: int
    y1: int
    label: str
    kind: str
    source_label: str


@dataclass(frozen=True)
class FrameLabel:
    """One annotator's decision for a whole frame.

    Args:
        path: POSIX path of the frame below its source.
        annotator: Who decided.
        label: `Deploy` or `No-Deploy`.
    """

    path: str
    annotator: str
    label: str


@dataclass(frozen=True)
class Labels:
    """What a set of tables says.

    Args:
        rectangles: Sorted, each key once.
        frame_labels: Sorted, each key once.
        counts: Rows read, duplicates merged, rows of quarantined frames left out; rows read = kept + merged + left out.
    """

    rectangles: tuple[Rectangle, ...]
    frame_labels: tuple[FrameLabel, ...]
    counts: dict[str, int]


class FrameFinder:
    """Finds the frame that a table means.

    Args:
        sizes: Width and height in pixels of every usable frame, by POSIX path below the source.
        quarantined: Paths of the images that cannot be used.
    """

    def __init__(self, sizes: Mapping[str, tuple[int, int]], quarantined: Iterable[str]) -> None:
        self.sizes = sizes
        known = [*sizes, *quarantined]
        self._known = set(known)
        # Archives made on macOS decompose accents: the same name in other bytes.
        self._composed = {unicodedata.normalize("NFC", path): path for path in sorted(known, reverse=True)}

    def find(self, text: str, folder: str) -> str | None:
        """Return the path of the frame below the source, or None if there is no such image.

        Args:
            text: Path as the table gives it: relative to the folder of the table, else to the source.
            folder: POSIX path of the table's folder below the source.
        """
        for spelled in (text, text.replace("\\", "/")):
            for start in (folder, ""):
                path = posixpath.normpath(posixpath.join(start, spelled))
                found = path if path in self._known else self._composed.get(unicodedata.normalize("NFC", path))
                if found is not None:
                    return found
        return None

    def nearest(self, text: str) -> str:
        """Return the known path that looks most like `text`, or an empty string."""
        by_folded = {path.casefold(): path for path in sorted(self._known)}
        close = difflib.get_close_matches(text.casefold(), by_folded, n=1, cutoff=0.8)
        return by_folded[close[0]] if close else ""


def read_labels(
    annotations: Iterable[tuple[str, TextTable]], frame_labels: Iterable[tuple[str, TextTable]], frames: FrameFinder
) -> Labels:
    """Read the labels of one source.

    Args:
        annotations: Tables of grid cells (frame, grid_rows, grid_cols, row, col, label, annotator) or rectangles
            (frame, x0, y0, x1, y1, label, annotator), each with its folder below the source.
        frame_labels: Tables of whole frames (frame, label, annotator), likewise.
        frames: The frames of the source.

    Raises:
        TableError: If a column is missing; if a frame is not there; if a label is no class, or a frame label no
            decision; if a rectangle is empty or not inside its frame; if rows contradict each other.
    """
    rectangles, rectangle_counts = _read_rectangles(annotations, frames)
    decisions, decision_counts = _read_frame_labels(frame_labels, frames)
    return Labels(
        tuple(rectangles),
        tuple(decisions),
        {f"annotation_{name}": number for name, number in rectangle_counts.items()}
        | {f"frame_label_{name}": number for name, number in decision_counts.items()},
    )


def _read_rectangles(
    tables: Iterable[tuple[str, TextTable]], frames: FrameFinder
) -> tuple[list[Rectangle], dict[str, int]]:
    said: dict[tuple[str, str, int, int, int, int], list[tuple[Row, Rectangle]]] = {}
    rows = dropped = 0
    for folder, table in tables:
        kind = _kind(table)
        for row, path in _placed_rows(folder, table, frames):
            rows += 1
            label = parse_class(_text(row, "label"), row.where)
            annotator = _text(row, "annotator")
            if path not in frames.sizes:
                dropped += 1
                continue
            edges = _grid_cell(row, frames.sizes[path]) if kind == GRID else _rectangle(row, frames.sizes[path])
            rectangle = Rectangle(path, annotator, *edges, label, kind, row.cells["label"])
            said.setdefault((path, annotator, *edges), []).append((row, rectangle))
    _require_agreement([[(row, rectangle.label) for row, rectangle in group] for group in said.values()])
    kept = [min((r for _, r in said[key]), key=lambda r: (r.kind, r.source_label)) for key in sorted(said)]
    return kept, _counts(rows, dropped, len(kept))


def _read_frame_labels(
    tables: Iterable[tuple[str, TextTable]], frames: FrameFinder
) -> tuple[list[FrameLabel], dict[str, int]]:
    said: dict[tuple[str, str], list[tuple[Row, str]]] = {}
    rows = dropped = 0
    for folder, table in tables:
        table.require(["frame", "label", "annotator"])
        for row, path in _placed_rows(folder, table, frames):
            rows += 1
            label = parse_decision(_text(row, "label"), row.where)
            annotator = _text(row, "annotator")
            if path not in frames.sizes:
                dropped += 1
                continue
            said.setdefault((path, annotator), []).append((row, label))
    _require_agreement(list(said.values()))
    kept = [FrameLabel(*key, said[key][0][1]) for key in sorted(said)]
    return kept, _counts(rows, dropped, len(kept))


def _counts(rows: int, dropped: int, kept: int) -> dict[str, int]:
    return {
        "rows": rows,
        "kept": kept,
        "duplicates_merged": rows - dropped - kept,
        "of_quarantined_frames_dropped": dropped,
    }


def _kind(table: TextTable) -> str:
    table.require(["frame", "label", "annotator"])
    if all(name in table.columns for name in _GRID_COLUMNS):
        return GRID
    if all(name in table.columns for name in _RECT_COLUMNS):
        return RECT
    raise TableError(
        f"{table.where}: neither the columns of grid cells ({', '.join(_GRID_COLUMNS)}) nor those of rectangles "
        f"({', '.join(_RECT_COLUMNS)}); found: {', '.join(table.columns)}"
    )


def _placed_rows(folder: str, table: TextTable, frames: FrameFinder) -> list[tuple[Row, str]]:
    found = [(row, frames.find(_text(row, "frame"), folder)) for row in table.rows]
    lost = [row for row, path in found if path is None]
    if lost:
        names = list(dict.fromkeys(row.cells["frame"] for row in lost))
        nearest = frames.nearest(posixpath.normpath(posixpath.join(folder, names[0])))
        hint = f" (did you mean {nearest}?)" if nearest else ""
        raise TableError(
            f"{table.where}: {len(lost)} rows are for {len(names)} frames that are not there, first: "
            f"{', '.join(names[:_SHOWN])}{hint}; `frame` is a path relative to the folder of the table"
        )
    return [(row, path) for row, path in found if path is not None]


def _text(row: Row, column: str) -> str:
    text = row.cells[column]
    if not text:
        raise TableError(f"{row.where}: {column} is empty; leave out rows that say nothing")
    return text


def _integer(row: Row, column: str) -> int:
    text = row.cells[column]
    if not _WHOLE.fullmatch(text):
        raise TableError(f"{row.where}: {column} is {text!r}; a whole number is needed")
    return int(text.split(".")[0])


def _grid_cell(row: Row, size_px: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the rectangle of a grid cell: tile i of n along an edge of L px spans floor(L*i/n) to floor(L*(i+1)/n)."""
    width, height = size_px
    rows, cols, r, c = (_integer(row, name) for name in _GRID_COLUMNS)
    if not (1 <= rows <= height and 1 <= cols <= width):
        raise TableError(f"{row.where}: a grid of {rows} x {cols} cells does not fit a frame of {width} x {height} px")
    if not (0 <= r < rows and 0 <= c < cols):
        raise TableError(f"{row.where}: cell row {r}, col {c} is outside a grid of {rows} rows and {cols} columns")
    return width * c // cols, height * r // rows, width * (c + 1) // cols, height * (r + 1) // rows


def _rectangle(row: Row, size_px: tuple[int, int]) -> tuple[int, int, int, int]:
    width, height = size_px
    x0, y0, x1, y1 = (_integer(row, name) for name in _RECT_COLUMNS)
    if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
        raise TableError(
            f"{row.where}: rectangle x {x0} to {x1}, y {y0} to {y1} is empty or not inside its frame of "
            f"{width} x {height} px"
        )
    return x0, y0, x1, y1


def _require_agreement(groups: list[list[tuple[Row, str]]]) -> None:
    against = [group for group in groups if len({label for _, label in group}) > 1]
    if against:
        lines = sorted(" / ".join(sorted(f"{row.where}: {label}" for row, label in group)) for group in against)
        raise TableError(
            f"{len(against)} labels contradict another label of the same annotator for the same place: "
            f"{'; '.join(lines[:_SHOWN])}{' ...' if len(lines) > _SHOWN else ''}; correct the tables"
        )
