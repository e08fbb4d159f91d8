"""Check objects: are the stored files there, and what their names, raw.json, params.yaml and frames.csv say?

An audit reads them in a temporary folder: private, bounded, and removed at the end, after a kill by the next audit.
"""

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from reseed.artifacts.catalog import FRAMES, PIECES
from reseed.audit.trusted import Check, judged
from reseed.base.errors import ReseedError
from reseed.base.parallel import ordered_map
from reseed.history.repository import OBJECT_BYTES, MissingError
from reseed.history.run import LOCK, RAW, Run
from reseed.sources.folder import FileFacts, folder_sha256

try:
    import fcntl
except ImportError:  # Windows: what a killed audit left stays until somebody removes it
    fcntl = None  # type: ignore[assignment]

_PREFIX: Final = "reseed-audit-"
_LOCK: Final = "audit.lock"
# A folder without its lock was made this moment, or its audit was killed in the first one.
_UNLOCKED_S: Final = 60.0
# Of what is free, at most this share is filled.
_SHARE: Final = 0.5


@contextmanager
def working_folder() -> Iterator[Path]:
    """Yield a new private folder and remove it at the end; first remove those of audits that were killed."""
    _clear()
    top = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        with (top / _LOCK).open("w") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            folder = top / "work"
            folder.mkdir()
            yield folder
    finally:
        remove_tree(top)


def require_room(folder: Path, n_bytes: int, what: str) -> None:
    """Check that so many bytes may be written below a folder.

    Raises:
        ReseedError: If that is more than half of what is free there.
    """
    free = shutil.disk_usage(folder).free
    if n_bytes > free * _SHARE:
        raise ReseedError(
            f"{what}: {n_bytes:,} bytes would be written to {tempfile.gettempdir()}, where {free:,} are free; at most "
            "half of that is used (TMPDIR names another place)"
        )


def remove_tree(folder: Path) -> None:
    """Remove a folder, also one whose modes were changed to prevent that; links in it are not followed."""
    for parent, names, _ in os.walk(folder):
        for name in names:
            below = Path(parent, name)
            if not below.is_symlink():
                below.chmod(stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)


def _clear() -> None:
    if fcntl is None or not hasattr(os, "getuid"):
        return
    for top in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            about = top.lstat()
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
                continue
            if not (top / _LOCK).is_file():
                if time.time() - about.st_mtime > _UNLOCKED_S:
                    remove_tree(top)
                continue
            with (top / _LOCK).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: its audit is running
                remove_tree(top)


_CHUNK_BYTES: Final = 1 << 20
# What raw.json repeats of an entry of pull.sources.
_REPEATED: Final = ("kind", "uri", "layout", "licence", "citation", "split")
# Kinds whose digest is that of their folder; the others are digested as the one file that they came as.
_AS_FOLDER: Final = ("demo", "folder")


@dataclass(frozen=True)
class Hashed:
    """A stored file and what its object holds.

    Args:
        path: POSIX path below the root of the project.
        name: Name of its object, the md5 of what it should hold.
        md5: Of what it holds; empty if there is no object.
        sha256: Likewise.
        length_bytes: Likewise, 0.
    """

    path: str
    name: str
    md5: str
    sha256: str
    length_bytes: int


def check_objects(run: Run) -> Check:
    """Hash every stored file once and compare."""
    listed, lost = _stored_files(run)

    def hashed(file: tuple[str, str]) -> Hashed:
        cached = run.object(file[1])
        if cached is None:
            return Hashed(*file, "", "", 0)
        return Hashed(*file, *digests(cached), cached.stat().st_size)

    done = list(ordered_map(hashed, listed, total=len(listed), unit="file", what="hash"))
    failures = [
        f"{each.path}: the object {each.name} holds something else (md5 {each.md5})"
        for each in done
        if each.md5 not in {"", each.name.removesuffix(".dir")}
    ]
    failures += _workspace(run, listed)
    lost += [f"{each.path}: no object {each.name}" for each in done if not each.md5]
    raw = [each for each in done if each.path.startswith(f"{RAW}/")]
    failures += _declared(run)
    if not lost and not failures:
        failures += [*_sources(run, raw), *_frames(run, {_below_raw(each.path): each.sha256 for each in raw})]
    remedy = "`--fetch` gets it from the remote" if run.remote == "never" else "nor is it in the remote"
    return judged(
        failures,
        [f"{line}; {remedy}" for line in lost],
        f"{len(done)} files hash to their names, {len(raw)} raw files to raw.json and frames.csv",
    )


def digests(path: Path) -> tuple[str, str]:
    """Return md5 and sha256 of a file, read once."""
    md5, sha256 = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    with path.open("rb") as reader:
        while chunk := reader.read(_CHUNK_BYTES):
            md5.update(chunk)
            sha256.update(chunk)
    return md5.hexdigest(), sha256.hexdigest()


