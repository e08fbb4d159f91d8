"""`data/raw.json`: which sources lie below `data/raw`, and what exactly was brought."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

from reseed.base.errors import SourceError
from reseed.base.files import read_json, write_json


@dataclass(frozen=True)
class RawSource:
    """One source as it was pulled.

    Args:
        name: Folder below data/raw.
        kind: `demo`, `folder`, `archive` or `url`.
        uri: Where it came from, as the parameters have it: not expanded, so that it holds no path of one machine.
        layout: How the folder is organised.
        sha256: Digest that pins the source, 64 hex digits: of the folder, or of the one file for archive and url.
        bytes: Sum of the file lengths below data/raw.
        files: Number of files.
        licence: Licence of the data.
        pinned: Whether the parameters name the digest.
        synthetic: Whether the demo rendered it.
        citation: How to cite the data.
        split: `train`, `val` or `test` if the parameters put all its frames there, else None.
        content_sha256: Digest of the folder below data/raw; for kinds demo and folder the same as `sha256`.
    """

    name: str
    kind: str
    uri: str
    layout: str
    sha256: str
    bytes: int
    files: int
    licence: str
    pinned: bool
    synthetic: bool
    citation: str = ""
    split: str | None = None
    content_sha256: str = ""


def write_raw(sources: list[RawSource], path: Path) -> None:
    """Write the sources, in the order of the parameters, to a new file."""
    write_json(path, [asdict(source) for source in sources])


def read_raw(path: Path) -> list[RawSource]:
    """Read what the pull stage wrote.

    Raises:
        SourceError: If the file is missing or not what the pull stage writes.
    """
    if not path.is_file():
        raise SourceError(f"{path}: no such file; run `dvc repro pull`")
    entries = read_json(path)
    names = {field.name for field in fields(RawSource)}
    if not isinstance(entries, list) or any(not isinstance(entry, dict) or set(entry) != names for entry in entries):
        raise SourceError(f"{path}: not the record of this version; run `dvc repro -f pull`")
    return [RawSource(**entry) for entry in entries]


SYNTHETIC_NOTICE: Final = "SYNTHETIC demo reef, not a field score"
WEAK_NOTICE: Final = "WEAK labels: patches inherited the label of their frame, nobody looked at them"
MACHINE_NOTICE: Final = "MACHINE labels: the reference holds labels of a machine that no person confirmed"


def label_notices(*labels: str | None) -> list[str]:
    """Return what every score must say of the labels it was made with.

    Args:
        labels: `labels` of splits in `metrics/details.json`: `annotated`, `weak`, `machine`, or several with a comma.
    """
    kinds = {kind for text in labels if text for kind in text.split(", ")}
    notices = {"weak": WEAK_NOTICE, "machine": MACHINE_NOTICE}
    return [notice for kind, notice in notices.items() if kind in kinds]
