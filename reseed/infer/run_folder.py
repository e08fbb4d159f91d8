"""The folder of a run: what the run is of, so that another start goes on with the same and nothing else.

The frames of a run are listed here too, in the order of the survey.
"""

import json
import os
import re
import sys
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

from reseed.base.csv import decode_text, stripped
from reseed.base.errors import SourceError, TableError
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
from reseed.sources.folder import explained
from reseed.sources.inventory import IMAGE_SUFFIXES, is_picture_name, is_system_file, repeats
from reseed.survey.identity import Natural, natural_key, recording_folders

LIST_SUFFIX: Final = ".txt"
LOG_FILE: Final = "photo_log.csv"  # as in layout survey, whose module brings pandas with it
RECORDER_FILES: Final = frozenset({LOG_FILE, "survey.json"})

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\u2028\u2029]")
_SHOWN: Final = 5


@dataclass(frozen=True)
class Frame:
    """One image file.

    Args:
        path: Where it lies.
        name: POSIX path below the folder that all frames of the run have in common; characters that break lines, and
            bytes that are no UTF-8, are written as escapes.
    """

    path: Path
    name: str

    @cached_property
    def order(self) -> tuple[Natural, Natural, str]:
        """What sorts frames: recorders write the time of capture, or a number, into the file name."""
        return natural_key(self.stem), natural_key(self.name), self.name

    @property
    def stem(self) -> str:
        """File name without its ending."""
        return PurePosixPath(self.name).stem


@dataclass(frozen=True)
class FrameList:
    """What the arguments name.

    Args:
        root: Folder that the names of frames start from.
        frames: By file name, numbers by value, then by path; none twice.
        ignored: Files in the folders that are no image by their name, and not what a recorder writes beside the images.
        closed: Folders that cannot be read, each with the reason.
    """

    root: Path
    frames: tuple[Frame, ...]
    ignored: int
    closed: tuple[str, ...] = ()


def find_frames(given: Sequence[Path], out: Path) -> FrameList:
    """Return the frames that folders, image files and text lists name.

    Args:
        given: Folders are searched in full depth; a list (`.txt`) has a path a line, relative to its own folder.
        out: Folder of the results: what lies in it is no frame.

    Raises:
        SourceError: If something is not there, cannot be read, or there is no frame at all.
    """
    paths, ignored = [], 0
    closed: dict[str, None] = {}
    for path in given:
        if path.is_dir():
            with explained(path, "read"):
                next(path.iterdir(), None)  # os.walk says nothing of a folder that it may not open
            for here, names in walk_folders(path, out, closed):
                beside = frozenset(names)
                images = [name for name in names if is_frame_name(name, beside)]
                paths += [here / name for name in images]
                known = RECORDER_FILES.union(name.casefold() for name in images)
                ignored += sum(not is_system_file(name) and name.casefold() not in known for name in names)
        elif path.suffix.casefold() == LIST_SUFFIX and path.is_file():
            paths += _listed(path)
        elif path.is_file():
            paths.append(path)
        else:
            raise SourceError(f"{path}: no such file or folder; give folders of frames, image files or a list (.txt)")
    root = common_root(given)
    frames: dict[str, Frame] = {}
    for path in paths:
        frame = Frame(path, name_below(root, path))
        twin = frames.setdefault(frame.name, frame)
        if (twin.path.parent.resolve(), twin.path.name) != (path.parent.resolve(), path.name):
            raise SourceError(
                f"{path.name!r} and {twin.path.name!r} would both be called {frame.name} in the tables; "
                "rename one of them"
            )
    if not frames:
        raise SourceError(
            f"{', '.join(map(str, given))}: no frame found (other files: {ignored}); "
            f"frames are files ending in {', '.join(IMAGE_SUFFIXES)}"
        )
    return FrameList(root, tuple(sorted(frames.values(), key=lambda frame: frame.order)), ignored, tuple(closed))


