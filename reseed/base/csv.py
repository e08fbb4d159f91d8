"""Reading a table that people made: any of the text forms in which spreadsheets and recorders write them.

UTF-8 with or without a byte-order mark, UTF-16; LF, CRLF or CR; comma, semicolon, tab or bar, or what a first line
`sep=;` says. Every cell is text: `NA` is a word like any other. What is broken is an error that names file and row,
never a skipped row. Numbers are read with the decimal mark that the whole table uses (`reseed.base.numerals`).

Names of frames, sites and labels come from files of others. A cell that a spreadsheet would take for a formula is
written with an apostrophe before it, and read without it.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reseed.base.errors import TableError
from reseed.base.files import read_regular
from reseed.base.numerals import Cell, NumberError, parse_number, settle_decimal_mark

# Also in their full-width forms, which some spreadsheets read as the same characters.
_STARTS: Final = "=+\\-@\t\r\uff1d\uff0b\uff0d\uff20"
_RISKY: Final = re.compile(rf"(^|[;\t])('*)(?=\s*[{_STARTS}])")
_WRITTEN: Final = re.compile(rf"(^|[;\t])'('*)(?=\s*[{_STARTS}])")
_NUMBER: Final = re.compile(r"'*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FIRST: Final = frozenset("'=+-@\uff1d\uff0b\uff0d\uff20")


def guard(text: str) -> str:
    """Return a cell as it is written; numbers stay as they are.

    >>> guard("=1+1.jpg"), guard("-9.5"), guard("reef_7.jpg")
    ("'=1+1.jpg", '-9.5', 'reef_7.jpg')
    """
    return _changed(_RISKY, r"\1'\2", text)


def unguard(text: str) -> str:
    """Return what was written by `guard`; any other text comes back as it is."""
    return _changed(_WRITTEN, r"\1\2", text)


def guard_all(values: Iterable[object]) -> list[Any]:
    """Return a column as it is written: `guard` of what is text."""
    return [guard(value) if isinstance(value, str) else value for value in values]


def _changed(pattern: re.Pattern[str], change: str, text: str) -> str:
    if not text or (text[0] not in _FIRST and not text[0].isspace() and ";" not in text and "\t" not in text):
        return text
    return text if _NUMBER.fullmatch(text) else pattern.sub(change, text)


_DELIMITERS: Final = (",", ";", "\t", "|")
# Excel writes this line to say what divides the cells; other programs leave it where it is.
_SEPARATOR: Final = re.compile(r"\s*\"?sep=(?P<sign>[^\"\r\n]?)\"?[,;\t ]*(?:\r\n|\r|\n|$)", re.IGNORECASE)
_QUOTED: Final = re.compile(r'"[^"]*"')
# Blanks that `str.strip` takes for letters: zero-width ones and a byte-order mark inside the text.
_UNSEEN: Final = "\u200b\u200c\u200d\u2060\ufeff"
_BOMS: Final = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


_MOST_DIGITS: Final = 12  # no coordinate and no count has more


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Args:
        where: File and line, for messages.
        cells: Cell text without surrounding blanks, by column name in lower case.
    """

    where: str
    cells: dict[str, str]


@dataclass(frozen=True)
class TextTable:
    """A table as it stands in a file.

    Args:
        where: The file, for messages.
        columns: Column names in lower case without surrounding blanks, in file order.
        rows: In file order; blank lines are left out.
    """

    where: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def require(self, columns: Iterable[str]) -> None:
        """Check that the columns are there.

        Raises:
            TableError: Names the missing ones and those found.
        """
        missing = [name for name in columns if name not in self.columns]
        if missing:
            raise TableError(f"{self.where}: no column {', '.join(missing)}; found: {', '.join(self.columns)}")


