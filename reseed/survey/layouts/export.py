"""Layouts that read the export of an annotation tool, or the project's own table of rectangles, by its declaration.

Every row must fit a frame that is there. Labels of a quarantined frame, labels of a machine that no person confirmed,
and codes that the label map sets to null are left out and counted.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from reseed.artifacts.catalog import MACHINE
from reseed.base.csv import Row, decimal_mark
from reseed.params.catalog import CatalogParams
from reseed.sources.inventory import Inventory
from reseed.survey.geotag import Facts, facts_from_log
from reseed.survey.images import Images
from reseed.survey.label_tables import lost_frames, required_text
from reseed.survey.labels import LabelMaps, Labels, Rectangle, Said, settle, unmapped_error
from reseed.survey.layouts.class_folders import split_of_folder
from reseed.survey.layouts.export_formats import READERS, yolo_name_files
from reseed.survey.layouts.export_places import PLACES, Sheet, Size, label_boxes, number_of
from reseed.survey.layouts.export_tools import Declaration, declarations, export_files, not_this_export
from reseed.survey.layouts.reading import FrameFinder, Place, Reading, folder_of, picture_place
from reseed.survey.machine import find_witness, machine_remark, nothing_left, unknown_remark

_UPLOADED: Final = "imported"


@dataclass(frozen=True)
class _Label:
    """One row that labels a usable frame."""

    row: Row
    sheet: Sheet
    path: str
    code: str
    annotator: str
    machine: bool


def read_export(tool: str) -> Callable[[Inventory, Images, CatalogParams], Reading]:
    """Return the function that understands a source whose layout is that tool."""

    def read(inventory: Inventory, images: Images, params: CatalogParams) -> Reading:
        """Understand a source of the layout.

        Args:
            inventory: The files of the source.
            images: Its images, examined.
            params: Section `catalog`; `label_map`, `unmapped`, `machine_labels` and `on_conflict` are used.

        Raises:
            TableError: If there is no such export or one is broken, if a row names an image that is not there or a
                place outside it, if rows contradict each other, or if codes are unmapped.
        """
        declared = declarations()[tool]
        sizes = {path: (facts.width_px, facts.height_px) for path, facts in images.usable.items()}
        maps = LabelMaps(inventory, params)
        sheets = _sheets(tool, declared, inventory, maps)
        finder = _Finder(FrameFinder(sizes, images.quarantined), [*sizes, *images.quarantined])
        labels, counts, remarks = _labels(declared, sheets, finder, params)
        if declared.annotators == "shared":
            labels = _of_one(tool, labels)
        rectangles, settled, contradicted = _rectangles(tool, declared, labels, sizes, params)
        without = (
            "images_without_points" if declared.needs[1:3] in (["x", "y"], ["y", "x"]) else "images_without_labels"
        )
        places = _positions(labels)
        divided = _is_divided(images.usable)
        read = {sheet.path for sheet in sheets} | maps.files
        if declared.format == "yolo":
            read.update(yolo_name_files(inventory))
        return Reading(
            places={path: _place(inventory.source, path, places.get(path), divided=divided) for path in images.usable},
            labels=Labels(
                tuple(rectangles),
                (),
                {f"annotation_{name}": n for name, n in (counts | settled).items()},
                remarks,
                contradicted,
            ),
            tables=tuple(sorted(read)),
            counts={without: len(images.usable.keys() - {rectangle.path for rectangle in rectangles})},
        )

    return read


def _sheets(tool: str, declared: Declaration, inventory: Inventory, maps: LabelMaps) -> list[Sheet]:
    reader = READERS[declared.format](inventory)
    tables = [(path, table) for path in export_files(declared, inventory) if (table := reader(path))]
    fitting = [(path, table) for path, table in tables if not declared.lacking(table.columns)]
    if not fitting:
        raise not_this_export(tool, inventory, tables)
    sheets = []
    for path, table in fitting:
        columns = declared.found(table.columns)
        named = [name for name in columns.get("annotator", ()) if any(row.cells.get(name) for row in table.rows)]
        numbers: dict[str, int | None] = {column: None for word in PLACES for column in columns.get(word, ())}
        degrees = {column: 180 for word in ("latitude", "longitude") for column in columns.get(word, ())}
        mark = "." if declared.format != "csv" else decimal_mark(table, numbers | degrees)
        witness = find_witness(table.columns, named)
        sheets.append(Sheet(path, table, declared, columns, witness, maps.of_folder(folder_of(path)), mark))
    return sheets


class _Finder:
    """Finds the frame that a cell of an export means, also by an address, or without an ending."""

    def __init__(self, frames: FrameFinder, paths: Iterable[str]) -> None:
        self.frames = frames
        self._suffixes = sorted({PurePosixPath(path).suffix for path in paths})
        self._known: dict[tuple[str, str], str | None] = {}

    def find(self, text: str, folder: str) -> str | None:
        """Return the path of the frame below the source, None if there is none.

        Raises:
            TableError: If several frames may be meant.
        """
        key = (text, folder)
        if key not in self._known:
            self._known[key] = self._find(text, folder)
        return self._known[key]

    def _find(self, text: str, folder: str) -> str | None:
        found = self.frames.find_by_name(text, folder)
        if found is None and "://" in text:
            found = self.frames.find_by_name(PurePosixPath(unquote(urlsplit(text).path)).name, folder)
        name = PurePosixPath(text.replace("\\", "/")).name
        if found is None and len(name) > 9 and name[8] == "-" and name[:8].isalnum():
            found = self.frames.find_by_name(name[9:], folder)  # Label Studio puts eight digits before an uploaded file
        if found is not None:
            return found
        named = {self.frames.find_by_name(text + suffix, folder) for suffix in self._suffixes} - {None}
        return named.pop() if len(named) == 1 else None


def _labels(
    declared: Declaration, sheets: list[Sheet], finder: _Finder, params: CatalogParams
) -> tuple[list[_Label], dict[str, int], tuple[str, ...]]:
    """Return the rows that label a usable frame, how many of the others there are, and what a reader should know."""
    labels: list[_Label] = []
    counts = Counter({"rows": 0, "of_quarantined_frames_dropped": 0, "unconfirmed_dropped": 0})
    objections: Counter[str] = Counter()
    remarks = [declared.remark] if declared.remark else []
    for sheet in sheets:
        if sheet.witness.says_nothing and not declared.people_only:
            remarks.append(unknown_remark(sheet.table.where, len(sheet.table.rows)))
        uploaded = sum(sheet.witness.annotator(row).casefold() == _UPLOADED for row in sheet.table.rows)
        if uploaded:
            remarks.append(
                f"{sheet.table.where}: {uploaded} labels were uploaded (annotator Imported): the tool does not say "
                "whether a person or a machine made them"
            )
        for row, frame in _placed(sheet, finder):
            counts["rows"] += 1
            code, objection = _code(sheet, row)
            if objection:
                objections[objection] += 1
            if not code and declared.unlabelled == "drop":
                counts["unlabelled_dropped"] += 1
            elif objection and params.machine_labels == "exclude":
                counts["unconfirmed_dropped"] += 1
            elif frame not in finder.frames.sizes:
                counts["of_quarantined_frames_dropped"] += 1
            else:
                code = code or required_text(row, sheet.columns["label"][0])
                labels.append(_Label(row, sheet, frame, code, sheet.witness.annotator(row), bool(objection)))
    if not labels and counts["unconfirmed_dropped"]:
        raise nothing_left(", ".join(sheet.table.where for sheet in sheets), objections)
    remarks += machine_remark(objections, kept=params.machine_labels == "keep")
    return labels, dict(counts), tuple(remarks)


def _code(sheet: Sheet, row: Row) -> tuple[str, str]:
    """Return the code of a row, empty if nobody labelled it, and why no person stands behind it, empty if one does."""
    code, objection = sheet.text(row, "label"), sheet.witness.objection(row)
    if not code and sheet.text(row, "machine_label"):
        return sheet.text(row, "machine_label"), "no label by a person"
    score, by_people = sheet.text(row, "score"), sheet.declared.human_score
    if score and code and not objection:
        if by_people is None:
            objection = "with a score"
        elif number_of(row, score, "score", ".") < by_people:
            objection = f"score below {by_people:g}"
    return code, objection


def _placed(sheet: Sheet, finder: _Finder) -> list[tuple[Row, str]]:
    """Return every row with the frame that it means.

    Raises:
        TableError: If frames are not there; lists them.
    """
    folder = folder_of(sheet.path)
    columns = sheet.declared.images(sheet.table.columns)
    found: list[tuple[Row, str]] = []
    lost: list[tuple[Row, str]] = []
    for row in sheet.table.rows:
        named = next((row.cells[column] for column in columns if row.cells[column]), "")
        text = named or (required_text(row, columns[0]) if columns else PurePosixPath(sheet.path).stem)
        frame = finder.find(text, folder)
        if frame is None:
            lost.append((row, text))
        else:
            found.append((row, frame))
    if lost:
        what = " or ".join(columns) or "the name of the file"
        raise lost_frames(sheet.table.where, what, folder, [text for _, text in lost], finder.frames)
    return found


def _of_one(tool: str, labels: list[_Label]) -> list[_Label]:
    """Give all labels to the one who made them, or to the tool where several people share the work."""
    names = {label.annotator for label in labels}
    name = (names.pop() or tool) if len(names) == 1 else tool
    return [replace(label, annotator=name) for label in labels]


def _rectangles(
    tool: str, declared: Declaration, labels: list[_Label], sizes: Mapping[str, Size], params: CatalogParams
) -> tuple[list[Rectangle], dict[str, int], frozenset[str]]:
    said: dict[tuple[Any, ...], list[Said[tuple[Rectangle, ...]]]] = {}
    unmapped: Counter[str] = Counter()
    wheres: set[str] = set()
    without_area = 0
    classes: dict[tuple[int, str], tuple[bool, str | None]] = {}
    for label in labels:
        key = (id(label.sheet.map), label.code)
        if key not in classes:
            classes[key] = label.sheet.map.class_of(label.code, own=declared.codes == "own")
        known, name = classes[key]
        if not known:
            unmapped[label.code] += 1
            wheres.add(label.sheet.map.where)
            continue
        kind, boxes = label_boxes(label.sheet, label.row, label.path, sizes[label.path])
        if not boxes:
            without_area += 1
            continue
        who = label.annotator or tool
        source = label.sheet.text(label.row, "source_label") or label.code
        items = tuple(
            Rectangle(label.path, who, *box, name or "", MACHINE if label.machine else kind, source) for box in boxes
        )
        said.setdefault((label.path, who, boxes), []).append(Said(label.row.where, name or "left out", items))
    if unmapped and params.unmapped == "error":
        raise unmapped_error(unmapped, wheres, f"no label map {params.label_map} beside the annotations")
    kept, contradicting, contradicted = settle(
        said, params.on_conflict, lambda items: (items[0].kind == MACHINE, items[0].source_label)
    )
    shapes = [items for items in kept if items[0].label]
    rows = sum(map(len, said.values()))
    null = sum(len(group) for group in said.values() if {one.label for one in group} == {"left out"})
    rectangles, overlaps = _apart(item for items in shapes for item in items)
    counts = {
        "kept": len(shapes),
        "duplicates_merged": rows - null - contradicting - len(shapes),
        "contradictions_dropped": contradicting,
        "mapped_to_null_dropped": null,
        "unmapped_dropped": unmapped.total(),
        **({"without_area_dropped": without_area} if without_area else {}),
        **({"rectangles_of_two_classes_dropped": overlaps} if overlaps else {}),
    }
    return rectangles, counts, contradicted


def _apart(rectangles: Iterable[Rectangle]) -> tuple[list[Rectangle], int]:
    """Return every rectangle once; those that two shapes claim for different classes are left out, counted."""
    by_key: dict[tuple[Any, ...], list[Rectangle]] = {}
    for rectangle in rectangles:
        key = (rectangle.path, rectangle.y0, rectangle.x0, rectangle.y1, rectangle.x1, rectangle.annotator)
        by_key.setdefault(key, []).append(rectangle)
    torn = [key for key, same in by_key.items() if len({rectangle.label for rectangle in same}) > 1]
    for key in torn:
        del by_key[key]
    return [by_key[key][0] for key in sorted(by_key)], len(torn)


def _positions(labels: Iterable[_Label]) -> dict[str, Facts]:
    """Return what an export says of where each frame was taken, for frames whose every row says the same."""
    cells: dict[str, set[tuple[str, str, str | None]]] = {}
    for label in labels:
        place = label.sheet.text(label.row, "latitude"), label.sheet.text(label.row, "longitude")
        cells.setdefault(label.path, set()).add((*place, label.sheet.mark))
    return {
        path: facts_from_log({"latitude": latitude, "longitude": longitude}, mark)
        for path, said in cells.items()
        if len(said) == 1
        for latitude, longitude, mark in said
        if latitude and longitude
    }


def _splits_of(path: str) -> set[str]:
    return {split for name in PurePosixPath(path).parts[:-1] if (split := split_of_folder(name))}


def _is_divided(paths: Iterable[str]) -> bool:
    """Whether the tool divided the images: each lies below one folder named train, val or test, of two or more."""
    found = [_splits_of(path) for path in paths]
    return all(len(splits) == 1 for splits in found) and len(set[str]().union(*found)) > 1


def _place(source: str, path: str, log: Facts | None, *, divided: bool) -> Place:
    if not divided:
        return Place(*picture_place(source, path), log)
    file = PurePosixPath(path)
    kept = PurePosixPath(*(name for name in file.parts[:-1] if not split_of_folder(name)), file.name)
    return Place(*picture_place(source, kept.as_posix()), log, _splits_of(path).pop())
