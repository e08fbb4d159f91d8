"""Exports of annotation tools: a YAML file of this folder declares each; which tool wrote the files of a source."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from ruamel.yaml import YAML

from reseed.base.csv import TextTable
from reseed.base.errors import TableError
from reseed.sources.folder import explained
from reseed.sources.inventory import Inventory
from reseed.survey.layouts.export_formats import READERS

Format = Literal["csv", "coco", "label-studio", "cpce", "viame", "yolo"]


class Declaration(BaseModel):
    """One tool.

    A column is given by the names it has had in versions of the tool, the first that a table has counts; `a + b` is two
    columns that make one text. Names are compared without regard to case, blanks, dots, underscores and dashes. x, y: a
    point, or the corner or centre of a rectangle of width and height; x0 to y1: corners; points: a polygon, a list of x
    and y; shape: which of these the points mean.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    title: str = Field(description="name of the tool, for messages")
    format: Format = Field(description="how its files are written")
    files: list[str] = Field(description="patterns of the names that such files have, in lower case")
    columns: dict[str, list[str]] = Field(description="our word for a column: its names in the export, best first")
    needs: list[str] = Field(description="words of columns without which it is no such export")
    signs: list[str] = Field(description="columns that no other tool writes: any of them tells the tool")
    unit: Literal["px", "fraction", "percent"] = Field(description="of places: pixels, or shares of the frame")
    whole: bool = Field(description="whether places are whole pixels that must lie inside the frame")
    origin: Literal["corner", "centre"] = Field(description="what x and y are of a rectangle of width and height")
    annotators: Literal["each", "shared"] = Field(
        description="each: everybody labels on their own; shared: one label a place, whoever confirmed it last"
    )
    people_only: bool = Field(description="whether the tool holds labels of people only, so that no column need say so")
    unlabelled: Literal["error", "drop"] = Field(description="rows without a label: an error, or left out and counted")
    human_score: float | None = Field(description="score that a label by a person has; null: a score means a machine")
    codes: Literal["own", "foreign"] = Field(
        description="own: labels that read like a class are that class where the map lacks them; foreign: never guessed"
    )
    remark: str = Field(description="what a reader of such an export should know; may be empty")

    def found(self, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return, by our word, the columns of a table that hold it; words that it lacks are left out."""
        by_name: dict[str, str] = {}
        for column in columns:
            by_name.setdefault(folded(column), column)
        return {word: held for word, names in self.columns.items() if (held := _first(names, by_name))}

    def images(self, columns: Sequence[str]) -> list[str]:
        """Return the columns of a table that may name the image, best first: a row may fill one of them only."""
        by_name = {folded(column): column for column in columns}
        return [by_name[folded(name)] for name in self.columns.get("image", []) if folded(name) in by_name]

    def lacking(self, columns: Sequence[str]) -> list[str]:
        """Return the names of the needed columns that a table lacks, as the tool writes them."""
        found = self.found(columns)
        return [" or ".join(self.columns[word]) for word in self.needs if word not in found]

    def signed(self, columns: Sequence[str]) -> list[str]:
        """Return the columns of a table that no other tool writes."""
        by_name = {folded(column): column for column in columns}
        return [by_name[folded(sign)] for sign in self.signs if folded(sign) in by_name]


def folded(name: str) -> str:
    """Return a column name without case, blanks, dots, underscores and dashes."""
    return re.sub(r"[\s_\-.]+", "", name.casefold())


@cache
def declarations() -> Mapping[str, Declaration]:
    """Return every tool by the name that its layout has, in the order of the names."""
    folder = Path(__file__).parent
    reader = YAML(typ="safe", pure=True)
    return {path.stem: Declaration.model_validate(reader.load(path)) for path in sorted(folder.glob("*.yaml"))}


def _first(names: Sequence[str], by_name: Mapping[str, str]) -> tuple[str, ...]:
    for name in names:
        parts = [folded(part) for part in name.split(" + ")]
        if all(part in by_name for part in parts):
            return tuple(by_name[part] for part in parts)
    return ()


_SHOWN = 5
_HEAD_BYTES: Final = 1 << 16
# Exports that people bring and no layout reads, with what the beginning of such a file holds.
_UNREAD: Final = {
    "Pascal VOC XML": (b"<annotation", b"<object", b"<bndbox"),
    "LabelMe JSON": (b'"shapes"', b'"points"', b'"shape_type"'),
    "a VGG Image Annotator (VIA) export": (b"region_attributes", b"shape_attributes"),
}


@dataclass(frozen=True)
class Export:
    """A file that a tool wrote.

    Args:
        tool: Name of its layout.
        path: POSIX path below the source.
        why: What speaks for it.
    """

    tool: str
    path: str
    why: str


def export_files(declared: Declaration, inventory: Inventory) -> list[str]:
    """Return the files of a source whose name may be that of such an export."""
    named = ((path, PurePosixPath(path).name.casefold()) for path in inventory.others)
    return [path for path, name in named if any(fnmatchcase(name, pattern) for pattern in declared.files)]


def find_exports(inventory: Inventory) -> tuple[list[Export], dict[str, str]]:
    """Return the files that tools wrote, and by path of other tables the tool that is nearest and what is missing."""
    found: list[Export] = []
    near: dict[str, str] = {}
    readers = {name: reader(inventory) for name, reader in READERS.items()}
    for path in inventory.others:
        tables = dict(_tables(path, readers))
        fitting = [
            (len(declared.signed(table.columns)), len(declared.needs), tool)
            for tool, (declared, table) in tables.items()
            if not declared.lacking(table.columns)
            and (declared.signs == [] or declared.signed(table.columns) or tool == "coralnet")
        ]
        if fitting:
            _, _, tool = max(fitting)
            declared, table = tables[tool]
            found.append(Export(tool, path, f"{path} is an export of {declared.title}{_reason(declared, table)}"))
        else:
            like = nearest(path, [table for _, table in tables.values()][:1])
            near |= {path: like} if like else {}
    return found, near


def nearest(path: str, tables: Iterable[TextTable]) -> str:
    """Return which tool a table is nearest to and what it lacks, empty if it is like none."""
    for table in tables:
        if "frame" in table.columns:  # a table of layout survey
            continue
        scored = [
            (len(declared.signed(table.columns)) + len(declared.found(table.columns)), tool)
            for tool, declared in declarations().items()
            if declared.format == "csv"
        ]
        _, tool = max(scored)
        declared = declarations()[tool]
        lacking = declared.lacking(table.columns)
        held = len(declared.needs) - len(lacking)
        if lacking and (declared.signed(table.columns) or held * 2 >= len(declared.needs)):
            return f"{path} is nearest to {declared.title} (layout {tool}); missing: {', '.join(lacking)}"
    return ""


def unread_exports(inventory: Inventory) -> str:
    """Say which files look like exports in a form that is not read, and the way out; empty if none does."""
    found: dict[str, list[str]] = {}
    for path in inventory.others:
        if path.casefold().endswith((".xml", ".json", ".csv")):
            file = inventory.root / path
            with explained(file, "read"), file.open("rb") as reader:
                head = reader.read(_HEAD_BYTES)
            form = next((form for form, marks in _UNREAD.items() if all(mark in head for mark in marks)), None)
            if form:
                found.setdefault(form, []).append(path)
    named = " and ".join(f"{len(paths)} files like {paths[0]} look like {form}" for form, paths in found.items())
    way = "convert them to COCO JSON (layout coco), or to a CSV file with the columns file, x0, y0, x1, y1, label"
    return f"{named}, which is not read; {way} (layout table)" if named else ""


def not_this_export(tool: str, inventory: Inventory, tables: list[tuple[str, TextTable]]) -> TableError:
    """Return the error that a source holds no export of a tool, with what is there instead."""
    declared = declarations()[tool]
    needed = ", ".join(" or ".join(declared.columns[word]) for word in declared.needs if word in declared.columns)
    if declared.format == "csv":
        what = f"no CSV file with the columns {needed}"
    else:
        what = f"no file ({', '.join(declared.files)}) that is an export of {declared.title}"
    found, _ = find_exports(inventory)
    others = [f"{export.why} (layout {export.tool})" for export in found if export.tool != tool]
    listed = [f"{path} has {', '.join(table.columns)}" for path, table in tables[:_SHOWN]]
    said = (
        "; ".join(filter(None, [*others[:_SHOWN], *listed, unread_exports(inventory)])) or "there is no CSV file at all"
    )
    return TableError(f"{inventory.source}: {what}; found: {said}")


def _tables(
    path: str, readers: Mapping[str, Callable[[str], TextTable | None]]
) -> Iterator[tuple[str, tuple[Declaration, TextTable]]]:
    name = PurePosixPath(path).name.casefold()
    read: dict[str, TextTable | None] = {}
    for tool, declared in declarations().items():
        if not any(fnmatchcase(name, pattern) for pattern in declared.files):
            continue
        if declared.format not in read:
            try:
                read[declared.format] = readers[declared.format](path)
            except TableError:  # a file that is no table says nothing; a layout that needs it says what is wrong
                read[declared.format] = None
        table = read[declared.format]
        if table is not None:
            yield tool, (declared, table)


def _reason(declared: Declaration, table: TextTable) -> str:
    if declared.format != "csv":
        return ""
    signs = declared.signed(table.columns)
    shown = signs[:3] or [column for held in declared.found(table.columns).values() for column in held]
    return f", with the columns {', '.join(shown)}"
