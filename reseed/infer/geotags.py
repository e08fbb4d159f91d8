"""Where, when and how deep a frame was taken, read while the run goes on: EXIF first, else the recorder's log."""

import itertools
import json
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reseed.base.errors import TableError
from reseed.base.files import write_text
from reseed.infer.run_folder import LOG_FILE, Frame, sequence_of
from reseed.infer.tables import FrameRow, writing
from reseed.sources.inventory import is_picture_name
from reseed.survey.geotag import Facts, Geotag, distance_m, merge, read_exif
from reseed.survey.identity import composed, recording
from reseed.survey.photo_log import PhotoLog, read_photo_log

_EXIF_BYTES: Final = 1 << 18  # an EXIF block is 64 kB at most and stands before the picture
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


def exif_in(data: bytes) -> Exif:
    """Return what the content of an image file says of the frame."""
    facts = read_exif(data)
    return Exif(facts, facts.rendered)


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
        self._recordings: dict[Path, dict[str, set[tuple[str, ...]]]] = {}
        self._unsure: dict[Path, set[str]] = {}
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
        row = self._row(log, path, frame)
        if path not in self._read or (self._growing and row is None and time.monotonic() - read_at > _REREAD_S):
            log = self._load(path) or log  # the rows that were whole before still hold
            self._read[path] = log, time.monotonic()
            self._recordings.pop(path, None)
            row = self._row(log, path, frame)
        return log.facts[row] if log and row is not None else None

    def _row(self, log: PhotoLog | None, path: Path, frame: Frame) -> str | None:
        if log is None:
            return None
        folder = frame.path.parent.resolve()

        def unique() -> bool:
            alone = len(self._same_name(path, frame)) <= 1
            if not alone:
                self._unsure.setdefault(path, set()).add(frame.name)
            return alone

        # From the folder of the run; where that is the folder of the frame, with its name: it may be 100GOPRO.
        above = frame.name.rpartition("/")[0] or self._root.name
        return log.find(f"{above}/{frame.path.name}", own=folder == path.parent, unique=unique)

    def _same_name(self, path: Path, frame: Frame) -> set[tuple[str, ...]]:
        """Return the recordings below the folder of a log that have a frame of that name."""
        if path not in self._recordings:
            found: dict[str, set[tuple[str, ...]]] = {}
            for here, _, names in os.walk(path.parent):
                for name in filter(is_picture_name, names):
                    found.setdefault(composed(name), set()).add(recording((Path(here) / name).as_posix()))
            self._recordings[path] = found
        return self._recordings[path].get(composed(frame.path.name), set())

    def remarks(self) -> list[str]:
        """Return what of the logs could not be used, a line each."""
        unsure = (
            f"{path}: {len(names)} frame(s) of a name that several folders have; write paths into the log"
            for path, names in self._unsure.items()
        )
        return [*self.broken.values(), *unsure]

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


# Metres; frames of one folder that are further apart than this were not taken on one way.
GAP_M: Final = 250.0

Place = tuple[float, float]


def by_sequence(rows: Iterable[FrameRow], alone: str) -> dict[str, list[FrameRow]]:
    """Return the frames of each sequence, in the order given.

    Args:
        rows: Frames.
        alone: Name of the sequence of frames that lie in no folder below the common one.
    """
    sequences: dict[str, list[FrameRow]] = {}
    for row in rows:
        sequences.setdefault(sequence_of(row.frame) or alone, []).append(row)
    return dict(sorted(sequences.items()))


def stretches(rows: Sequence[FrameRow]) -> list[list[Place]]:
    """Return the ways on which frames follow each other without a gap of more than `GAP_M`, as latitude, longitude."""
    found: list[list[Place]] = []
    for place in (row.place for row in rows if row.place is not None):
        if found and distance_m(Facts(*found[-1][-1]), Facts(*place)) <= GAP_M:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def geojson(
    rows: Sequence[FrameRow], alone: str, alpha: str, gold: Mapping[str, str], promise: str = ""
) -> dict[str, Any]:
    """Return a FeatureCollection (RFC 7946): a point for each frame, a line for each sequence.

    A frame without a position has a null geometry (section 3.2). Lines are cut at the antimeridian (section 3.1.9).

    Args:
        rows: Frames in the order of capture.
        alone: See `by_sequence`.
        alpha: Decimal text.
        gold: Reference decision by frame.
        promise: What alpha promises, in words; a member of the collection (section 6.1), left out if empty.
    """
    features = [_point(row, alpha, gold.get(row.frame)) for row in rows]
    for sequence, members in by_sequence(rows, alone).items():
        lines = [part for way in stretches(members) if len(way) > 1 for part in cut_at_antimeridian(way)]
        if lines:
            shape: dict[str, Any] = {"type": "MultiLineString", "coordinates": lines}
            if len(lines) == 1:
                shape = {"type": "LineString", "coordinates": lines[0]}
            about = {"kind": "track", "sequence": sequence, "n_frames": len(members)}
            features.append({"type": "Feature", "geometry": shape, "properties": about})
    said = {"promise": promise} if promise else {}
    return {"type": "FeatureCollection", **said, "features": features}


def write_geojson(path: Path, collection: Mapping[str, Any]) -> None:
    """Write `track.geojson`.

    Raises:
        TableError: If it cannot be written.
    """
    with writing(path):
        write_text(path, json.dumps(collection, ensure_ascii=False, allow_nan=False) + "\n")


def cut_at_antimeridian(way: Sequence[Place]) -> list[list[list[float]]]:
    """Return a line as GeoJSON positions, in parts none of which crosses the antimeridian.

    Args:
        way: Latitude and longitude, at least two places; neighbours are joined the short way round.
    """
    parts: list[list[list[float]]] = [[_position(*way[0])]]
    for (lat_a, lon_a), (lat_b, lon_b) in itertools.pairwise(way):
        if abs(lon_b - lon_a) > 180:
            side = math.copysign(180.0, lon_a)
            beyond = lon_b + math.copysign(360.0, lon_a)
            share = 0.0 if beyond == lon_a else (side - lon_a) / (beyond - lon_a)
            latitude = lat_a + share * (lat_b - lat_a)
            parts[-1].append(_position(latitude, side))
            parts.append([_position(latitude, -side)])
        parts[-1].append(_position(lat_b, lon_b))
    return parts


def _position(latitude: float, longitude: float) -> list[float]:
    return [round(longitude, 7), round(latitude, 7)]  # GeoJSON puts the longitude first


def _point(row: FrameRow, alpha: str, gold: str | None) -> dict[str, Any]:
    geometry = None if row.place is None else {"type": "Point", "coordinates": _position(*row.place)}
    return {
        "type": "Feature",
        "geometry": geometry,
        "properties": {
            "kind": "frame",
            "frame": row.frame,
            "captured_at": row.captured_at or None,
            "water_depth_m": row.water_depth_m,
            "n_patches": row.n_patches,
            "deploy_count": row.deploy_count,
            "coral_count": row.coral_count,
            "alpha": alpha,
            "decision": row.decision,
            "ask_reason": row.ask_reason or None,
            "gold": gold,
            "latency_ms": row.latency_ms,
            "synthetic": row.synthetic,
            "deploy_ratio": round(row.deploy_count / row.n_patches, 6),
            "coral_cover": round(row.coral_count / row.n_patches, 6),
        },
    }
