"""Writing outputs: always a new file that is renamed into place, never an opened existing one.

An output that DVC has checked out may be a link into its cache; opening it for writing would change the cache.
"""

import errno
import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from reseed.base.errors import TableError

_PART = ".part"
# Of a frame, a table or a description: an uncompressed 16-bit TIFF of 100 million pixels has 600 MB.
MOST_BYTES: Final = 1 << 30


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to; on success it is renamed to `path`, on failure nothing is left.

    Args:
        path: Where the finished file belongs; missing parent folders are made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + _PART)
    part.unlink(missing_ok=True)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; on success it takes the place of `path`, on failure nothing is left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + _PART)
    remove(part)
    part.mkdir()
    try:
        yield part
        remove(path)
        part.replace(path)
    finally:
        remove(part)


def write_folder(path: Path, files: dict[str, bytes]) -> None:
    """Write files by name to a new folder that takes the place of `path`."""
    with new_folder(path) as folder:
        for name, data in files.items():
            (folder / name).write_bytes(data)


def remove(path: Path) -> None:
    """Remove a file, link or folder if it is there; a link's target stays."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to a new file at `path`."""
    with new_file(path) as part:
        part.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 with LF line ends to a new file at `path`."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, keys in the order given, to a new file at `path`.

    Raises:
        ValueError: If `value` holds a NaN or an infinity, which JSON cannot.
    """
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_regular(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Read a regular file from people or devices, in bounded time and memory.

    A pipe would be waited for without end, and so would a device or a sparse file of 200 GB.

    Raises:
        OSError: If it cannot be read, is no regular file or is longer than `most_bytes`; `strerror` says which.
    """
    _require_regular(path.stat().st_mode)  # opening a device can have effects, so it is not opened to find out
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as reader:  # noqa: PTH123 - pathlib opens no descriptor
        facts = os.fstat(descriptor)
        _require_regular(facts.st_mode)
        if facts.st_size > most_bytes:
            raise OSError(errno.EFBIG, f"{facts.st_size:,} bytes long; at most {most_bytes:,} are read")
        return reader.read(facts.st_size)  # no more, while somebody may still be writing


def _require_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file")


def read_json(path: Path) -> Any:
    """Read a JSON file that a stage wrote.

    Raises:
        TableError: If it is missing or damaged.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TableError(
            f"{path}: not readable as JSON ({error}); `dvc repro` or `dvc checkout` brings it back"
        ) from error
