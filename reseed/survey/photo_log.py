"""The recorder's photo log: one row for each photo taken, also for photos that were not delivered."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Final

import numpy as np

from reseed.base.csv import decimal_mark, read_text_table
from reseed.base.errors import TableError
from reseed.params.catalog import OnConflict
from reseed.survey.geotag import Facts, facts_from_log
from reseed.survey.identity import agreement, path_parts

FILE_COLUMN: Final = "filename_string"
# Columns of numbers, with what no value exceeds: a log whose latitude is 9.123 has decimal points.
_NUMBERS: Final = {"latitude": 90, "longitude": 180, "ping_depth": None, "pressure_depth": None, "time_secs": None}
_SHOWN: Final = 10


@dataclass(frozen=True)
class PhotoLog:
    """What a photo log says, by the path or name that it gives each photo.

    Args:
        facts: By path as the log has it, in POSIX form; many a log has bare file names.
        rows: Rows of the file.
        duplicates: Rows left out because they say again what another row says.
        contradicted: Names of photos of which rows say different things, left out: nothing is known of them.
    """

    facts: dict[str, Facts]
    rows: int
    duplicates: int
    contradicted: tuple[str, ...] = ()

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[str, ...]]]:
        found: dict[str, list[tuple[str, ...]]] = {}
        for parts in map(path_parts, self.facts):
            found.setdefault(parts[-1], []).append(parts)
        return found

    @cached_property
    def _has_one_folder(self) -> bool:
        return len({parts[:-1] for rows in self._by_name.values() for parts in rows}) == 1

    def find(self, path: str, *, own: bool, unique: Callable[[], bool]) -> str | None:
        """Return the key of the row that is of a frame, or None.

        A row with folders is of the frame whose path agrees with it as far as both go. A bare name is of a frame in the
        folder of the log, and below it only if one recording has a frame of that name.

        Args:
            path: The frame; from the top of its source, or as a whole.
            own: Whether it lies in the folder of the log: where a log has a single folder, that one is meant, whatever
                the recorder called it.
            unique: Whether no other recording below the log has a frame of that name; asked only if that matters.
        """
        frame = path_parts(path)
        best: dict[int, list[str]] = {}
        for row in self._by_name.get(frame[-1], ()):
            depth = agreement(row, frame)
            if depth == len(row) == 1 and not own and not unique():
                continue
            depth = depth or int(own and self._has_one_folder)
            best.setdefault(depth, []).append("/".join(row))
        found = best.get(max(best, default=0), []) if max(best, default=0) else []
        return found[0] if len(found) == 1 else None


def read_photo_log(path: Path, where: str, on_conflict: OnConflict = "error") -> PhotoLog:
    """Read a `photo_log.csv` of any recorder version; needed is the column `filename_string` only.

    Args:
        path: The file.
        where: How messages name it.
        on_conflict: Whether rows of one photo that contradict each other are an error, or all left out and counted.

    Raises:
        TableError: If it cannot be read as a table, or if rows of one photo contradict each other.
    """
    table = read_text_table(path, where)
    table.require([FILE_COLUMN])
    mark = decimal_mark(table, _NUMBERS)
    facts: dict[str, Facts] = {}
    contradictions: dict[str, list[str]] = {}
    duplicates = 0
    for row in table.rows:
        name = "/".join(path_parts(row.cells[FILE_COLUMN]))
        if not name:
            raise TableError(f"{row.where}: {FILE_COLUMN} is empty")
        said = facts_from_log(row.cells, mark)
        if name not in facts:
            facts[name] = said
        elif _same(facts[name], said):
            duplicates += 1
        else:
            contradictions.setdefault(name, []).append(f"{row.where}: {name}")
    if contradictions and on_conflict == "error":
        listed = [line for lines in contradictions.values() for line in lines]
        raise TableError(
            f"{where}: {len(listed)} rows contradict an earlier row about the same photo: "
            f"{'; '.join(listed[:_SHOWN])}; correct the log, or set catalog.on_conflict: drop to go on without them"
        )
    known = {name: said for name, said in facts.items() if name not in contradictions}
    return PhotoLog(known, len(table.rows), duplicates, tuple(sorted(contradictions)))


def _same(a: Facts, b: Facts) -> bool:
    numbers = attrgetter("latitude_deg", "longitude_deg", "water_depth_m", "altitude_m")
    return a.taken == b.taken and np.array_equal(numbers(a), numbers(b), equal_nan=True)
