"""Which tool wrote the files of a source: the one recognised, or the nearest one and what is missing."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from reseed.base.csv import TextTable
from reseed.base.errors import TableError
from reseed.sources.inventory import Inventory
from reseed.survey.exports.declaration import Declaration, declarations
from reseed.survey.exports.formats import READERS

_SHOWN = 5


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
    said = "; ".join([*others[:_SHOWN], *listed]) or "there is no CSV file at all"
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