def _stored_files(run: Run) -> tuple[list[tuple[str, str]], list[str]]:
    """Return path and md5 of every file that the cache holds, lists of folders included, and what has no such list."""
    files, lost = [], []
    for path, out in run.outputs.items():
        if run.has(path):
            continue  # in git: check chain compares it
        try:
            members = run.members(path)
        except MissingError as error:
            lost.append(str(error))
            continue
        files += members if members == [(path, out["md5"])] else [(path, str(out["md5"])), *members]
    return files, lost


def _workspace(run: Run, files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the files of the workspace that are not those of dvc.lock; one that is not there is nothing to compare."""
    if run.commit:
        return
    for path, digest in files:
        here, cached = run.repository.root / path, run.repository.cached(digest)
        if not here.is_file() or (cached.is_file() and here.samefile(cached)):
            continue
        length = here.stat().st_size  # a file without content can claim any, and would be hashed for hours
        wanted = cached.stat().st_size if cached.is_file() else min(length, OBJECT_BYTES)
        if length != wanted or digests(here)[0] != digest:
            yield f"{path} in the workspace is not the one of {LOCK} (md5 {digest})"


def _declared(run: Run) -> Iterator[str]:
    """Yield where raw.json says something else of a source than params.yaml, which it was pulled by."""
    wanted = {str(source["name"]): source for source in run.params["pull"]["sources"]}
    recorded = {str(entry["name"]): entry for entry in run.sources}
    for name in sorted(wanted.keys() ^ recorded.keys()):
        yield f"source {name} stands in {'params.yaml' if name in wanted else 'raw.json'} alone"
    for name in sorted(wanted.keys() & recorded.keys()):
        source, entry = wanted[name], recorded[name]
        for key in _REPEATED:
            if _comparable(entry.get(key)) != _comparable(source.get(key)):
                yield f"source {name}: raw.json says {key} {entry.get(key)!r}, params.yaml {source.get(key)!r}"
        pin = source.get("sha256")
        if pin not in {None, entry["sha256"]}:
            yield f"source {name}: raw.json says sha256 {entry['sha256']}, the pin is {pin}"
        if bool(entry.get("pinned")) != (pin is not None):
            yield f"source {name}: raw.json says pinned {entry.get('pinned')}, params.yaml has {pin or 'no pin'}"
        if source.get("kind") == "demo" and entry.get("synthetic") is not True:
            yield f"source {name}: params.yaml has it rendered (kind demo), raw.json does not call it synthetic"


def _comparable(value: Any) -> Any:
    """Return a url without what may be a secret in it, which raw.json leaves out; any other value as it is."""
    if not isinstance(value, str) or "://" not in value:
        return value
    parts = urlsplit(value)
    return (parts.scheme, parts.netloc.rpartition("@")[2], parts.path)


def _sources(run: Run, raw: list[Hashed]) -> Iterator[str]:
    """Yield every source whose files are not those that raw.json names."""
    known = {str(entry["name"]) for entry in run.sources}
    strays = [each.path for each in raw if _below_raw(each.path).split("/")[0] not in known]
    yield from (f"{path} belongs to no source of raw.json" for path in strays)
    for entry in run.sources:
        prefix = f"{RAW}/{entry['name']}/"
        own = [each for each in raw if each.path.startswith(prefix)]
        facts = tuple(FileFacts(each.path.removeprefix(prefix), each.sha256, 0) for each in own)
        found: dict[str, Any] = {
            "content_sha256": folder_sha256(facts),
            "files": len(own),
            "bytes": sum(each.length_bytes for each in own),
        }
        if entry.get("kind") in _AS_FOLDER:
            found["sha256"] = found["content_sha256"]
        for key, value in found.items():
            if key in entry and entry[key] != value:
                yield f"{prefix.rstrip('/')}: {key} {value}, raw.json says {entry[key]}"


def _frames(run: Run, raw: dict[str, str]) -> Iterator[str]:
    """Yield every frame whose image is not the one that frames.csv names.

    Args:
        run: Whose tables are read.
        raw: Path below data/raw -> sha256.
    """
    pieces = run.table("data/catalog/pieces.csv", PIECES)
    rows = pieces.sort_values(["frame_id", "row", "col"]).to_dict("records")
    lines: dict[str, str] = {}
    for row in rows:
        line = f"{raw.get(row['path'], '')}  r{row['row']:03d}c{row['col']:03d}\n"
        lines[row["frame_id"]] = lines.get(row["frame_id"], "") + line
    for row in run.table("data/catalog/frames.csv", FRAMES).to_dict("records"):
        frame_id, own = row["frame_id"], lines.get(row["frame_id"])
        found = raw.get(frame_id, "") if own is None else hashlib.sha256(own.encode()).hexdigest()
        if found != row["sha256"]:
            yield f"frame {frame_id}: sha256 {found or 'of no file'}, frames.csv says {row['sha256']}"


def _below_raw(path: str) -> str:
    return path.removeprefix(f"{RAW}/")
