"""The files of one run: what dvc.lock recorded of each, and where its content lies."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reseed.base.errors import ReseedError
from reseed.base.parallel import ordered_map
from reseed.history.snapshot import Snapshot

# Files of a run that no stage reads or writes, and that tell how to run it and what one may do with it.
BESIDE: Final = ("dvc.yaml", "dvc.lock", "params.yaml", "requirements.lock", "LICENSE", "CITATION.cff", "README.md")
RAW: Final = "data/raw"
_FOLDER: Final = ".dir"
_CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class RunFile:
    """One file or folder.

    Args:
        path: POSIX path below the root of the project.
        md5: As dvc.lock recorded it; of its content where dvc.lock does not name it.
        length_bytes: Of its content; of a folder the sum; None where nobody recorded it.
        content: Where it lies; None for a folder and where it is not stored here.
        sha256: Of its content; empty where that is not here.
        is_folder: Whether dvc.lock recorded a folder.
    """

    path: str
    md5: str
    length_bytes: int | None
    content: Path | None
    sha256: str
    is_folder: bool = False


def run_files(snapshot: Snapshot) -> dict[str, RunFile]:
    """Return every input and output that dvc.lock names, the members of folders but data/raw, and `BESIDE`, by path.

    Each content is hashed. Raw files are not: `data/raw.json` has the digest of every source, `frames.csv` of every
    frame.

    Raises:
        ReseedError: If a content is not the one that dvc.lock recorded.
    """
    recorded = _recorded(snapshot)
    folders = {path: entry for path, entry in recorded.items() if str(entry["md5"]).endswith(_FOLDER)}
    plain = {path: (str(entry["md5"]), entry.get("size")) for path, entry in recorded.items() if path not in folders}
    for path in folders:
        if path != RAW:
            plain |= {member: (digest, None) for member, digest in snapshot.members(path) or []}
    plain |= {path: ("", None) for path in BESIDE if path not in plain and (snapshot.tree / path).is_file()}

    def described(item: tuple[str, tuple[str, int | None]]) -> RunFile:
        path, (md5, length_bytes) = item
        content = _content(snapshot, path, md5)
        if content is None:
            return RunFile(path, md5, length_bytes, None, "")
        found, sha256 = digests(content)
        if md5 not in {"", found}:
            raise ReseedError(f"{path} of {snapshot.name} is {found}, dvc.lock recorded {md5}; `audit` tells more")
        return RunFile(path, found, content.stat().st_size, content, sha256)

    done = ordered_map(described, list(plain.items()), total=len(plain), unit="file", what="hash")
    files = {file.path: file for file in done}
    files |= {
        path: RunFile(path, str(entry["md5"]), entry.get("size"), None, "", is_folder=True)
        for path, entry in folders.items()
    }
    return dict(sorted(files.items()))


def digests(path: Path) -> tuple[str, str]:
    """Return md5 and sha256 of a file, read once."""
    md5, sha256 = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    with path.open("rb") as reader:
        while chunk := reader.read(_CHUNK_BYTES):
            md5.update(chunk)
            sha256.update(chunk)
    return md5.hexdigest(), sha256.hexdigest()


def git_blob(content: Path) -> str:
    """Return the id that git gives a file with this content, 40 hex digits."""
    data = content.read_bytes()
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


def _recorded(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    entries: Iterable[dict[str, Any]] = (
        entry for stage in snapshot.lock.values() for kind in ("deps", "outs") for entry in stage.get(kind) or []
    )
    return {str(entry["path"]): entry for entry in entries}


def _content(snapshot: Snapshot, path: str, md5: str) -> Path | None:
    tracked = snapshot.tree / path
    return tracked if tracked.is_file() else snapshot.object(md5)
