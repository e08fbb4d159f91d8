"""Where the next frame comes from: a list that is known, or folders that are still being written."""

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from reseed.infer.run_folder import Frame, is_frame_name, name_below, walk_folders
from reseed.sources.inventory import HEAD_BYTES, JPEG, sniff_format

POLL_S: Final = 0.25
_LOOK_SHARE: Final = 0.05  # of the time may go into looking at folders that have become large
PATIENCE_S: Final = 20.0  # unchanged for so long and still broken: not being written any more
_QUIET_S: Final = 2.0  # unchanged for so long: worth a try without the end mark of a JPEG
_TAIL_BYTES: Final = 4096
_JPEG_END: Final = b"\xff\xd9"


class Source(Protocol):
    """Gives frames, one at a time."""

    def take(self) -> Frame | None:
        """Return the next frame, or None if there is none now."""

    def exhausted(self) -> bool:
        """Whether no frame will come any more."""

    def give_back(self, frame: Frame) -> bool:
        """Take back a frame that cannot be used, to try it again later; False if it is not worth another try."""

    def passed_over(self) -> list[tuple[Frame, Frame]]:
        """Return the frames that were left out since the last call, each with the newer one that was taken instead."""


class ListSource:
    """Frames that are all there."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        self._waiting = deque(frames)

    def take(self) -> Frame | None:
        """Return the next frame in order."""
        return self._waiting.popleft() if self._waiting else None

    def exhausted(self) -> bool:
        """Whether all were taken."""
        return not self._waiting

    def give_back(self, frame: Frame) -> bool:  # noqa: ARG002 - a file that is not being written stays as it is
        """Return False."""
        return False

    def passed_over(self) -> list[tuple[Frame, Frame]]:
        """Return nothing: all are taken."""
        return []


@dataclass
class _File:
    """A file that is there, perhaps not all of it yet.

    Args:
        frame: Which.
        stat: Length and time of the last change, as the file system says.
        changed_at: When that was seen to change last.
        confirmed: Whether two looks found the same.
        tried: Whether it was taken in this state and found broken.
    """

    frame: Frame
    stat: tuple[int, int]
    changed_at: float
    confirmed: bool = False
    tried: bool = False


class WatchedFolders:
    """Frames of folders into which a recorder or a copy still writes.

    A file is taken once it has not changed between two looks and, for a JPEG, ends as a JPEG ends; or once it has not
    changed for two seconds. One that turns out to be broken is tried again when it changes, and once more after
    `PATIENCE_S` without a change.

    Args:
        folders: Searched in full depth; folders that come later are found too.
        root: Folder that the names of frames start from.
        out: Folder of the results.
        done: Names of frames that were decided before.
        newest_first: Take the newest complete frame and pass over all older ones.
        idle_end_s: Stop after so many seconds in which nothing changed; None: never.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        root: Path,
        out: Path,
        done: set[str],
        *,
        newest_first: bool,
        idle_end_s: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folders = [folder.resolve() for folder in folders]  # one inside another gives the same paths
        self._root, self._out, self._done = root, out, done
        self._newest_first, self._idle_end_s, self._clock = newest_first, idle_end_s, clock
        self._files: dict[Path, _File] = {}
        self._arriving: set[Path] = set()
        self._settled: dict[Path, set[str]] = {}  # by folder: names that need not be looked at again
        self._pause_s = POLL_S
        self._passed: list[tuple[Frame, Frame]] = []
        self._over = False
        self.closed: tuple[str, ...] = ()
        self._active_at = clock()
        self._looked_at = self._active_at - POLL_S

    @property
    def unfinished(self) -> int:
        """Files that are there and not taken yet."""
        return len(self._arriving)

    def take(self) -> Frame | None:
        """Return a complete frame: the first in order of capture, or the newest."""
        if not self._over and self._clock() - self._looked_at >= self._pause_s:
            self._look()
            self._pause_s = max(POLL_S, (self._clock() - self._looked_at) / _LOOK_SHARE)
            self._over = self._idle_end_s is not None and self._clock() - self._active_at > self._idle_end_s
        ready = [path for path in self._arriving if self._is_ready(self._files[path])]
        if not ready:
            return None
        if self._newest_first:
            chosen = max(ready, key=self._age)
            older = sorted((self._files[path].frame for path in ready if path != chosen), key=lambda frame: frame.order)
            self._passed += [(frame, self._files[chosen].frame) for frame in older]
            self._arriving -= set(ready)
        else:
            chosen = min(ready, key=lambda path: self._files[path].frame.order)
            self._arriving.remove(chosen)
        self._active_at = self._clock()
        return self._files[chosen].frame

    def exhausted(self) -> bool:
        """Whether nothing has changed for long enough, and nothing waits."""
        return self._over and not self._arriving

    def give_back(self, frame: Frame) -> bool:
        """Wait for the rest of a frame, unless it has not changed for long."""
        file = self._files[frame.path]
        if self._over or self._quiet_s(file) >= PATIENCE_S:
            return False
        file.tried = True
        self._arriving.add(frame.path)
        self._settled[frame.path.parent].discard(frame.path.name)
        return True

    def passed_over(self) -> list[tuple[Frame, Frame]]:
        """Return the frames that were left out since the last call."""
        passed, self._passed = self._passed, []
        return passed

    def _age(self, path: Path) -> tuple[int, tuple[object, ...]]:
        return self._files[path].stat[1], self._files[path].frame.order

    def _quiet_s(self, file: _File) -> float:
        return self._clock() - file.changed_at

    def _is_ready(self, file: _File) -> bool:
        if self._over:
            return True  # what is not whole now never will be
        if file.tried or not file.stat[0]:
            return self._quiet_s(file) >= PATIENCE_S
        return file.confirmed and (self._quiet_s(file) >= _QUIET_S or _ends_as_jpeg(file.frame.path))

    def _look(self) -> None:
        self._looked_at = self._clock()
        gone = set(self._arriving)
        closed: dict[str, None] = {}
        for folder in self._folders:
            for here, names in walk_folders(folder, self._out, closed):
                settled = self._settled.setdefault(here, set())
                beside = frozenset(names)
                for name in beside - settled:
                    gone.discard(here / name)
                    self._note(here / name, settled, is_frame=is_frame_name(name, beside))
        self.closed = tuple(closed)
        for path in gone:  # a copy that was given up, or a temporary name
            self._arriving.remove(path)
            del self._files[path]

    def _note(self, path: Path, settled: set[str], *, is_frame: bool) -> None:
        if not is_frame or (path in self._files and path not in self._arriving):
            settled.add(path.name)
            return
        try:
            found = path.stat()
            stat = found.st_size, found.st_mtime_ns
        except OSError:
            if not os.path.lexists(path):
                return  # gone between the two calls
            stat = 0, 0  # a link to nothing or to itself, perhaps mended later: waited for as an empty file is
        file = self._files.get(path)
        if file is None:
            frame = Frame(path, name_below(self._root, path))
            file = self._files[path] = _File(frame, stat, self._looked_at)
            if frame.name in self._done:
                return
            self._arriving.add(path)
            self._active_at = self._looked_at
        elif file.stat != stat:
            file.stat, file.changed_at, file.confirmed, file.tried = stat, self._looked_at, False, False
            self._active_at = self._looked_at
        else:
            file.confirmed = True


def _ends_as_jpeg(path: Path) -> bool:
    """Whether a file begins as a JPEG and ends with its end mark; some recorders pad it with NUL bytes."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as reader:
            head = reader.read(HEAD_BYTES)
            reader.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return sniff_format(head) == JPEG and reader.read(_TAIL_BYTES).rstrip(b"\0").endswith(_JPEG_END)
    except OSError:
        return False
