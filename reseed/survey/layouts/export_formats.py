"""The file formats of exports: each becomes a table whose columns the declaration of its tool names."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from reseed.base.csv import Row, TextTable, decode_text, read_text_table
from reseed.base.errors import TableError
from reseed.sources.inventory import Inventory

_CLASS_FILES: Final = ("data.yaml", "data.yml", "dataset.yaml", "classes.txt", "obj.names", "classes.names")
_YOLO_LINE = re.compile(r"\s*\d+(?:\s+-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?){4,}\s*")
_SHOWN: Final = 60


def read_csv(inventory: Inventory, path: str) -> TextTable | None:
    """Read any table with a header."""
    return read_text_table(inventory.root / path, f"{inventory.source}/{path}")


def read_coco(inventory: Inventory, path: str) -> TextTable | None:
    """Read COCO JSON; None if the file is another JSON.

    Raises:
        TableError: If an annotation names an image or a category that is not there, or has no place.
    """
    where = f"{inventory.source}/{path}"
    value = _json(inventory, path)
    if not isinstance(value, dict) or not {"images", "annotations", "categories"} <= value.keys():
        return None
    images = {image.get("id"): image for image in _objects(value["images"], f"{where} images")}
    names = {entry.get("id"): entry.get("name") for entry in _objects(value["categories"], f"{where} categories")}
    rows = []
    for number, annotation in enumerate(_objects(value["annotations"], f"{where} annotations")):
        at = f"{where} annotation {annotation.get('id', number)}"
        image, name = images.get(annotation.get("image_id")), names.get(annotation.get("category_id"))
        if image is None or not isinstance(name, str):
            raise TableError(
                f"{at}: image_id {annotation.get('image_id')!r} and category_id {annotation.get('category_id')!r}: one "
                "of them is not among the images and categories of the file"
            )
        given = annotation.get("attributes")
        attributes: dict[str, Any] = given if isinstance(given, dict) else {}
        score = annotation.get("score", attributes.get("score"))
        cells = {
            "image": str(image.get("file_name", "")),
            "label": name,
            "annotator": str(annotation.get("annotator") or attributes.get("annotator") or ""),
            "score": "" if score is None else str(score),
            "source label": str(attributes.get("source_label") or ""),
            **dict.fromkeys(("x", "y", "width", "height", "points"), ""),
        }
        rows.append(Row(at, cells | _coco_place(annotation, at)))
    return _table(where, "coco", rows)


def read_label_studio(inventory: Inventory, path: str) -> TextTable | None:
    """Read the tasks that Label Studio exports as JSON; None if the file is another JSON.

    Raises:
        TableError: If a task names no image.
    """
    where = f"{inventory.source}/{path}"
    tasks = _json(inventory, path)
    if not isinstance(tasks, list) or not tasks or not all(_is_task(task) for task in tasks):
        return None
    rows = []
    for task in tasks:
        at = f"{where} task {task.get('id', '?')}"
        image = next((text for text in task["data"].values() if isinstance(text, str) and text), "")
        for kind in ("annotations", "predictions"):
            for answer in _objects(task.get(kind) or [], f"{at} {kind}"):
                if answer.get("was_cancelled"):
                    continue
                score = str(answer.get("score") or "prediction") if kind == "predictions" else ""
                who = {"image": image, "annotator": _annotator(answer), "score": score}
                for number, result in enumerate(_objects(answer.get("result") or [], f"{at} result")):
                    place = _label_studio_place(result, f"{at} result {number}")
                    if place is not None:
                        rows.append(Row(f"{at} result {number}", who | place))
    return _table(where, "label-studio", rows)


def read_cpce(inventory: Inventory, path: str) -> TextTable | None:
    """Read a .cpc file.

    Line 1: code file, image, its width and height in CPCe's unit, and more; lines 2 to 5: the corners of the area;
    line 6: the number of points; then a line with x and y of each, and a line with letter and code of each.

    Raises:
        TableError: If it is not built so.
    """
    where = f"{inventory.source}/{path}"
    lines = list(csv.reader(io.StringIO(decode_text((inventory.root / path).read_bytes(), where), newline="")))
    lines = [[cell.strip() for cell in line] for line in lines]
    try:
        first, n_points = lines[0], int(lines[5][0])
        width, height = float(first[2]), float(first[3])
        places, codes = lines[6 : 6 + n_points], lines[6 + n_points : 6 + 2 * n_points]
        shares = [(float(place[0]) / width, float(place[1]) / height) for place in places[:n_points]]
        named = [codes[number][1] for number in range(n_points)]
    except (ValueError, IndexError, ZeroDivisionError) as error:
        raise TableError(
            f"{where}: not readable as a .cpc file: line 1 with code file, image, width and height, line 6 with the "
            "number of points, then a line of x,y and a line of letter,code for each; save it again in CPCe"
        ) from error
    image = first[1].replace("\\", "/").rpartition("/")[2] or f"{PurePosixPath(path).stem}.jpg"
    rows = [
        Row(f"{where} line {7 + number}", {"image": image, "x": repr(x), "y": repr(y), "code": named[number]})
        for number, (x, y) in enumerate(shares)
    ]
    return TextTable(where, ("image", "x", "y", "code", "cpce"), tuple(rows))


def read_viame(inventory: Inventory, path: str) -> TextTable | None:
    """Read a detection CSV of VIAME or DIVE; None if the file is another CSV.

    Raises:
        TableError: If it is cut off within a row.
    """
    where = f"{inventory.source}/{path}"
    text = decode_text((inventory.root / path).read_bytes(), where)
    lines = [
        (number, [cell.strip() for cell in cells])
        for number, cells in enumerate(csv.reader(io.StringIO(text, newline="")), 1)
        if any(cell.strip() for cell in cells)
    ]
    said = any(cells[0].startswith("#") and "detection" in " ".join(cells).casefold() for _, cells in lines[:3])
    rows = [(number, cells) for number, cells in lines if not cells[0].startswith("#")]
    if not said and not (rows and all(_is_detection(cells) for _, cells in rows[:20])):
        return None
    found = []
    for number, cells in rows:
        if not _is_detection(cells):
            raise TableError(
                f"{where} line {number}: {len(cells)} cells; a row of VIAME has id, image, frame, four edges, "
                "confidence, length, and a species with its confidence"
            )
        pairs = [cell for cell in cells[9:] if not cell.startswith("(")]
        outline = next((cell for cell in cells[9:] if cell.startswith("(poly)")), "").removeprefix("(poly)").split()
        named = dict(zip(("image", "frame", "x0", "y0", "x1", "y1", "confidence"), cells[1:8], strict=True))
        species = {"species": pairs[0] if pairs else "", "points": json.dumps([float(part) for part in outline])}
        found.append(Row(f"{where} line {number}", named | species | ({} if outline else {"points": ""})))
    return _table(where, "viame", found, columns=("image", "frame", "x0", "y0", "x1", "y1", "confidence", "species"))


def yolo_reader(inventory: Inventory) -> Callable[[str], TextTable | None]:
    """Return what reads the label file of one image; None if it is another text, or if no image has its name."""
    images = {PurePosixPath(path).with_suffix("").as_posix(): path for path in reversed(inventory.images)}
    names: dict[int, str] = {}

    def read(path: str) -> TextTable | None:
        image = _yolo_image(images, path)
        if image is not None and not names:
            names.update(_yolo_names(inventory))
        return None if image is None else _read_yolo(inventory, path, image, names)

    return read


def _read_yolo(inventory: Inventory, path: str, image: str, names: Mapping[int, str]) -> TextTable | None:
    """Read the label file of one image.

    Raises:
        TableError: If a class has no name.
    """
    where = f"{inventory.source}/{path}"
    text = decode_text((inventory.root / path).read_bytes(), where)
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines or not all(_YOLO_LINE.fullmatch(" ".join(parts)) for _, parts in lines):
        return None
    rows = []
    for number, (index, *numbers) in lines:
        name = names.get(int(index))
        if name is None:
            raise TableError(
                f"{where} line {number}: class {index} has no name; data.yaml, classes.txt or obj.names in the source "
                f"names {len(names)} classes"
            )
        cells = {"image": image, "label": name, **dict.fromkeys(("x", "y", "width", "height", "points", "score"), "")}
        if len(numbers) in (4, 5):
            cells |= dict(zip(("x", "y", "width", "height", "score"), numbers, strict=False))
        else:
            cells |= {"points": json.dumps([float(part) for part in numbers[: len(numbers) // 2 * 2]])}
            cells |= {"score": numbers[-1]} if len(numbers) % 2 else {}
        rows.append(Row(f"{where} line {number}", cells))
    return _table(where, "yolo", rows)


# Each gives, for the files of a source, what reads one of them; None: the file is no such export.
READERS: Final[dict[str, Callable[[Inventory], Callable[[str], TextTable | None]]]] = {
    "csv": lambda inventory: partial(read_csv, inventory),
    "coco": lambda inventory: partial(read_coco, inventory),
    "label-studio": lambda inventory: partial(read_label_studio, inventory),
    "cpce": lambda inventory: partial(read_cpce, inventory),
    "viame": lambda inventory: partial(read_viame, inventory),
    "yolo": yolo_reader,
}


def yolo_name_files(inventory: Inventory) -> list[str]:
    """Return the files of a source that name the classes of YOLO."""
    return [path for path in inventory.others if PurePosixPath(path).name.casefold() in _CLASS_FILES]


def _table(where: str, sign: str, rows: list[Row], columns: tuple[str, ...] = ()) -> TextTable:
    named = tuple(dict.fromkeys([*columns, *(name for row in rows for name in row.cells), "image", "label", sign]))
    # Every row has every column but the last, which only says what the file is.
    return TextTable(where, named, tuple(rows))


def _json(inventory: Inventory, path: str) -> Any:
    where = f"{inventory.source}/{path}"
    try:
        return json.loads(decode_text((inventory.root / path).read_bytes(), where))
    except (ValueError, RecursionError) as error:
        raise TableError(f"{where}: not readable as JSON: {error}") from error


def _objects(value: Any, where: str) -> Iterator[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise TableError(f"{where}: a list of objects is needed, got {str(value)[:_SHOWN]!r}")
    yield from value


def _coco_place(annotation: dict[str, Any], at: str) -> dict[str, str]:
    outline = annotation.get("segmentation")
    if isinstance(outline, dict):
        raise TableError(f"{at}: its segmentation is a mask (RLE); export outlines (polygons) or boxes")
    if isinstance(outline, list) and outline:
        if len(outline) > 1:
            raise TableError(f"{at}: its segmentation has {len(outline)} parts; export one annotation for each part")
        return {"points": json.dumps(outline[0])}
    box = annotation.get("bbox")
    if not isinstance(box, list) or len(box) != 4 or not all(isinstance(edge, int | float) for edge in box):
        raise TableError(f"{at}: neither a segmentation nor a bbox of x, y, width and height")
    return dict(zip(("x", "y", "width", "height"), map(repr, box), strict=True))


def _is_task(task: Any) -> bool:
    return isinstance(task, dict) and isinstance(task.get("data"), dict) and isinstance(task.get("annotations"), list)


def _annotator(answer: dict[str, Any]) -> str:
    who = answer.get("completed_by", "")
    if isinstance(who, dict):
        who = who.get("email") or who.get("username") or who.get("id", "")
    return f"user {who}" if isinstance(who, int) else str(who or "")


def _label_studio_place(result: dict[str, Any], at: str) -> dict[str, str] | None:
    """Return label and place of one result; None for what labels no place, such as a relation or a comment."""
    kind, value = str(result.get("type", "")), result.get("value")
    if not isinstance(value, dict) or not kind.endswith("labels"):
        return None
    labels = value.get(kind)
    if not isinstance(labels, list) or not labels:
        return None
    cells = {"label": str(labels[0]), **dict.fromkeys(("x", "y", "width", "height", "rotation", "points"), "")}
    if kind == "polygonlabels":
        return cells | {"points": json.dumps([part for point in value["points"] for part in point])}
    names = {"keypointlabels": ("x", "y"), "rectanglelabels": ("x", "y", "width", "height", "rotation")}.get(kind)
    if names is None or not {"x", "y"} <= value.keys():
        raise TableError(f"{at}: {kind} is not read; label with points, rectangles or polygons")
    return cells | {name: repr(value.get(name, 0)) for name in names}


def _is_detection(cells: list[str]) -> bool:
    numbers = [cells[0], *cells[2:9]] if len(cells) >= 9 else [""]
    return all(re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", cell) for cell in numbers)


def _yolo_image(images: Mapping[str, str], path: str) -> str | None:
    """Return the image that a label file is of: beside it, or in `images` where the file is in `labels`."""
    stem = PurePosixPath(path).with_suffix("")
    parts = list(stem.parts)
    stems = {stem.as_posix()}
    stems |= {"/".join([*parts[:at], "images", *parts[at + 1 :]]) for at, name in enumerate(parts) if name == "labels"}
    return next((images[stem] for stem in sorted(stems) if stem in images), None)


def _yolo_names(inventory: Inventory) -> dict[int, str]:
    for path in sorted(
        yolo_name_files(inventory), key=lambda path: _CLASS_FILES.index(PurePosixPath(path).name.casefold())
    ):
        text = decode_text((inventory.root / path).read_bytes(), f"{inventory.source}/{path}")
        if not path.casefold().endswith((".yaml", ".yml")):
            return dict(enumerate(line.strip() for line in text.splitlines() if line.strip()))
        try:
            value = YAML(typ="safe", pure=True).load(text)
        except YAMLError as error:
            raise TableError(
                f"{inventory.source}/{path}: not readable as YAML: {' '.join(str(error).split())}"
            ) from error
        names = value.get("names") if isinstance(value, dict) else None
        if isinstance(names, dict):
            return {int(index): str(name) for index, name in names.items()}
        if isinstance(names, list):
            return dict(enumerate(map(str, names)))
    return {}
