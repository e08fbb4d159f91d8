"""Unpacking a zip or tar file: everything in it is looked at, and refused by name, before anything is written.

Refused: a member that leads out of the archive, a link that does, what is neither file nor folder, two members of one
name, encryption, and sizes that no survey has. A link to a file inside becomes a copy of that file.
"""

import bz2
import gzip
import lzma
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast

from tqdm import tqdm

from reseed.base.errors import SourceError
from reseed.sources.folder import copy_file, explained

_ZIP: Final = "zip"
_TAR: Final = "tar"
_ZIP_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")
_ZIP_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_UTF8_FLAG: Final = 0x800
_ENCRYPTED_FLAG: Final = 0x1
_UNIX: Final = 3
_LONGEST_NAME: Final = 4096
_TAR_BLOCK: Final = 512
_CHUNK_BYTES: Final = 1 << 20
# A tar keeps extended headers in memory; a real one is some hundred bytes long.
_LONGEST_READ: Final = 16 << 20
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE = re.compile(r"^[A-Za-z]:")
_DAMAGE: Final = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, gzip.BadGzipFile),
    *(NotImplementedError, RuntimeError, OverflowError, ValueError),  # what both modules let out on broken headers
)
_Opener = Callable[[IO[bytes]], Any]
_COMPRESSED: Final[dict[bytes, _Opener]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}


@dataclass(frozen=True)
class Member:
    """One file of an archive.

    Args:
        path: POSIX path below the archive.
        length_bytes: Length of its content, as announced.
        link: Path below the archive that it is a link to; empty for a file.
        open: Gives its content; to be called in the order of the archive.
    """

    path: str
    length_bytes: int
    link: str
    open: Callable[[], IO[bytes]]


def is_archive(path: Path) -> bool:
    """Whether the content of a file is that of a zip or tar, compressed or not; its name does not count."""
    return _kind(path) is not None


def safe_path(name: str) -> str | None:
    """Return a member's POSIX path below the archive, or None if it leads out of it or cannot be a file name.

    Args:
        name: As the archive has it; `.` parts and doubled slashes are dropped.
    """
    if name.startswith(("/", "\\")) or _DRIVE.match(name) or _CONTROL.search(name):
        return None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or ".." in parts or any("\\" in part for part in parts):
        return None
    return "/".join(parts)


@contextmanager
def members_of(archive: Path) -> Iterator[Iterator[Member]]:
    """Yield what an archive holds, one by one: whoever iterates can stop before a huge member is passed over.

    Damage found while the archive is open, in reading a member too, is an error.

    Raises:
        SourceError: If it is no archive or damaged; if a member or link leads out of it, is encrypted or is neither
            file, link nor folder.
    """
    kind = _kind(archive)
    if kind is None:
        raise SourceError(f"{archive}: not a whole zip or tar file (.zip, .tar, .tar.gz, .tar.bz2, .tar.xz)")
    try:
        if kind == _ZIP:
            with zipfile.ZipFile(archive) as box:
                yield (member for info in box.infolist() for member in _zip_member(archive, box, info))
        else:
            with _decompressed(archive) as reader, tarfile.open(fileobj=cast("Any", reader), mode="r:") as box:
                yield _tar_members(archive, box, reader)
    except _DAMAGE as error:
        raise SourceError(f"{archive}: damaged, or ends early: {error}") from error


def _kind(path: Path) -> str | None:
    with path.open("rb") as reader:
        # A tar whose last member is a zip would pass for a zip itself, as that is looked for from the end.
        starts_as_zip = reader.read(4) in _ZIP_STARTS
    if starts_as_zip:
        return _ZIP if zipfile.is_zipfile(path) else None
    try:
        with _decompressed(path) as reader:
            block = reader.read(_TAR_BLOCK)
        tarfile.TarInfo.frombuf(block, tarfile.ENCODING, "surrogateescape")
    except _DAMAGE:
        return None
    return _TAR


