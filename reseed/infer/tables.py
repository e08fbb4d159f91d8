"""The tables of a run of infer, and taking them up again.

They are written line by line while a run goes on, and taken up again where it stopped, however it stopped.
"""

import csv
import io
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reseed.base.classes import CLASS_INDEX
from reseed.base.csv import guard_all, unguard
from reseed.base.errors import TableError
from reseed.survey.identity import capture_order

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


DECISIONS_FILE: Final = "decisions.csv"
PATCHES_FILE: Final = "patches.csv"
THUMBNAILS_FILE: Final = "thumbnails.csv"
BAD_FILE: Final = "bad_frames.csv"
SKIPPED_FILE: Final = "skipped.csv"
TRACK_FILE: Final = "track.geojson"
MAP_FILE: Final = "map.html"

DECISION_COLUMNS: Final = (
    *("frame", "captured_at", "latitude_deg", "longitude_deg", "water_depth_m", "altitude_m"),
    *("rows", "cols", "n_patches", "deploy_count", "coral_count", "deploy_ratio", "coral_cover"),
    *("alpha", "decision", "ask_reason", "latency_ms", "synthetic"),
)
PATCH_COLUMNS: Final = (
    *("frame", "row", "col", "x0", "y0", "x1", "y1"),
    *("p_no_deploy", "p_coral", "p_deploy", "predicted"),
)
# Base64 keeps it a table of lines, and no search for frames ever takes a thumbnail for one.
THUMBNAIL_COLUMNS: Final = ("frame", "jpeg_base64")
BAD_COLUMNS: Final = ("frame", "reason", "detail")
SKIPPED_COLUMNS: Final = ("frame", "newer_frame")


@dataclass(frozen=True)
class FrameRow:
    """One row of `decisions.csv`.

    Args:
        frame: Name of the frame.
        captured_at: ISO 8601, UTC; empty if unknown.
        place: Latitude and longitude in degrees; None if unknown.
        water_depth_m: None if unknown.
        rows: Of the grid.
        cols: Of the grid.
        deploy_count: Patches predicted Deploy.
        coral_count: Patches predicted Coral.
        decision: Deploy, No-Deploy or Ask.
        ask_reason: Why Ask; empty for the others.
        latency_ms: From opening the file to the decision.
        synthetic: Whether the demo rendered the frame.
    """

    frame: str
    captured_at: str
    place: tuple[float, float] | None
    water_depth_m: float | None
    rows: int
    cols: int
    deploy_count: int
    coral_count: int
    decision: str
    ask_reason: str
    latency_ms: float
    synthetic: bool

    @property
    def n_patches(self) -> int:
        """Patches of the frame."""
        return self.rows * self.cols


def take_up(out: Path) -> set[str]:
    """Mend the tables of a run that stopped anyhow, and return the frames it had decided.

    A frame counts as decided if its row and all its patches are there.

    Raises:
        TableError: If a table is damaged before its end.
    """
    recover(out / DECISIONS_FILE, DECISION_COLUMNS)
    recover(out / PATCHES_FILE, PATCH_COLUMNS)
    patches = Counter(row["frame"] for row in read_lines(out / PATCHES_FILE, PATCH_COLUMNS))
    recover(
        out / DECISIONS_FILE, DECISION_COLUMNS, keep=lambda row: str(patches.get(row["frame"], 0)) == row["n_patches"]
    )
    decided = {row["frame"] for row in read_lines(out / DECISIONS_FILE, DECISION_COLUMNS)}
    recover(out / PATCHES_FILE, PATCH_COLUMNS, keep=lambda row: row["frame"] in decided)
    recover(out / THUMBNAILS_FILE, THUMBNAIL_COLUMNS, keep=lambda row: row["frame"] in decided)
    return decided


def read_decisions(out: Path) -> list[FrameRow]:
    """Read `decisions.csv` in the order of capture."""
    rows = {row.frame: row for row in map(_frame_row, read_lines(out / DECISIONS_FILE, DECISION_COLUMNS))}
    return [rows[frame] for frame in capture_order((row.frame, row.captured_at) for row in rows.values())]


def read_classes(out: Path) -> dict[str, str]:
    """Return the predicted classes of each frame's patches, row by row, a digit each: the index of the class."""
    classes: dict[str, list[str]] = {}
    for cells in read_lines(out / PATCHES_FILE, PATCH_COLUMNS):
        classes.setdefault(cells["frame"], []).append(str(CLASS_INDEX[cells["predicted"]]))
    return {frame: "".join(digits) for frame, digits in classes.items()}


def read_reasons(out: Path) -> Counter[str]:
    """Return how many frames could not be used, by reason."""
    return Counter(row["reason"] for row in read_lines(out / BAD_FILE, BAD_COLUMNS))


def count_skipped(out: Path) -> int:
    """Return how many frames were passed over because newer ones waited."""
    return sum(1 for _ in read_lines(out / SKIPPED_FILE, SKIPPED_COLUMNS))


def fixed(value: float | None, decimals: int) -> str:
    """Return a number as the tables hold it; empty if unknown."""
    return "" if value is None or math.isnan(value) else f"{value + 0.0:.{decimals}f}"


def _frame_row(cells: dict[str, str]) -> FrameRow:
    latitude, longitude = _number(cells["latitude_deg"]), _number(cells["longitude_deg"])
    return FrameRow(
        frame=cells["frame"],
        captured_at=cells["captured_at"],
        place=None if latitude is None or longitude is None else (latitude, longitude),
        water_depth_m=_number(cells["water_depth_m"]),
        rows=int(cells["rows"]),
        cols=int(cells["cols"]),
        deploy_count=int(cells["deploy_count"]),
        coral_count=int(cells["coral_count"]),
        decision=cells["decision"],
        ask_reason=cells["ask_reason"],
        latency_ms=float(cells["latency_ms"]),
        synthetic=cells["synthetic"] == "1",
    )


def _number(text: str) -> float | None:
    return float(text) if text else None
