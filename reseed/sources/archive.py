"""Unpacking a zip or tar file: everything in it is looked at, and refused by name, before anything is written.

Refused: a member that leads out of the archive, a link that does, what is neither file nor folder, two members of one
name, encryption, and sizes that no survey has. A link to a file inside becomes a copy of that file.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tqdm import tqdm

from reseed.base.errors import SourceError
from reseed.sources.folder import copy_file, explained
from reseed.sources.members import Member, members_of

_CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class Limits:
    """What an archive may unpack to; more is taken for an attack or a mistake.

    Args:
        files: Number of members.
        ratio: Times the length of the archive; pictures hardly compress, tables about tenfold.
        always_bytes: Allowed whatever the ratio.
    """

    files: int
    ratio: int
    always_bytes: int


LIMITS: Final = Limits(files=1_000_000, ratio=100, always_bytes=1 << 30)


def unpack(archive: Path, target: Path, progress: str = "unpack", limits: Limits = LIMITS) -> None:
    """Unpack every file of `archive` to the same path below `target`: normal mode, the time of unpacking.

    Args:
        archive: A zip or tar file; a tar may be compressed by gzip, bzip2 or xz.
        target: New folder.
        progress: What the progress bar says.
        limits: More is refused.

    Raises:
        SourceError: If it is no archive, empty or damaged, if a member is refused, or if a file cannot be read or
            written.
    """
    with explained(archive, "read"), members_of(archive) as members:
        files, links = _checked(archive, members, limits)
        with explained(target, "write to"):
            target.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(target).free
        total = sum(member.length_bytes for member in files.values())
        total += sum(files[goal].length_bytes for goal in links.values())
        if total > free:
            raise SourceError(f"{archive}: unpacks to {total} bytes, but only {free} are free where {target} lies")
        with tqdm(total=total, unit="B", unit_scale=True, desc=progress, disable=None) as bar:
            for member in files.values():
                _write(archive, member, target / member.path, bar)
            for path, goal in links.items():
                with explained(target / path, "write"):
                    (target / path).parent.mkdir(parents=True, exist_ok=True)
                    copy_file(target / goal, target / path)
                    bar.update(files[goal].length_bytes)


def _checked(archive: Path, members: Iterator[Member], limits: Limits) -> tuple[dict[str, Member], dict[str, str]]:
    """Return the files by path, and for each link the file that it stands for."""
    by_path: dict[str, Member] = {}
    allowed = max(limits.always_bytes, limits.ratio * archive.stat().st_size)
    total = 0
    for member in members:
        if member.path in by_path:
            raise SourceError(f"{archive}: holds {member.path} twice")
        by_path[member.path] = member
        total += member.length_bytes
        if total > allowed:
            raise SourceError(
                f"{archive}: {member.path} brings what is unpacked to {total} bytes, more than {limits.ratio} times "
                f"the archive; allowed here: {allowed}. If that is right, unpack it yourself and use kind folder"
            )
        if len(by_path) > limits.files:
            raise SourceError(f"{archive}: {member.path} is file {len(by_path)}; at most {limits.files} are unpacked")
    folders = {parent.as_posix() for path in by_path for parent in PurePosixPath(path).parents}
    for path in by_path:
        if path in folders:
            raise SourceError(f"{archive}: {path} is a file and a folder at once")
    files = {path: member for path, member in by_path.items() if not member.link}
    if not files:
        raise SourceError(f"{archive}: the archive is empty")
    links = {path: _link_goal(archive, path, by_path) for path, member in by_path.items() if member.link}
    total += sum(files[goal].length_bytes for goal in links.values())
    if total > allowed:
        raise SourceError(f"{archive}: unpacks to {total} bytes with its links; allowed here: {allowed}")
    return files, links


def _link_goal(archive: Path, path: str, by_path: dict[str, Member]) -> str:
    seen, goal = {path}, by_path[path].link
    while goal in by_path and by_path[goal].link and goal not in seen:
        seen.add(goal)
        goal = by_path[goal].link
    if goal not in by_path or goal in seen:
        raise SourceError(f"{archive}: {path} is a link to {goal}, which is no file of the archive")
    return goal


def _write(archive: Path, member: Member, goal: Path, bar: "tqdm[Any]") -> None:
    written = 0
    with explained(goal, "write"):
        goal.parent.mkdir(parents=True, exist_ok=True)
        with member.open() as reader, goal.open("xb") as writer:
            while chunk := reader.read(_CHUNK_BYTES):
                writer.write(chunk)
                written += len(chunk)
                bar.update(len(chunk))
    if written != member.length_bytes:
        raise SourceError(
            f"{archive}: {member.path} holds {written} bytes, but {member.length_bytes} are announced: damaged"
        )