def _zip_member(archive: Path, box: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[Member]:
    path = _require_inside(archive, _zip_name(info))
    if info.is_dir():
        return
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    if info.flag_bits & _ENCRYPTED_FLAG:
        raise SourceError(f"{archive}: {path} is encrypted; unpack it yourself and use kind folder")
    if info.compress_type not in _ZIP_METHODS:
        raise SourceError(
            f"{archive}: {path} is packed by method {info.compress_type}, which is not read; unpack it yourself and "
            "use kind folder"
        )
    if stat.S_ISLNK(mode):
        if info.file_size > _LONGEST_NAME:
            raise SourceError(f"{archive}: {path} is a link with a name of {info.file_size} bytes")
        link = box.read(info).decode("utf-8", "replace")
        yield Member(path, 0, _require_link_inside(archive, path, PurePosixPath(path).parent, link), _nothing)
    elif stat.S_IFMT(mode) in (0, stat.S_IFREG):
        yield Member(path, info.file_size, "", partial(box.open, info))
    else:
        raise SourceError(f"{archive}: {path} is neither file nor folder; a source holds files only")


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Return a member's name; where the archive does not say so, UTF-8 is tried before the old code page 437.

    macOS writes UTF-8 without saying so, and old Windows programs write backslashes.
    """
    name = info.filename
    if not info.flag_bits & _UTF8_FLAG:
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = info.filename
    return name.replace("\\", "/")


def _tar_members(archive: Path, box: tarfile.TarFile, reader: "_Guarded") -> Iterator[Member]:
    for info in box:
        if info.isdir() and info.name in (".", ""):
            continue
        path = _require_inside(archive, info.name)
        if info.isdir():
            continue
        if info.issym() or info.islnk():
            # A hard link's goal is named from the top of the archive, a symbolic one's from where it lies.
            base = PurePosixPath(path).parent if info.issym() else PurePosixPath()
            yield Member(path, 0, _require_link_inside(archive, path, base, info.linkname), _nothing)
        elif info.isreg():
            yield Member(path, info.size, "", partial(_tar_file, box, info))
        else:
            raise SourceError(f"{archive}: {path} is neither file nor folder; a source holds files only")
    reader.seek(box.offset)
    if len(reader.read(_TAR_BLOCK)) < _TAR_BLOCK:
        raise SourceError(f"{archive}: ends without its end mark: a part is missing")
    while reader.read(_CHUNK_BYTES):  # to the end: only there lies the checksum of what is compressed
        pass


def _tar_file(box: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    file = box.extractfile(info)
    assert file is not None, "a regular file has content"
    return file


def _nothing() -> IO[bytes]:
    raise AssertionError("a link has no content of its own")


def _require_inside(archive: Path, name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise SourceError(f"{archive}: the member name {name!r} is not UTF-8; rename it") from error
    path = safe_path(name)
    if path is None:
        raise SourceError(
            f"{archive}: member {name!r} leads out of the archive or has no usable name; nothing was unpacked"
        )
    return path


def _require_link_inside(archive: Path, path: str, base: PurePosixPath, link: str) -> str:
    parts: list[str] = list(base.parts)
    inside = bool(link) and not link.startswith("/") and "\\" not in link
    for part in PurePosixPath(link).parts if inside else ():
        if part == "..":
            inside = inside and bool(parts)
            parts = parts[:-1]
        else:
            parts.append(part)
    if not inside or not parts:
        raise SourceError(
            f"{archive}: {path} is a link that leads out of the archive, to {link!r}; nothing was unpacked"
        )
    return "/".join(parts)


class _Guarded:
    """A readable, seekable stream that refuses absurd reads: a forged header would otherwise fill the memory."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, n_bytes: int = -1) -> bytes:
        if not 0 <= n_bytes <= _LONGEST_READ:
            raise tarfile.ReadError(f"a header of {n_bytes} bytes")
        return self._stream.read(n_bytes)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


@contextmanager
def _decompressed(path: Path) -> Iterator[_Guarded]:
    with path.open("rb") as plain:
        head = plain.read(6)
        plain.seek(0)
        for magic, opener in _COMPRESSED.items():
            if head.startswith(magic):
                with opener(plain) as stream:
                    yield _Guarded(stream)
                return
        yield _Guarded(plain)


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
            raise SourceError(f"{archive}: unpacks to {total} bytes, but only {free} are free on the disk of {target}")
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