def common_root(given: Sequence[Path]) -> Path:
    """Return the folder from which the names of frames start: the only one given, else what the given ones share."""
    folders = [folder for path in given for folder in _folders_of(path)]
    try:
        return Path(os.path.commonpath([folder.resolve() for folder in folders]))
    except ValueError as error:  # different drives
        raise SourceError(f"{', '.join(map(str, given))}: no folder in common; run one after the other") from error


def name_below(root: Path, path: Path) -> str:
    """Return the name of the frame at `path`; the folder it lies in may be reached through a link."""
    resolved = path.parent.resolve() / path.name
    name = Path(os.path.relpath(resolved, root)).as_posix()
    return _printable(name)


def _printable(name: str) -> str:
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), name)


def walk_folders(folder: Path, out: Path, closed: dict[str, None]) -> Iterator[tuple[Path, list[str]]]:
    """Yield every folder from `folder` downwards with the names of its files.

    Hidden folders, those that operating systems leave behind, and that of the results, `out`, are passed over. Those
    that cannot be read are added to `closed`, each with the reason.
    """
    skipped = out.resolve()

    def note(error: OSError) -> None:
        closed[_printable(f"{error.filename}: {error.strerror}")] = None

    for parent, folders, names in os.walk(folder, onerror=note):
        here = Path(parent)
        folders[:] = [name for name in folders if not _is_hidden(name) and (here / name).resolve() != skipped]
        yield here, names


def is_frame_name(name: str, beside: Container[str]) -> bool:
    """Whether a file is a frame by its name: a picture, also of a format that is not read, and not a repeated one.

    Args:
        name: Of the file.
        beside: Names of the files in its folder.
    """
    return is_picture_name(name) and not is_system_file(name) and not repeats(name, beside)


def sequence_of(name: str) -> str:
    """Return the sequence of a frame, its folder; the cameras of one recording are one sequence."""
    return "/".join(recording_folders(name))


def _is_hidden(folder: str) -> bool:
    return is_system_file(f"{folder}/x")


def _folders_of(path: Path) -> list[Path]:
    if path.is_dir():
        return [path]
    listed = _listed(path) if path.suffix.casefold() == LIST_SUFFIX else []
    return [found.parent for found in listed] or [path.parent]


def _listed(path: Path) -> list[Path]:
    try:
        lines = decode_text(path.read_bytes(), str(path), "list").splitlines()
    except OSError as error:
        raise SourceError(f"{path}: not readable as a list of frames: {error}") from error
    named = [(number, stripped(stripped(line).strip('"'))) for number, line in enumerate(lines, 1)]
    wanted = [(number, _listed_file(path.parent, line)) for number, line in named if line and not line.startswith("#")]
    # A link to itself or a pipe is there, and becomes one frame that cannot be used.
    lost = [f"line {number}: {found}" for number, found in wanted if not os.path.lexists(found) or found.is_dir()]
    if lost:
        raise SourceError(
            f"{path}: {len(lost)} of {len(wanted)} files are not there: {'; '.join(lost[:_SHOWN])}; "
            "a path a line, relative to the folder of the list"
        )
    return [found for _, found in wanted]


def _listed_file(folder: Path, line: str) -> Path:
    """Return the file that a line of a list names; programs of Windows write its folders with backslashes."""
    path = folder / line
    slashed = folder / line.replace("\\", "/")
    return slashed if not os.path.lexists(path) and os.path.lexists(slashed) else path


NOBODY: Final = "none"
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
        ask: Share of familiar frames that a person is asked about at most, decimal text, or none.
        doubt_from: Alpha from which on frames are in doubt, decimal text; empty for no doubt.
        manifest_sha256: Digest of the list of all frames, of a run in shards; None of another.
    """

    frames: str
    model_sha256: str
    backbone: str
    patch_size_px: int
    input_size_px: int
    resize: str
    decode: str
    alpha: str
    ask: str = NOBODY
    doubt_from: str = ""
    manifest_sha256: str | None = None


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
        write_json(out / RUN_FILE, {name: value for name, value in asdict(identity).items() if value is not None})
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
