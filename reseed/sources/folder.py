"""Where data comes from: resolving a uri, listing and digesting a folder, copying it as delivered.

A source belongs to the user: nothing here opens a source file for writing, links to it or changes its mode. DVC makes
cache links read-only, so a hard link would change the user's own file.
"""

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from reseed.base.errors import SourceError
from reseed.base.parallel import ordered_map
from reseed.base.urls import expand

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_CHUNK_BYTES = 1 << 20
_FICLONE = 0x40049409  # linux/fs.h: clone a whole file by sharing its blocks, copy on write


@dataclass(frozen=True)
class FileFacts:
    """One file of a folder.

    Args:
        path: POSIX path below the folder.
        sha256: Digest of its content, 64 hex digits.
        length_bytes: Length of its content.
    """

    path: str
    sha256: str
    length_bytes: int


@dataclass(frozen=True)
class FolderDigest:
    """What a folder holds.

    Args:
        sha256: Digest of the folder, see `folder_sha256`.
        total_bytes: Sum of the file lengths.
        files: Every file, sorted bytewise by path.
    """

    sha256: str
    total_bytes: int
    files: tuple[FileFacts, ...]


def resolve_uri(uri: str) -> Path:
    """Return the absolute path that `uri` stands for.

    `~` and `$VAR` are expanded. A relative path starts at `$DVC_ROOT` where DVC sets it, else at the current folder:
    queued and temporary runs sit in another folder than the one the user wrote the path for.

    Raises:
        SourceError: If a variable in it is not set.
    """
    expanded = Path(expand(uri)).expanduser()
    return Path(os.path.normpath(Path(os.environ.get("DVC_ROOT") or Path.cwd()) / expanded))


def list_files(folder: Path) -> dict[str, Path]:
    """Return every file below `folder` by its POSIX path, sorted bytewise by that path.

    A symbolic link to a file inside the folder counts as that file.

    Raises:
        SourceError: If the folder is missing or unreadable; or if it holds a link that leads out of it or to a folder,
            something that is no file, or a name with control characters or bytes that are not UTF-8.
    """
    if not folder.exists():
        raise SourceError(f"{folder}: no such file or folder")
    if not folder.is_dir():
        raise SourceError(f"{folder}: is a file; kind folder takes a folder, kind archive a zip or tar file")
    top = folder.resolve()
    found: dict[str, Path] = {}
    for parent, folders, names in os.walk(folder, onerror=_raise_unreadable):
        for name in folders + names:
            path = Path(parent, name)
            if name in folders and not path.is_symlink():
                continue
            _require_plain(path, top)
            found[path.relative_to(folder).as_posix()] = path
    return {path: found[path] for path in sorted(found, key=os.fsencode)}


def digest_folder(folder: Path, progress: str = "digest") -> FolderDigest:
    """Hash every file below `folder`, several at a time.

    Raises:
        SourceError: As for `list_files`, or if a file cannot be read.
    """
    files = list_files(folder)

    def facts(item: tuple[str, Path]) -> FileFacts:
        with explained(item[1], "read"):
            sha256, length = hash_file(item[1])
        return FileFacts(item[0], sha256, length)

    done = tuple(ordered_map(facts, files.items(), total=len(files), unit="file", what=progress))
    return FolderDigest(folder_sha256(done), sum(file.length_bytes for file in done), done)


def hash_file(path: Path) -> tuple[str, int]:
    """Return the sha256 of a file, 64 hex digits, and its length in bytes."""
    with path.open("rb") as reader:
        sha256 = hashlib.file_digest(reader, "sha256").hexdigest()
        return sha256, reader.tell()


def folder_sha256(files: tuple[FileFacts, ...]) -> str:
    r"""Return the digest of a folder: sha256 over the lines `<sha256>  <path>\n`, sorted bytewise by path.

    The paths are POSIX paths below the folder, in UTF-8; two spaces stand between digest and path. Empty folders, modes
    and times do not count. By hand, inside the folder:
    `find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum`
    """
    lines = sorted((file.path.encode(), file.sha256.encode()) for file in files)
    return hashlib.sha256(b"".join(sha256 + b"  " + path + b"\n" for path, sha256 in lines)).hexdigest()


def copy_folder(source: Path, target: Path, progress: str = "copy") -> None:
    """Copy every file below `source` to the same path below `target`: same bytes, normal mode, the time of copying.

    Raises:
        SourceError: As for `list_files`; if `source` is empty, holds `target` or lies inside it; if a file cannot be
            read or written.
    """
    require_apart(source, target)
    files = list_files(source)
    if not files:
        raise SourceError(f"{source}: the folder is empty")

    def copy(item: tuple[str, Path]) -> None:
        goal = target / item[0]
        with explained(item[1], "copy"):
            goal.parent.mkdir(parents=True, exist_ok=True)
            copy_file(item[1], goal)

    for _ in ordered_map(copy, files.items(), total=len(files), unit="file", what=progress):
        pass


def require_apart(source: Path, target: Path) -> None:
    """Check that neither folder lies inside the other, or is the other.

    Raises:
        SourceError: If so: the copy would copy itself.
    """
    inner, outer = target.resolve(), source.resolve()
    if inner.is_relative_to(outer) or outer.is_relative_to(inner):
        raise SourceError(
            f"{source}: the source and {target}, to which it is copied, are inside each other; move the source"
        )


def copy_file(source: Path, target: Path) -> None:
    """Copy the content of `source` to the new file `target`: as a reflink where the file system can, else in full."""
    with source.open("rb") as reader, target.open("xb") as writer:
        if not _reflink(reader.fileno(), writer.fileno()):
            shutil.copyfileobj(reader, writer, _CHUNK_BYTES)


@contextmanager
def explained(path: Path, doing: str) -> Iterator[None]:
    """Turn an operating-system error into one line that names the file.

    Raises:
        SourceError: In place of any `OSError`: permission denied, disk full and the like.
    """
    try:
        yield
    except OSError as error:
        raise SourceError(f"cannot {doing} {path}: {error.strerror or error}") from error


def _reflink(reader: int, writer: int) -> bool:
    if sys.platform != "linux":
        return False
    import fcntl  # noqa: PLC0415 - exists on POSIX systems only

    try:
        fcntl.ioctl(writer, _FICLONE, reader)
    except OSError:  # another file system, or one without shared blocks: copied in full instead
        return False
    return True


def _require_plain(path: Path, top: Path) -> None:
    try:
        path.name.encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise SourceError(f"{shown}: the file name is not UTF-8; rename it") from error
    if _CONTROL.search(path.name):
        raise SourceError(f"{str(path)!r}: the file name holds a control character; rename it")
    if path.is_symlink():
        real = path.resolve()
        if not real.is_relative_to(top):
            raise SourceError(f"{path}: a link that leads out of the source, to {real}; put the file itself there")
        if real.is_dir():
            raise SourceError(f"{path}: a link to a folder; put the folder itself there")
        if not real.exists():
            raise SourceError(f"{path}: a link to {real}, which does not exist")
    if not path.is_file():
        raise SourceError(f"{path}: neither file nor folder; a source holds files only")


def _raise_unreadable(error: OSError) -> None:
    raise SourceError(f"cannot list {PurePosixPath(error.filename)}: {error.strerror}") from error
