"""The track: which frames follow each other, and `track.geojson`."""

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from reseed.base.files import write_text
from reseed.infer.frame_list import sequence_of
from reseed.infer.line_file import writing
from reseed.infer.tables import FrameRow
from reseed.survey.geotag import Facts, distance_m

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


def geojson(rows: Sequence[FrameRow], alone: str, alpha: str, gold: Mapping[str, str]) -> dict[str, Any]:
    """Return a FeatureCollection (RFC 7946): a point for each frame, a line for each sequence.

    A frame without a position has a null geometry (section 3.2). Lines are cut at the antimeridian (section 3.1.9).

    Args:
        rows: Frames in the order of capture.
        alone: See `by_sequence`.
        alpha: Decimal text.
        gold: Reference decision by frame.
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
    return {"type": "FeatureCollection", "features": features}


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
            "gold": gold,
            "latency_ms": row.latency_ms,
            "synthetic": row.synthetic,
            "deploy_ratio": round(row.deploy_count / row.n_patches, 6),
            "coral_cover": round(row.coral_count / row.n_patches, 6),
        },
    }
