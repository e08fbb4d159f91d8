"""Layout `coralnet`: images and the point annotations that CoralNet exports.

`annotations*.csv` with at least Name, Row, Column and Label (Row and Column count stored pixels from 0), and a label
map to the three classes. Every point has one label there, by whoever confirmed it last: the export is one annotator.
Points that only the machine has labelled (annotator `robot`) are left out and counted.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any, Final

from reseed.artifacts.annotations import POINT
from reseed.base.classes import match_class
from reseed.base.csv import Row, TextTable, read_text_table
from reseed.base.errors import TableError
from reseed.params.catalog import CatalogParams
from reseed.sources.inventory import Inventory
from reseed.survey.frame_finder import FrameFinder
from reseed.survey.geotag import Facts, facts_from_log
from reseed.survey.images import Images
from reseed.survey.label_tables import placed_rows, required_integer, required_text
from reseed.survey.labels import LabelMap, Labels, Rectangle, Said, label_map, no_label_map, read_label_map, settle
from reseed.survey.layouts.reading import Place, Reading, folder_of, picture_place

ANNOTATIONS: Final = "annotations*.csv"
COLUMNS: Final = ("name", "row", "column", "label")
ANNOTATOR: Final = "coralnet"

_MACHINE: Final = "robot"
_SHOWN: Final = 30


@dataclass(frozen=True)
class _Point:
    """One row, as the file has it."""

    row: Row
    path: str
    code: str
    map: LabelMap


def read_coralnet(inventory: Inventory, images: Images, params: CatalogParams) -> Reading:
    """Understand a source of layout `coralnet`.

    Args:
        inventory: The files of the source.
        images: Its images, examined.
        params: Section `catalog`; `label_map`, `unmapped` and `on_conflict` are used.

    Raises:
        TableError: If there is no annotation file or one is broken, if a point names an image that is not there or lies
            outside it, if points contradict each other, or if codes are unmapped.
    """
    sizes = {path: (facts.width_px, facts.height_px) for path, facts in images.usable.items()}
    frames = FrameFinder(sizes, images.quarantined)
    tables = annotation_tables(inventory)
    if not tables:
        raise TableError(f"{inventory.source}: no {ANNOTATIONS}; a CoralNet export has that file beside the images")
    maps = {path: _map_beside(inventory, path, params) for path, _ in tables}
    points, counts = _points(tables, maps, frames)
    rectangles, settled = _rectangles(points, sizes, _annotator(points), params)
    kept_paths = {rectangle.path for rectangle in rectangles}
    placed = _positions(points)
    read = [*maps, *(path for path in (_map_file(inventory, path, params) for path in maps) if path)]
    return Reading(
        places={path: _place(inventory.source, path, placed.get(path)) for path in images.usable},
        labels=Labels(tuple(rectangles), (), {f"annotation_{name}": n for name, n in (counts | settled).items()}),
        tables=tuple(sorted(set(read))),
        counts={"images_without_points": len(images.usable.keys() - kept_paths)},
    )


def annotation_tables(inventory: Inventory) -> list[tuple[str, TextTable]]:
    """Return the annotation files of a source by path."""
    paths = [path for path in inventory.others if fnmatchcase(PurePosixPath(path).name.casefold(), ANNOTATIONS)]
    tables = [(path, read_text_table(inventory.root / path, f"{inventory.source}/{path}")) for path in paths]
    for _, table in tables:
        table.require(COLUMNS)
    return tables


def _map_file(inventory: Inventory, table: str, params: CatalogParams) -> str | None:
    """Return the label map that counts for a table: in its folder, else in the nearest folder above."""
    if not isinstance(params.label_map, str):
        return None
    folder = PurePosixPath(folder_of(table) or ".")
    for step in (folder, *folder.parents):
        path = (step / params.label_map).as_posix()
        if path in inventory.others:
            return path
    return None


def _map_beside(inventory: Inventory, table: str, params: CatalogParams) -> LabelMap:
    if isinstance(params.label_map, dict):
        return label_map(params.label_map, "catalog.label_map")
    path = _map_file(inventory, table, params)
    return no_label_map() if path is None else read_label_map(inventory.root / path, f"{inventory.source}/{path}")


def _points(
    tables: Iterable[tuple[str, TextTable]], maps: dict[str, LabelMap], frames: FrameFinder
) -> tuple[list[_Point], dict[str, int]]:
    points: list[_Point] = []
    counts = {"rows": 0, "of_quarantined_frames_dropped": 0, "unconfirmed_dropped": 0}
    for path, table in tables:
        for row, frame in placed_rows(folder_of(path), table, "name", frames, frames.find_by_name):
            counts["rows"] += 1
            if row.cells.get("annotator", "").casefold() == _MACHINE:
                counts["unconfirmed_dropped"] += 1
            elif frame not in frames.sizes:
                counts["of_quarantined_frames_dropped"] += 1
            else:
                points.append(_Point(row, frame, required_text(row, "label"), maps[path]))
    return points, counts


def _annotator(points: Iterable[_Point]) -> str:
    """Return the one who labelled all points, or the name of the export where several share the work."""
    names = {point.row.cells.get("annotator", "") for point in points}
    return next(iter(names)) or ANNOTATOR if len(names) == 1 else ANNOTATOR


def _class_of(point: _Point) -> tuple[bool, str | None]:
    """Return whether the code is known, and its class, None where points with this code are left out."""
    if not point.map.where:
        name = match_class(point.code)
        return name is not None, name
    code = point.map.find(point.code)
    return code is not None, None if code is None else point.map.classes[code]


def _rectangles(
    points: Iterable[_Point], sizes: dict[str, tuple[int, int]], annotator: str, params: CatalogParams
) -> tuple[list[Rectangle], dict[str, int]]:
    said: dict[tuple[Any, ...], list[Said[Rectangle | None]]] = {}
    unmapped: Counter[str] = Counter()
    wheres: set[str] = set()
    for point in points:
        x, y = _position(point, sizes[point.path])
        known, label = _class_of(point)
        if not known:
            unmapped[point.code] += 1
            wheres.add(point.map.where)
            continue
        source = point.row.cells.get("source label") or point.code
        item = Rectangle(point.path, annotator, x, y, x + 1, y + 1, label, POINT, source) if label else None
        said.setdefault((point.path, y, x), []).append(Said(point.row.where, label or "left out", item))
    if unmapped and params.unmapped == "error":
        raise TableError(_unmapped_message(unmapped, wheres, params))
    kept, contradicting = settle(said, params.on_conflict, lambda item: item.source_label if item else "")
    rectangles = [item for item in kept if item is not None]
    rows = sum(map(len, said.values()))
    null = sum(len(group) for group in said.values() if {one.label for one in group} == {"left out"})
    return sorted(rectangles, key=lambda r: (r.path, r.y0, r.x0)), {
        "kept": len(rectangles),
        "duplicates_merged": rows - null - contradicting - len(rectangles),
        "contradictions_dropped": contradicting,
        "mapped_to_null_dropped": null,
        "unmapped_dropped": unmapped.total(),
    }


def _unmapped_message(unmapped: Counter[str], wheres: set[str], params: CatalogParams) -> str:
    listed = ", ".join(f"{code} ({n})" for code, n in sorted(unmapped.items(), key=lambda i: (-i[1], i[0]))[:_SHOWN])
    where = ", ".join(sorted(filter(None, wheres)))
    lacking = f"{where} lacks" if where else f"no label map {params.label_map} beside the annotations, and no class is"
    return (
        f"{lacking} {len(unmapped)} of the codes: {listed}{' ...' if len(unmapped) > _SHOWN else ''}; map each to a "
        "class or to null (left out), or set catalog.unmapped: drop to leave them all out"
    )


def _position(point: _Point, size_px: tuple[int, int]) -> tuple[int, int]:
    width, height = size_px
    x, y = required_integer(point.row, "column"), required_integer(point.row, "row")
    if not (0 <= x < width and 0 <= y < height):
        raise TableError(
            f"{point.row.where}: point at row {y}, column {x} is outside its image of {width} x {height} px (rows 0 to "
            f"{height - 1}, columns 0 to {width - 1})"
        )
    return x, y


def _positions(points: Iterable[_Point]) -> dict[str, Facts]:
    """Return what the export says of where each image was taken, for images whose every row says the same."""
    cells: dict[str, set[tuple[str, str]]] = {}
    for point in points:
        cells.setdefault(point.path, set()).add(
            (point.row.cells.get("latitude", ""), point.row.cells.get("longitude", ""))
        )
    return {
        path: facts_from_log({"latitude": latitude, "longitude": longitude})
        for path, said in cells.items()
        if len(said) == 1
        for latitude, longitude in said
        if latitude and longitude
    }


def _place(source: str, path: str, log: Facts | None) -> Place:
    site, sequence = picture_place(source, path)
    return Place(site, sequence, log)
