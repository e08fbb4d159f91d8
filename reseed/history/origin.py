"""Whether tables that somebody hands in speak of rendered frames: such a score says nothing about the field."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from reseed.base.csv import TextTable
from reseed.base.errors import SourceError
from reseed.base.files import read_json
from reseed.score.matching import FRAME_COLUMNS, Item

RAW_RECORD: Final = Path("data/raw.json")
_RAW: Final = Path("data/raw")
_SYNTHETIC: Final = "synthetic"
_PLACES: Final = ("patch_id", *FRAME_COLUMNS)


def speaks_of_rendered(tables: Sequence[TextTable], items: Iterable[Item], root: Path) -> bool | None:
    """Return whether a scored frame was rendered; None where nothing tells.

    What tells: a column `synthetic`; a frame or patch id that starts with the name of a source of `data/raw.json`; a
    table that lies in the folder of such a source.

    Args:
        tables: The tables, `where` being their paths.
        items: Their scored rows.
        root: Folder of the run, where `data/raw.json` lies.
    """
    rows = [item.row for item in items]
    said = [row.cells[_SYNTHETIC] for row in rows if _SYNTHETIC in row.cells]
    if said:
        return any(value not in {"", "0"} for value in said)
    if not (root / RAW_RECORD).is_file():
        return None
    sources = _synthetic(root / RAW_RECORD)
    starts = {row.cells[name].split("/", 1)[0] for row in rows for name in _PLACES if name in row.cells}
    places = [Path(table.where).resolve() for table in tables]
    known = {
        name: rendered
        for name, rendered in sources.items()
        if name in starts or any((root / _RAW / name).resolve() in place.parents for place in places)
    }
    return any(known.values()) if known else None


def _synthetic(record: Path) -> dict[str, bool]:
    """Return whether each source was rendered; a record of another version of the project will do."""
    entries = read_json(record)
    if not isinstance(entries, list) or any(
        not isinstance(e, dict) or not {"name", "synthetic"} <= set(e) for e in entries
    ):
        raise SourceError(f"{record}: no list of sources with name and synthetic; run `dvc repro -f pull`")
    return {str(entry["name"]): bool(entry["synthetic"]) for entry in entries}
