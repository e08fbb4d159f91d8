"""Tables written line by line while a run goes on, and taken up again where it stopped, however it stopped."""

import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from reseed.base.cells import guard_all, unguard
from reseed.base.errors import TableError

_TAIL_BYTES: Final = 1 << 20  # far more than a run writes between two calls of the operating system


class LineFile:
    """Appends rows to a CSV file: UTF-8, LF, each row handed to the operating system before the next one begins.

    Args:
        path: Made with its header if it is not there.
        columns: In file order.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        self._columns = tuple(columns)
        with writing(path):
            # Unbuffered: a row that could not be written must not be written later. `close` closes it.
            self._file = path.open("ab", buffering=0)
        try:
            if path.stat().st_size == 0:
                self.append([dict(zip(self._columns, self._columns, strict=True))])
        except BaseException:
            self.close()
            raise

    def append(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Write rows, complete or not at all as far as this process is concerned.

        Raises:
            TableError: If the file cannot be written, such as a full disk.
        """
        with writing(self.path):
            self._put([[row[name] for name in self._columns] for row in rows])

    def sync(self) -> None:
        """Have the operating system put what was written on the disk, in case of a power cut."""
        with writing(self.path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; what could not be written has been said before."""
        with suppress(OSError):
            self._file.close()

    def _put(self, rows: Sequence[Sequence[object]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(map(guard_all, rows))
        left = memoryview(text.getvalue().encode("utf-8", "backslashreplace"))
        while left:
            left = left[self._file.write(left) or 0 :]


def read_lines(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of a table, none if there is no such file.

    Raises:
        TableError: If a row is damaged.
    """
    if not path.is_file():
        return
    with path.open("rb") as reader:
        next(reader, b"")
        for number, line in enumerate(reader, 2):
            row = _row(line, columns)
            if row is None:
                raise TableError(f"{path}: line {number} is damaged; choose another --out")
            yield row


def recover(path: Path, columns: Sequence[str], *, keep: Callable[[dict[str, str]], bool] | None = None) -> None:
    """Cut what a killed run left half-written off the end of a table.

    Args:
        path: May be missing.
        columns: What its header must be.
        keep: Rows at the end for which it is False are cut off too.

    Raises:
        TableError: If the file has another header, or more than its end is damaged.
    """
    if not path.is_file():
        return
    header = (",".join(columns) + "\n").encode()
    with path.open("rb") as reader:
        first = reader.readline()
        if not first.endswith(b"\n") or not first.strip(b"\0\n"):
            with writing(path):
                path.unlink()  # the run ended while it wrote the header
            return
        if first != header:
            raise TableError(f"{path}: columns {first.decode('utf-8', 'replace').strip()}; needed: {','.join(columns)}")
        start = reader.seek(max(len(header), path.stat().st_size - _TAIL_BYTES))
        if start > len(header):
            start += len(reader.readline())
        lines = reader.readlines()
    rows = [_row(line, columns) for line in lines]
    while rows and ((last := rows[-1]) is None or (keep is not None and not keep(last))):
        rows.pop()
    if not rows and start > len(header):
        raise TableError(f"{path}: its last {_TAIL_BYTES >> 20} MiB are damaged; choose another --out")
    with writing(path):
        os.truncate(path, start + sum(map(len, lines[: len(rows)])))


def _row(line: bytes, columns: Sequence[str]) -> dict[str, str] | None:
    """Return the cells of a whole line, else None; no cell holds a line break, so that a line is a row."""
    if not line.endswith(b"\n") or b"\0" in line:  # a power cut may leave NUL bytes at the end
        return None
    try:
        cells = next(csv.reader([line.decode("utf-8")], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        return None
    return dict(zip(columns, map(unguard, cells), strict=True)) if len(cells) == len(columns) else None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an operating-system error into one line that names the file and the way on.

    Raises:
        TableError: In place of any `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise TableError(
            f"cannot write {path}: {error.strerror or error}; what was decided before is kept, and the same command "
            "goes on from there once the file can be written"
        ) from error
