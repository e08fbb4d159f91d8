"""Reading a table that people made: any of the text forms in which spreadsheets and recorders write them.

UTF-8 with or without a byte-order mark, UTF-16; LF, CRLF or CR; comma, semicolon or tab. Every cell is text: `NA` is a
word like any other. What is broken is an error that names file and row, never a skipped row.
"""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reseed.base.cells import unguard
from reseed.base.errors import TableError
from reseed.base.files import read_regular

_DELIMITERS: Final = (",", ";", "\t")
_BOMS: Final = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


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
            header. Columns without a name, such as row numbers, are left out.
    """
    lines = [
        (number, cells)
        for number, cells in _cells(_decode(read_regular(path), where), where)
        if any(cell.strip() for cell in cells)
    ]
    if not lines:
        raise TableError(f"{where}: the table is empty; it needs a header line at least")
    columns = tuple(cell.strip().casefold() for cell in lines[0][1])
    repeated = sorted({name for name in columns if name and columns.count(name) > 1})
    if repeated:
        raise TableError(f"{where}: column {', '.join(map(repr, repeated))} appears more than once")
    rows = []
    for number, cells in lines[1:]:
        if len(cells) != len(columns):
            raise TableError(f"{where} line {number}: {len(cells)} cells, the header has {len(columns)}")
        named = {name: unguard(cell.strip()) for name, cell in zip(columns, cells, strict=True) if name}
        rows.append(Row(f"{where} line {number}", named))
    return TextTable(where, tuple(filter(None, columns)), tuple(rows))


def _decode(data: bytes, where: str) -> str:
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in data[:4]:
        encoding = "utf-16-be" if data[:1] == b"\0" else "utf-16-le"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TableError(f"{where} line {line}: not {encoding} text; save the table as UTF-8") from error
    if "\0" in text:
        raise TableError(f"{where}: holds NUL characters: no text, or a copy that broke off; bring the table again")
    return text


def _cells(text: str, where: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader]
    except csv.Error as error:
        raise TableError(f"{where} line {reader.line_num}: not readable as a table: {error}") from error


def _delimiter(text: str) -> str:
    # The header decides: column names hold no delimiter, cells may.
    header = next((line for line in text.splitlines() if line.strip()), "")
    return max(_DELIMITERS, key=header.count)
