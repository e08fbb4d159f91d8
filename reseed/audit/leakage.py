"""What train, val and test have in common: equal files, copies, close neighbours, overlapping views."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from reseed.artifacts.splits import SPLITS
from reseed.base.parallel import ordered_map
from reseed.patches.overlap import (
    MAX_HASH_BITS,
    Overlap,
    Pair,
    SmallView,
    hash_distances,
    is_copy,
    register,
    small_view,
    table_leaks,
    within_sequence,
)
from reseed.survey.frame_pixels import frame_pixels, pieces_of_frames

EQUAL: Final = "equal file"
COPY: Final = "re-encoded copy"
NEIGHBOUR: Final = "close neighbours"
OVERLAP: Final = "overlapping views"
KINDS: Final = (EQUAL, COPY, NEIGHBOUR, OVERLAP)

# Above so many pairs of frames only those are registered that may overlap: near in time or in place.
MOST_PAIRS: Final = 20_000
_REACH_FRAMES: Final = 5
_NEAR_M: Final = 20.0  # a frame is a few metres wide, and a position of a small vessel some metres off
_EARTH_M: Final = 6_371_000.0


@dataclass(frozen=True)
class Shared:
    """Two frames that show the same seafloor, or are likely to.

    Args:
        kinds: Those of KINDS that hold, at least one, in that order.
        first: Frame id.
        second: Frame id; behind the first in byte order.
        splits: Of the two.
        overlap: How they lie to each other.
    """

    kinds: tuple[str, ...]
    first: str
    second: str
    splits: tuple[str, str]
    overlap: Overlap

    @property
    def leaks(self) -> bool:
        """Whether the two lie in different splits, both in use."""
        return self.splits[0] != self.splits[1] and set(self.splits) <= set(SPLITS)

    @property
    def seen(self) -> bool:
        """Whether the pictures themselves show it, and not only where the frames stand in their sequence."""
        return self.kinds != (NEIGHBOUR,)


@dataclass(frozen=True)
class Leakage:
    """What was found.

    Args:
        shared: Worst first: between splits before within one, seen before likely, copies first, then by the peak.
        n_frames: Frames looked at.
        n_registered: Pairs of frames registered.
        n_pairs: All pairs of frames.
        n_following: Pairs of frames that follow each other in a sequence.
        n_following_overlap: Those of them that were seen to overlap.
        reach: Frames of one sequence so far apart at most count as close neighbours.
    """

    shared: tuple[Shared, ...]
    n_frames: int
    n_registered: int
    n_pairs: int
    n_following: int
    n_following_overlap: int
    reach: int


def find_leakage(
    frames: pd.DataFrame,
    pieces: pd.DataFrame,
    splits: Mapping[str, str],
    raw: Path,
    guard_frames: int,
    most_pairs: int = MOST_PAIRS,
) -> Leakage:
    """Look at the tables and at every picture.

    Args:
        frames: Table FRAMES.
        pieces: Table PIECES: the images of frames that came as patches.
        splits: frame_id -> train, val, test or none.
        raw: Folder that frame ids are relative to.
        guard_frames: Frames that should lie between two splits of one sequence.
        most_pairs: Above so many pairs of frames, only those near in time or place are registered.

    Raises:
        ImageError: If a frame cannot be decoded.
    """
    frames = frames.sort_values("frame_id").reset_index(drop=True)
    tables = table_leaks(frames, splits, guard_frames)
    views = _views(frames, pieces, raw)
    members: dict[str, set[Pair]] = {
        EQUAL: {_ordered(*pair) for pair in tables.copies},
        COPY: set(copies(views)),
        NEIGHBOUR: {_ordered(*pair) for pair in tables.neighbours},
    }
    members[COPY] -= members[EQUAL]
    pairs = sorted(set(candidate_pairs(frames, most_pairs)).union(*members.values()))
    overlaps = _register(views, pairs)
    members[OVERLAP] = {pair for pair in pairs if overlaps[pair].found}
    following = {_ordered(first, second) for first, second, _ in within_sequence(frames, 1)}
    shared = [
        Shared(
            kinds=tuple(kind for kind in KINDS if pair in members[kind]),
            first=pair[0],
            second=pair[1],
            splits=(splits[pair[0]], splits[pair[1]]),
            overlap=overlaps[pair],
        )
        for pair in sorted(set().union(*members.values()))
    ]
    return Leakage(
        shared=tuple(sorted(shared, key=_worst_first)),
        n_frames=len(frames),
        n_registered=len(pairs),
        n_pairs=len(frames) * (len(frames) - 1) // 2,
        n_following=len(following),
        n_following_overlap=len(following & members[OVERLAP]),
        reach=tables.reach,
    )


def candidate_pairs(frames: pd.DataFrame, most_pairs: int) -> list[Pair]:
    """Return the pairs worth registering, sorted: all of them, or those near in time or place if that is too many.

    Args:
        frames: Table FRAMES.
        most_pairs: All pairs are returned up to this number.
    """
    ids = sorted(str(frame_id) for frame_id in frames["frame_id"])
    if len(ids) * (len(ids) - 1) // 2 <= most_pairs:
        return list(combinations(ids, 2))
    near = {_ordered(first, second) for first, second, _ in within_sequence(frames, _REACH_FRAMES)}
    placed = frames.dropna(subset=["latitude_deg", "longitude_deg"])
    if len(placed):
        latitude, longitude = (np.radians(placed[name].to_numpy()) for name in ("latitude_deg", "longitude_deg"))
        metres = np.column_stack([latitude, longitude * np.cos(latitude)]) * _EARTH_M
        names = [str(frame_id) for frame_id in placed["frame_id"]]
        near |= {_ordered(names[i], names[j]) for i, j in cKDTree(metres).query_pairs(_NEAR_M)}
    return sorted(near)


def copies(views: Mapping[str, SmallView]) -> list[Pair]:
    """Return the pairs of which one picture is the other, encoded anew; all pairs are compared."""
    hashed = [(frame_id, view.bits) for frame_id, view in sorted(views.items()) if view.bits is not None]
    if len(hashed) < 2:
        return []
    table = np.stack([bits for _, bits in hashed])
    found = []
    for number, (frame_id, bits) in enumerate(hashed[:-1]):
        near = np.flatnonzero(hash_distances(bits, table[number + 1 :]) <= MAX_HASH_BITS)
        others = [hashed[number + 1 + int(index)][0] for index in near]
        found += [(frame_id, other) for other in others if is_copy(views[frame_id], views[other])]
    return found


def _views(frames: pd.DataFrame, pieces: pd.DataFrame, raw: Path) -> dict[str, SmallView]:
    size_of = {str(row["frame_id"]): (row["width_px"], row["height_px"]) for row in frames.to_dict("records")}
    ids, pieces_of = list(size_of), pieces_of_frames(pieces)

    def view(frame_id: str) -> SmallView:
        return small_view(frame_pixels(raw, frame_id, pieces_of.get(frame_id), *size_of[frame_id]))

    return dict(zip(ids, ordered_map(view, ids, total=len(ids), unit="frame", what="look at"), strict=True))


def _register(views: Mapping[str, SmallView], pairs: list[Pair]) -> dict[Pair, Overlap]:
    def overlap(pair: Pair) -> Overlap:
        return register(views[pair[0]], views[pair[1]])

    done = ordered_map(overlap, pairs, total=len(pairs), unit="pair", what="register")
    return dict(zip(pairs, done, strict=True))


def _ordered(first: str, second: str) -> Pair:
    return (first, second) if first < second else (second, first)


def _worst_first(shared: Shared) -> tuple[object, ...]:
    copied = bool({EQUAL, COPY} & set(shared.kinds))
    return not shared.leaks, not shared.seen, not copied, -shared.overlap.peak_sd, shared.first, shared.second
