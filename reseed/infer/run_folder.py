"""The folder of a run: what the run is of, so that another start goes on with the same and nothing else."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from reseed.base.errors import TableError
from reseed.base.files import write_json
from reseed.infer.tables import (
    BAD_FILE,
    DECISIONS_FILE,
    MAP_FILE,
    PATCHES_FILE,
    SKIPPED_FILE,
    THUMBNAILS_FILE,
    TRACK_FILE,
    writing,
)

RUN_FILE: Final = "run.json"
_LOCK_FILE: Final = ".lock"
_TRAINING: Final = "trained_on_rendered"
_OWN: Final = (RUN_FILE, f"{RUN_FILE}.part", _LOCK_FILE)
_WRITTEN: Final = (*_OWN, DECISIONS_FILE, PATCHES_FILE, THUMBNAILS_FILE, BAD_FILE, SKIPPED_FILE, TRACK_FILE, MAP_FILE)


@dataclass(frozen=True)
class RunIdentity:
    """What must be the same for two starts to be one run; `run.json`.

    Args:
        frames: Folder that the names of frames start from.
        model_sha256: Digest of the model file itself, not what it says of itself.
        backbone: Of the network, for people.
        patch_size_px: Edge of a patch in stored pixels.
        input_size_px: Edge of a patch as the network sees it.
        resize: Rule by which patches are resized.
        decode: Rule by which images are decoded.
        alpha: Decimal text.
    """

    frames: str
    model_sha256: str
    backbone: str
    patch_size_px: int
    input_size_px: int
    resize: str
    decode: str
    alpha: str


def enter(out: Path, identity: RunIdentity) -> bool:
    """Make the folder of a run, or find that it is of the same run.

    Returns:
        Whether there is something to go on with.

    Raises:
        TableError: If the folder holds something else, such as a link in place of a table, or a run of another model,
            alpha or patch size.
    """
    if out.exists() and not out.is_dir():
        raise TableError(f"{out}: is a file; --out needs a folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TableError(
            f"{out}: cannot be made ({error.strerror}); give --out a folder that can be written"
        ) from error
    with writing(out):
        found = sorted(path.name for path in out.iterdir() if path.name not in _OWN)
        foreign = [name for name in _WRITTEN if os.path.lexists(out / name) and not _is_plain(out / name)]
    if foreign:  # writing there would change, or empty, what a link leads to
        raise TableError(
            f"{out / foreign[0]}: is a link, or no regular file; remove it, or give --out an empty or a new folder"
        )
    if (out / RUN_FILE).is_file():
        _require_same(out, identity)
        return True
    if found:
        raise TableError(
            f"{out}: holds {', '.join(found[:3])}{' and more' if len(found) > 3 else ''}, but no run of infer to go on "
            "with; give --out an empty or a new folder"
        )
    with writing(out):
        write_json(out / RUN_FILE, asdict(identity))
    return False


def note_training(out: Path, *, trained_on_rendered: bool) -> bool:
    """Record in `run.json` whether the network was trained on rendered frames.

    No part of the identity: a model folder that was carried elsewhere no longer knows it, and still is the same model.

    Args:
        out: Folder of a run, entered and locked.
        trained_on_rendered: What the model says now.

    Returns:
        What the run knows: once True, it stays.

    Raises:
        TableError: If it cannot be written.
    """
    path = out / RUN_FILE
    found = json.loads(path.read_text(encoding="utf-8"))
    known = trained_on_rendered or found.get(_TRAINING) is True
    if found.get(_TRAINING) is not known:
        with writing(out):
            write_json(path, found | {_TRAINING: known})
    return known


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold the folder of a run, which exists, for this process alone; the hold ends with the process, however it ends.

    Raises:
        TableError: If another process holds it.
    """
    if sys.platform == "win32":  # no such locks there; two runs into one folder remain the user's mistake
        yield
        return
    import fcntl  # noqa: PLC0415 - exists on POSIX systems only

    with writing(out):
        # Not emptied, and a link is not followed: whatever lies there stays as it is.
        held = os.open(out / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    with open(held, "rb"):  # noqa: PTH123 - pathlib opens no descriptor
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TableError(f"{out}: another infer writes there now; wait for it, or give another --out") from None
        except OSError:
            pass  # a file system without locks, such as some network mounts
        yield


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _require_same(out: Path, identity: RunIdentity) -> None:
    path = out / RUN_FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        differing = [name for name, value in asdict(identity).items() if found.get(name) != value]
    except (OSError, ValueError, AttributeError) as error:
        raise TableError(f"{path}: not readable ({error}); give --out a new folder") from error
    if differing:
        said = "; ".join(f"{name} {found.get(name)}, now {getattr(identity, name)}" for name in differing)
        raise TableError(f"{out}: holds a run of something else ({said}); give --out a new folder, or the same values")