def read_text_table(path: Path, where: str) -> TextTable:
    """Read a table with one header line.

    Args:
        path: The file.
        where: How messages name it: its path below data/raw.

    Raises:
        TableError: If the file is empty or no text, if a column name repeats, or if a row is longer or shorter than the
            header. Columns without a name, such as row numbers, are left out, and so are empty cells beyond the header.
    """
    lines = [
        (number, cells)
        for number, cells in _cells(decode_text(read_regular(path), where, "table"), where)
        if any(map(stripped, cells))
    ]
    if not lines:
        raise TableError(f"{where}: the table is empty; it needs a header line at least")
    columns = tuple(stripped(cell).casefold() for cell in lines[0][1])
    repeated = sorted({name for name in columns if name and columns.count(name) > 1})
    if repeated:
        raise TableError(f"{where}: column {', '.join(map(repr, repeated))} appears more than once")
    rows = []
    for number, cells in lines[1:]:
        if len(cells) < len(columns) or any(map(stripped, cells[len(columns) :])):
            raise TableError(f"{where} line {number}: {len(cells)} cells, the header has {len(columns)}")
        named = {name: unguard(stripped(cell)) for name, cell in zip(columns, cells, strict=False) if name}
        rows.append(Row(f"{where} line {number}", named))
    return TextTable(where, tuple(filter(None, columns)), tuple(rows))


def decimal_mark(table: TextTable, limits: Mapping[str, int | None]) -> str | None:
    """Return the decimal mark that the numbers of a table use, None if no cell tells.

    Args:
        table: The table.
        limits: Its columns of numbers, each with what its size cannot exceed, None if nothing is known.

    Raises:
        TableError: If cells use different marks.
    """
    return settle_decimal_mark(
        Cell(f"{row.where}: {column}", row.cells[column], limit)
        for column, limit in limits.items()
        if column in table.columns
        for row in table.rows
    )


def whole_number(row: Row, column: str, mark: str | None) -> int:
    """Return a cell that must hold a whole number; spreadsheets write 4.0 for 4.

    Args:
        row: The row.
        column: Its column.
        mark: Decimal mark of the table, as `decimal_mark` finds it.

    Raises:
        TableError: If it holds anything else, may be two numbers, or has lost digits.
    """
    text = row.cells[column]
    if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:  # nearly every cell
        return int(text)
    try:
        number = parse_number(text, mark)
    except NumberError as error:
        if error.reason == "not_a_number":
            raise TableError(f"{row.where}: {column} is {text[:40]!r}; a whole number is needed") from error
        raise TableError(f"{row.where}: {column}: {error}") from error
    if number.denominator != 1 or abs(number) >= 10**_MOST_DIGITS:
        raise TableError(f"{row.where}: {column} is {text[:40]!r}; a whole number is needed")
    return int(number)


def decode_text(data: bytes, where: str, what: str = "file") -> str:
    """Return the content of a text file: UTF-8 or UTF-16, with or without a byte-order mark.

    Raises:
        TableError: If it is neither, or holds NUL characters; names file and line.
    """
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in data[:4]:
        encoding = "utf-16-be" if data[:1] == b"\0" else "utf-16-le"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TableError(f"{where} line {line}: not {encoding} text; save the {what} as UTF-8") from error
    if "\0" in text:
        raise TableError(f"{where}: holds NUL characters: no text, or a copy that broke off; bring the {what} again")
    return text


def stripped(cell: str) -> str:
    """Return a text without blanks around it, also those that nobody sees."""
    return cell.strip().strip(_UNSEEN).strip()


def _cells(text: str, where: str) -> list[tuple[int, list[str]]]:
    text = text.removeprefix("\ufeff")
    said = _SEPARATOR.match(text)
    skipped = 0
    if said:
        # `sep=` with a line end right after it: a tab that an editor removed, or nothing; the header then decides.
        text, skipped = text[said.end() :], 1
    delimiter = (said["sign"] if said else "") or _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num + skipped, cells) for cells in reader]
    except csv.Error as error:
        raise TableError(f"{where} line {reader.line_num + skipped}: not readable as a table: {error}") from error


def _delimiter(text: str) -> str:
    # The header decides: column names hold no delimiter outside quotes, cells may.
    header = _QUOTED.sub("", next((line for line in text.splitlines() if line.strip()), ""))
    return max(_DELIMITERS, key=header.count)
