"""Rung objects: are the stored files there, and are they what their names, raw.json and frames.csv say?"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from reseed.artifacts.frames import FRAMES, PIECES
from reseed.audit.checks import Rung, judged
from reseed.base.parallel import ordered_map
from reseed.history.run_files import RAW, digests
from reseed.history.snapshot import LOCK, Snapshot
from reseed.sources.folder import FileFacts, folder_sha256


@dataclass(frozen=True)
class Hashed:
    """A stored file and what its object holds.

    Args:
        path: POSIX path below the root of the project.
        name: Name of its object, the md5 of what it should hold.
        md5: Of what it holds; empty if there is no object.
        sha256: Likewise.
    """

    path: str
    name: str
    md5: str
    sha256: str


def check_objects(snapshot: Snapshot) -> Rung:
    """Hash every stored file once and compare."""
    listed, lost = _stored_files(snapshot)

    def hashed(file: tuple[str, str]) -> Hashed:
        cached = snapshot.object(file[1])
        return Hashed(*file, *(("", "") if cached is None else digests(cached)))

    done = list(ordered_map(hashed, listed, total=len(listed), unit="file", what="hash"))
    failures = [
        f"{each.path}: the object {each.name} holds something else (md5 {each.md5})"
        for each in done
        if each.md5 not in {"", each.name.removesuffix(".dir")}
    ]
    failures += _workspace(snapshot, listed)
    lost += [f"{each.path}: no object {each.name}" for each in done if not each.md5]
    raw = {each.path.removeprefix(f"{RAW}/"): each.sha256 for each in done if each.path.startswith(f"{RAW}/")}
    if not lost and not failures:
        failures += [*_sources(snapshot, raw), *_frames(snapshot, raw)]
    remedy = "nor is it in the remote" if snapshot.fetch else "`--fetch` gets it from the remote"
    return judged(
        failures,
        [f"{line}; {remedy}" for line in lost],
        f"{len(done)} files hash to their names, {len(raw)} raw files to raw.json and frames.csv",
    )


def _stored_files(snapshot: Snapshot) -> tuple[list[tuple[str, str]], list[str]]:
    """Return path and md5 of every file that the cache holds, lists of folders included, and what has no such list."""
    files, lost = [], []
    for path, out in snapshot.outputs.items():
        if (snapshot.tree / path).is_file():
            continue  # in git: rung chain compares it
        members = snapshot.members(path)
        if members is None:
            lost.append(f"{path}: no object {out['md5']}")
            continue
        files += members if members == [(path, out["md5"])] else [(path, str(out["md5"])), *members]
    return files, lost


def _workspace(snapshot: Snapshot, files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the files of the workspace that are not those of dvc.lock; one that is not there is nothing to compare."""
    if snapshot.commit:
        return
    for path, digest in files:
        here, cached = snapshot.repository.root / path, snapshot.repository.cached(digest)
        if not here.is_file() or (cached.is_file() and here.samefile(cached)):
            continue
        if digests(here)[0] != digest:
            yield f"{path} in the workspace is not the one of {LOCK} (md5 {digest})"


def _sources(snapshot: Snapshot, raw: dict[str, str]) -> Iterator[str]:
    """Yield every source whose files are not those that raw.json names.

    Args:
        snapshot: Whose raw.json is read.
        raw: Path below data/raw -> sha256.
    """
    record = snapshot.stored("data/raw.json")
    entries: list[dict[str, Any]] = [] if record is None else json.loads(record.read_bytes())
    known = {str(entry["name"]) for entry in entries}
    pins = {str(source["name"]): source.get("sha256") for source in snapshot.yaml("params.yaml")["pull"]["sources"]}
    yield from (f"{RAW}/{path} belongs to no source of raw.json" for path in raw if path.split("/")[0] not in known)
    for entry in entries:
        prefix = f"{entry['name']}/"
        own = tuple(FileFacts(path.removeprefix(prefix), raw[path], 0) for path in raw if path.startswith(prefix))
        wanted = str(entry.get("content_sha256") or entry["sha256"])
        if pins.get(str(entry["name"])) not in {None, entry["sha256"]}:
            yield f"source {entry['name']}: raw.json says sha256 {entry['sha256']}, the pin is {pins[entry['name']]}"
        if folder_sha256(own) != wanted:
            yield f"{RAW}/{entry['name']}: sha256 {folder_sha256(own)}, raw.json says {wanted}"


def _frames(snapshot: Snapshot, raw: dict[str, str]) -> Iterator[str]:
    """Yield every frame whose image is not the one that frames.csv names."""
    tables = [snapshot.stored(f"data/catalog/{name}.csv") for name in ("frames", "pieces")]
    if tables[0] is None or tables[1] is None:
        return
    pieces = PIECES.read(tables[1])
    rows = pieces.sort_values(["frame_id", "row", "col"]).to_dict("records")
    lines: dict[str, str] = {}
    for row in rows:
        line = f"{raw.get(row['path'], '')}  r{row['row']:03d}c{row['col']:03d}\n"
        lines[row["frame_id"]] = lines.get(row["frame_id"], "") + line
    for row in FRAMES.read(tables[0]).to_dict("records"):
        frame_id, own = row["frame_id"], lines.get(row["frame_id"])
        found = raw.get(frame_id, "") if own is None else hashlib.sha256(own.encode()).hexdigest()
        if found != row["sha256"]:
            yield f"frame {frame_id}: sha256 {found or 'of no file'}, frames.csv says {row['sha256']}"
