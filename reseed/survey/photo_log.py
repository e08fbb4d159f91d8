"""The recorder's photo log: one row for each photo taken, also for photos that were not delivered."""

import math
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final

from reseed.base.csv import read_text_table
from reseed.base.errors import TableError
from reseed.params.catalog import OnConflict
from reseed.survey.geotag import Facts, facts_from_log

FILE_COLUMN: Final = "filename_string"
_SHOWN: Final = 10


@dataclass(frozen=True)
class PhotoLog:
    """What a photo log says, by file name.

    Args:
        facts: By file name without folder.
        rows: Rows of the file.
        duplicates: Rows left out because they say again what another row says.
        contradicted: Names of photos of which rows say different things, left out: nothing is known of them.
    """

    facts: dict[str, Facts]
    rows: int
    duplicates: int
    contradicted: tuple[str, ...] = ()


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
    facts: dict[str, Facts] = {}
    contradictions: dict[str, list[str]] = {}
    duplicates = 0
    for row in table.rows:
        name = _file_name(row.cells[FILE_COLUMN])
        if not name:
            raise TableError(f"{row.where}: {FILE_COLUMN} is empty")
        said = facts_from_log(row.cells)
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


def _file_name(text: str) -> str:
    # Some recorders write the whole path, of their own system.
    return PureWindowsPath(PurePosixPath(text).name).name


def _same(a: Facts, b: Facts) -> bool:
    pairs = (
        (a.latitude_deg, b.latitude_deg),
        (a.longitude_deg, b.longitude_deg),
        (a.water_depth_m, b.water_depth_m),
        (a.altitude_m, b.altitude_m),
    )
    return a.taken == b.taken and all(x == y or (math.isnan(x) and math.isnan(y)) for x, y in pairs)
