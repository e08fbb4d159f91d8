"""The files of one run: what dvc.lock recorded of each, and where its content lies."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reseed.audit.objects import digests
from reseed.audit.working import require_room
from reseed.base.errors import ReseedError
from reseed.base.parallel import ordered_map
from reseed.history.repository import MissingError
from reseed.history.run import RAW, Run

# Files of a run that no stage reads or writes, and that tell how to run it and what one may do with it.
BESIDE: Final = ("dvc.yaml", "dvc.lock", "params.yaml", "requirements.lock", "LICENSE", "CITATION.cff", "README.md")
_FOLDER: Final = ".dir"


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


def run_files(run: Run, folder: Path) -> dict[str, RunFile]:
    """Return every input and output that dvc.lock names, the members of folders but data/raw, and `BESIDE`, by path.

    Each content is hashed. Raw files are not: `data/raw.json` has the digest of every source, `frames.csv` of every
    frame. A folder of code counts as its files.

    Args:
        run: The run.
        folder: A new one, for the content of the files that git tracks.

    Raises:
        ReseedError: If a content is not the one that dvc.lock recorded, or is a link.
    """
    entries = [e for stage in run.lock.values() for kind in ("deps", "outs") for e in stage.get(kind) or []]
    folders: dict[str, dict[str, Any]] = {}
    plain: dict[str, tuple[str, int | None]] = {}
    for entry in entries:
        path, md5 = str(entry["path"]), str(entry["md5"])
        if not md5.endswith(_FOLDER):
            plain[path] = (md5, entry.get("size"))
            continue
        folders[path] = entry
        if path not in run.outputs:
            plain |= {name: ("", None) for name in run.tracked if name.startswith(f"{path}/")}
    for path in (folders.keys() & run.outputs.keys()) - {RAW}:
        try:
            plain |= {member: (digest, None) for member, digest in run.members(path)}
        except MissingError:
            continue  # described by its own digest alone
    plain |= {path: ("", None) for path in BESIDE if path not in plain and path in run.tracked}
    own = [path for path in plain if path in run.tracked]
    folder.mkdir(exist_ok=True)
    require_room(folder, sum(run.tracked[path].length_bytes for path in own), "the files that git tracks")

    def described(item: tuple[str, tuple[str, int | None]]) -> RunFile:
        path, (md5, length_bytes) = item
        content = run.object(md5) if path not in run.tracked else folder / path
        if content is None:
            return RunFile(path, md5, length_bytes, None, "")
        if path in run.tracked:
            content.parent.mkdir(parents=True, exist_ok=True)
            content.write_bytes(run.source(path))
        found, sha256 = digests(content)
        if md5 not in {"", found}:
            raise ReseedError(f"{path} of {run.name} is {found}, dvc.lock recorded {md5}; `audit` tells more")
        return RunFile(path, found, content.stat().st_size, content, sha256)

    done = ordered_map(described, list(plain.items()), total=len(plain), unit="file", what="hash")
    files = {file.path: file for file in done}
    files |= {
        path: RunFile(path, str(entry["md5"]), entry.get("size"), None, "", is_folder=True)
        for path, entry in folders.items()
    }
    return dict(sorted(files.items()))


def git_blob(content: Path) -> str:
    """Return the id that git gives a file with this content, 40 hex digits."""
    data = content.read_bytes()
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()
