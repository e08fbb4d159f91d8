"""Two tables of labelled items, brought together by key: predictions and gold, or one annotator and another.

Tables come from anybody: columns are named, or taken from the short lists below. What does not fit is an error that
names the first ten offenders of every kind, never a skipped row.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reseed.base.classes import match_class
from reseed.base.csv import Row, TextTable
from reseed.base.errors import TableError
from reseed.base.numerals import NumberError, parse_number

Key = tuple[str, ...]

# Taken in this order: the first whose columns both tables have. The grid comes before the bare cell, as cell 0, 0 of a
# grid of 4 x 7 is another piece of the frame than cell 0, 0 of 5 x 9.
KEYS: Final[tuple[Key, ...]] = (
    ("patch_id",),
    *(
        (frame, *place)
        for frame in ("frame_id", "frame", "image", "name")
        for place in (("grid_rows", "grid_cols", "row", "col"), ("row", "col"), ("row", "column"))
    ),
    *((frame, "x0", "y0", "x1", "y1") for frame in ("frame_id", "frame", "image", "name")),
    ("frame_id",),
    ("frame",),
    ("image",),
    ("file",),
    ("filename",),
    ("name",),
    ("id",),
)
PREDICTED: Final = ("predicted", "prediction", "decision", "label", "class")
# `label` first: labels.csv has both, and there `gold` only says whose labels are the reference.
GOLD: Final = ("label", "gold", "class", "reference", "decision")
ANNOTATED: Final = ("label", "class", "decision")
GROUPS: Final = ("group", "site", "sequence")
FRAME_COLUMNS: Final = ("frame_id", "frame", "image", "name")

_SHOWN: Final = 10
_NUMBERS: Final = {"grid_rows", "grid_cols", "row", "col", "column", "x0", "y0", "x1", "y1"}


@dataclass(frozen=True)
class Item:
    """One row.

    Args:
        key: What identifies it, one text for each key column.
        label: Its class by its one name; empty if the row has none.
        row: The row as it stands in the file.
    """

    key: Key
    label: str
    row: Row


@dataclass(frozen=True)
class Items:
    """The rows of one table that count.

    Args:
        where: The file, for messages.
        key: Key columns.
        label: Label column.
        items: In file order.
        problems: What is wrong with them, one text for each kind.
    """

    where: str
    key: Key
    label: str
    items: tuple[Item, ...]
    problems: tuple[str, ...]

    @property
    def by_key(self) -> dict[Key, Item]:
        """Key to item."""
        return {item.key: item for item in self.items}


def choose_key(first: TextTable, second: TextTable, given: Sequence[str] | None) -> Key:
    """Return the key columns: those given (`frame row col` or `frame,row,col`), else the first of KEYS that both have.

    Raises:
        TableError: If a given column is missing, or none of KEYS is in both.
    """
    if given:
        key = tuple(name.strip().casefold() for text in given for name in text.split(","))
        for table in (first, second):
            table.require(key)
        return key
    for key in KEYS:
        if all(name in table.columns for name in key for table in (first, second)):
            return key
    raise TableError(
        f"no columns identify an item in both tables; {first.where}: {', '.join(first.columns)}; {second.where}: "
        f"{', '.join(second.columns)}; name the columns that identify an item with --key, or call them "
        f"{' or '.join(','.join(key) for key in (KEYS[0], ('frame', 'row', 'col'), ('frame',)))}"
    )


def choose_column(table: TextTable, given: str | None, known: Sequence[str], what: str, option: str) -> str:
    """Return the column that holds `what`: the one given, else the first of `known` that the table has.

    Raises:
        TableError: If the table has none.
    """
    if given is not None:
        name = given.strip().casefold()
        table.require([name])
        return name
    for name in known:
        if name in table.columns:
            return name
    raise TableError(
        f"{table.where}: no column with the {what} (looked for {', '.join(known)}); found: "
        f"{', '.join(table.columns)}; name it with {option}"
    )


def keep(table: TextTable, wanted: Sequence[tuple[str, str]]) -> TextTable:
    """Return the rows whose columns have the wanted values; a column that the table lacks asks nothing of it.

    Raises:
        TableError: If no row is left.
    """
    asked = [(name, value) for name, value in wanted if name in table.columns]
    rows = tuple(row for row in table.rows if all(row.cells[name] == value for name, value in asked))
    if not rows:
        said = " and ".join(f"{name}={value}" for name, value in asked)
        raise TableError(f"{table.where}: none of {len(table.rows)} rows is left{f' where {said}' if said else ''}")
    return TextTable(table.where, table.columns, rows)


def read_items(table: TextTable, key: Key, label: str, allowed: Sequence[str], *, may_be_empty: bool) -> Items:
    """Read key and label of every row; problems are collected, as several tables are told of in one message.

    Args:
        table: The rows.
        key: Key columns.
        label: Label column.
        allowed: Classes or decisions; other spellings of them are understood (`no_deploy`).
        may_be_empty: Whether a row may have no label: it is kept with an empty one.
    """
    items, unknown, empty = [], [], []
    for row in table.rows:
        text = row.cells[label]
        name = match_class(text)
        if name is not None and name not in allowed:
            name = None
        if not text and not may_be_empty:
            empty.append(row)
        elif text and name is None:
            unknown.append(f"{text!r} (line {_line(row)})")
        items.append(Item(tuple(_part(row, column) for column in key), name or "", row))
    problems = [
        _listed(f"{table.where}: unknown labels in {label}, allowed are {', '.join(allowed)}", unknown),
        _listed(f"{table.where}: rows without a label in {label}", [f"line {_line(r)}" for r in empty]),
        _repeated(table.where, key, items),
    ]
    return Items(table.where, key, label, tuple(items), tuple(problem for problem in problems if problem))


def require_no_problem(problems: Iterable[str]) -> None:
    """Stop if there is a problem.

    Raises:
        TableError: Names all of them.
    """
    found = [problem for problem in problems if problem]
    if found:
        raise TableError("\n".join(found))


def unmatched(items: Items, other: Items, what: str) -> str:
    """Return the problem that `items` has keys that `other` has not; empty if there is none.

    Args:
        items: Whose keys are looked up.
        other: Where they are looked up.
        what: How the message calls them, up to the name of the other table: `keys without a prediction in`.
    """
    known = {item.key for item in other.items}
    lost = in_order(item.key for item in items.items if item.key not in known)
    return _listed(f"{items.where}: {what} {other.where}", [key_text(key) for key in lost])


def in_order(keys: Iterable[Key]) -> list[Key]:
    """Return the keys, each once, sorted: numbers by value, the rest as text."""
    return sorted(set(keys), key=sorting)


def sorting(key: Key) -> tuple[tuple[int, int, str], ...]:
    """Return what a key is sorted by."""
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in key)


def key_text(key: Key) -> str:
    """Return a key for people: its parts, with blanks between them."""
    return " ".join(key)


def without_value(items: Iterable[Item], column: str, where: str) -> str:
    """Return the problem that items have nothing in another column; empty if there is none."""
    lost = [key_text(item.key) for item in items if not item.row.cells[column]]
    return _listed(f"{where}: items with nothing in {column}", lost)


def frame_of(key_columns: Key, key: Key) -> str | None:
    """Return the frame that an item lies on, or None if its key does not tell: then it is a frame itself.

    >>> frame_of(("patch_id",), ("reef/a.jpg#r000c001",))
    'reef/a.jpg'
    """
    if key_columns == ("patch_id",):
        return key[0].rpartition("#")[0] or None
    if len(key_columns) > 1:
        return next((part for column, part in zip(key_columns, key, strict=True) if column in FRAME_COLUMNS), None)
    return None


def first_with(column: str | None, known: Sequence[str], tables: Sequence[TextTable]) -> tuple[int, str] | None:
    """Return which table has the column (the first that does) and its name, or None if none of `known` is there.

    Args:
        column: The one asked for, or None for the first of `known`.
        known: Names to look for.
        tables: Where, in order.

    Raises:
        TableError: If the column asked for is in none of the tables.
    """
    for name in known if column is None else [column.strip().casefold()]:
        for place, table in enumerate(tables):
            if name in table.columns:
                return place, name
    if column is not None:
        found = "; ".join(f"{table.where}: {', '.join(table.columns)}" for table in tables)
        raise TableError(f"no column {column} in either table; found: {found}")
    return None


def _part(row: Row, column: str) -> str:
    text = unicodedata.normalize("NFC", row.cells[column])
    if column in _NUMBERS:
        try:
            number = parse_number(text)
        except NumberError as error:
            if error.reason != "not_a_number":
                raise TableError(f"{row.where}: {column}: {error}") from error
        else:
            return str(int(number)) if number.denominator == 1 else text
    return text.replace("\\", "/") if column in FRAME_COLUMNS else text


def _repeated(where: str, key: Key, items: Sequence[Item]) -> str:
    lines: dict[Key, list[str]] = {}
    for item in items:
        lines.setdefault(item.key, []).append(_line(item.row))
    several = [f"{key_text(key)} (lines {', '.join(found)})" for key, found in lines.items() if len(found) > 1]
    return _listed(f"{where}: keys ({', '.join(key)}) more than once", several)


def _line(row: Row) -> str:
    return row.where.rsplit(" ", 1)[-1]


def _listed(what: str, offenders: Sequence[str], shown: int = _SHOWN) -> str:
    if not offenders:
        return ""
    more = f"\n  ... and {len(offenders) - shown} more" if len(offenders) > shown else ""
    return f"{what} ({len(offenders)}):" + "".join(f"\n  {text}" for text in offenders[:shown]) + more
