"""Where, when and how deep a frame was taken, read while the run goes on: EXIF first, else the recorder's log."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reseed.base.errors import ImageError, TableError
from reseed.infer.frame_list import LOG_FILE, Frame
from reseed.sources.inventory import HEAD_BYTES, JPEG, sniff_format
from reseed.survey.geotag import Facts, Geotag, merge, read_exif
from reseed.survey.photo_log import PhotoLog, read_photo_log

_EXIF_BYTES: Final = 1 << 18  # an EXIF block is 64 kB at most and stands before the picture
_RENDERED: Final = b"RESEED_DEMO"  # the camera of the demo reef; see reseed.demo.recorder
_REREAD_S: Final = 2.0


@dataclass(frozen=True)
class Exif:
    """What the file itself says of a frame.

    Args:
        facts: Position, time and depths.
        synthetic: Whether the demo rendered it.
    """

    facts: Facts
    synthetic: bool


def read_exif_of(path: Path) -> Exif:
    """Read the EXIF block of an image file without reading the whole of a JPEG.

    Raises:
        ImageError: `unreadable` if the operating system refuses.
    """
    try:
        with path.open("rb") as reader:
            data = reader.read(_EXIF_BYTES)
            facts = read_exif(data)
            if sniff_format(data[:HEAD_BYTES]) != JPEG or "exif_unreadable" in facts.problems:
                data += reader.read()
                facts = read_exif(data)
    except OSError as error:
        raise ImageError("unreadable", error.strerror or str(error)) from error
    return Exif(facts, _RENDERED in data[:_EXIF_BYTES])


class Logs:
    """The photo logs that count for the frames of a run: that of a frame's folder, else of the nearest above.

    Args:
        root: No log above it counts.
        growing: Whether logs may still be written: they are then read again for frames that they lack, and a last row
            that is not complete yet is no error.
    """

    def __init__(self, root: Path, *, growing: bool) -> None:
        self._root = root
        self._growing = growing
        self._paths: dict[Path, tuple[Path | None, float]] = {}
        self._read: dict[Path, tuple[PhotoLog | None, float]] = {}
        self.broken: dict[Path, str] = {}

    def check(self, frames: Iterable[Frame]) -> None:
        """Read every log that counts for the frames, before any of them costs time.

        Raises:
            TableError: If a log is broken, and is not one that still grows.
        """
        for frame in frames:
            self._facts(frame)

    def geotag(self, frame: Frame, exif: Exif) -> Geotag:
        """Return where, when and how deep a frame was taken.

        Raises:
            TableError: If a log is broken, and is not one that still grows.
        """
        return merge(exif.facts, self._facts(frame), frame.stem)

    def _facts(self, frame: Frame) -> Facts | None:
        path = self._path(frame.path.parent.resolve())
        if path is None:
            return None
        log, read_at = self._read.get(path, (None, 0.0))
        missing = log is None or frame.path.name not in log.facts
        if path not in self._read or (self._growing and missing and time.monotonic() - read_at > _REREAD_S):
            log = self._load(path) or log  # the rows that were whole before still hold
            self._read[path] = log, time.monotonic()
        return log.facts.get(frame.path.name) if log else None

    def _load(self, path: Path) -> PhotoLog | None:
        try:
            log = read_photo_log(path, str(path), on_conflict="drop")
        except TableError as error:
            if not self._growing:
                raise
            self.broken[path] = str(error)
            return None
        except OSError as error:
            if not self._growing:
                raise TableError(f"{path}: cannot be read ({error.strerror})") from error
            self.broken[path] = str(error)
            return None
        self.broken.pop(path, None)
        return log

    def _path(self, folder: Path) -> Path | None:
        found, looked_at = self._paths.get(folder, (None, -_REREAD_S))
        if folder in self._paths and (found or not self._growing or time.monotonic() - looked_at < _REREAD_S):
            return found
        above = [folder, *folder.parents]
        inside = above[: above.index(self._root) + 1] if self._root in above else above[:1]
        found = next((log for place in inside if (log := _log_in(place))), None)
        self._paths[folder] = found, time.monotonic()
        return found


def _log_in(folder: Path) -> Path | None:
    plain = folder / LOG_FILE
    if plain.is_file():
        return plain
    try:
        return next((path for path in sorted(folder.iterdir()) if path.name.casefold() == LOG_FILE), None)
    except OSError:
        return None
