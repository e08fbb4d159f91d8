"""The temporary folder of one audit: private, bounded, and gone at the end, also after a kill."""

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from reseed.base.errors import ReseedError

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
