"""What train, val and test have in common: equal files, copies, close neighbours, overlapping views.

`python -m reseed leakage` looks at every frame. The pipeline looks at the frames at the borders of splits: the pairs of
frames in different splits that lie nearest to each other, in their sequence or in place.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from reseed.artifacts.leakage import LeakageRecord, SharedPair
from reseed.artifacts.patches import SPLITS, TEST
from reseed.base.parallel import ordered_map
from reseed.patches.overlap import (
    MAX_HASH_BITS,
    SMALL_HEIGHT_PX,
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
from reseed.survey.imagery import frame_pixels, pieces_of_frames

EQUAL: Final = "equal file"
COPY: Final = "re-encoded copy"
NEIGHBOUR: Final = "close neighbours"
OVERLAP: Final = "overlapping views"
KINDS: Final = (EQUAL, COPY, NEIGHBOUR, OVERLAP)

# Above so many pairs of frames only those are registered that may overlap: near in time or in place.
MOST_PAIRS: Final = 20_000
# What the pipeline registers at most: seconds of a run of minutes.
MOST_BORDER_PAIRS: Final = 600
MOST_BORDER_FRAMES: Final = 300
_REACH_FRAMES: Final = 5
_NEAR_M: Final = 20.0  # a frame is a few metres wide, and a position of a small vessel some metres off
_EARTH_M: Final = 6_371_000.0
_FEW_FRAMES: Final = 120  # so few are all compared, also those that are near in nothing that is known
_RECORDED: Final = 10
UNKNOWN: Final = Overlap(0.0, 0.0, 0.0, 0.0, 0.0)  # of frames that were not looked at


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
    views = _views(frames, pieces, raw)
    return _leakage(frames, splits, guard_frames, views, candidate_pairs(frames, most_pairs))


def _leakage(
    frames: pd.DataFrame,
    splits: Mapping[str, str],
    guard_frames: int,
    views: Mapping[str, SmallView],
    candidates: Iterable[Pair],
) -> Leakage:
    """Compare the pairs that are worth it, and those that the tables name, as far as there are views of them."""
    tables = table_leaks(frames, splits, guard_frames)
    members: dict[str, set[Pair]] = {
        EQUAL: {_ordered(*pair) for pair in tables.copies},
        COPY: set(copies(views)),
        NEIGHBOUR: {_ordered(*pair) for pair in tables.neighbours},
    }
    members[COPY] -= members[EQUAL]
    pairs = sorted(pair for pair in set(candidates).union(*members.values()) if views.keys() >= set(pair))
    overlaps = _register(views, pairs)
    members[OVERLAP] = {pair for pair in pairs if overlaps[pair].found}
    following = {_ordered(first, second) for first, second, _ in within_sequence(frames, 1)}
    shared = [
        Shared(
            kinds=tuple(kind for kind in KINDS if pair in members[kind]),
            first=pair[0],
            second=pair[1],
            splits=(splits[pair[0]], splits[pair[1]]),
            overlap=overlaps.get(pair, UNKNOWN),
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


def look_at_borders(
    frames: pd.DataFrame, pieces: pd.DataFrame, splits: Mapping[str, str], raw: Path, guard_frames: int
) -> LeakageRecord:
    """Look at the frames at the borders of splits, at a fraction of the cost of `find_leakage`.

    Args:
        frames: Table FRAMES.
        pieces: Table PIECES.
        splits: frame_id -> train, val, test or none.
        raw: Folder that frame ids are relative to.
        guard_frames: Frames that should lie between two splits of one sequence.

    Raises:
        ImageError: If a frame cannot be decoded.
    """
    used = frames[frames["frame_id"].map(splits).isin(SPLITS)].reset_index(drop=True)
    sizes = [sum(splits[frame_id] == name for frame_id in used["frame_id"]) for name in SPLITS]
    n_pairs = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
    pairs = border_pairs(used, splits, guard_frames)
    chosen = {frame_id for pair in pairs for frame_id in pair}
    views = _views(used[used["frame_id"].isin(chosen)], pieces, raw, reduced=True)
    found = _leakage(frames, splits, guard_frames, views, pairs)
    leaks = [pair for pair in found.shared if pair.leaks]
    seen = [pair for pair in leaks if pair.seen]
    tested = {frame_id for pair in seen for frame_id in (pair.first, pair.second) if splits[frame_id] == TEST}
    return LeakageRecord(
        frames=len(chosen),
        pairs=found.n_registered,
        of_pairs=n_pairs,
        equal=sum(EQUAL in pair.kinds for pair in leaks),
        copies=sum(COPY in pair.kinds for pair in leaks),
        neighbours=sum(NEIGHBOUR in pair.kinds for pair in leaks),
        overlapping=sum(OVERLAP in pair.kinds for pair in leaks),
        test_frames_shared=len(tested),
        worst=tuple(
            SharedPair(
                first=pair.first,
                second=pair.second,
                splits=pair.splits,
                kinds=pair.kinds,
                share_pct=round(100 * pair.overlap.share, 1) if pair.overlap.found else None,
            )
            for pair in leaks[:_RECORDED]
        ),
    )


def border_pairs(frames: pd.DataFrame, splits: Mapping[str, str], guard_frames: int) -> list[Pair]:
    """Return pairs of frames in different splits, the nearest first: in their sequence, then in place, then any.

    Args:
        frames: Table FRAMES, frames in a split only.
        splits: frame_id -> train, val or test.
        guard_frames: Frames that should lie between two splits of one sequence.
    """
    apart = list(within_sequence(frames, guard_frames + _REACH_FRAMES))
    nearest = [_ordered(a, b) for a, b, _ in sorted(apart, key=lambda found: found[2]) if splits[a] != splits[b]]
    ids = sorted(str(frame_id) for frame_id in frames["frame_id"])
    few = len(ids) <= _FEW_FRAMES
    rest = [pair for pair in combinations(ids, 2) if splits[pair[0]] != splits[pair[1]]] if few else []
    chosen: list[Pair] = []
    known: set[str] = set()
    for pair in dict.fromkeys([*nearest, *_nearest_in_place(frames, splits), *rest]):
        if len(chosen) < MOST_BORDER_PAIRS and (known.issuperset(pair) or len(known) < MOST_BORDER_FRAMES):
            chosen.append(pair)
            known.update(pair)
    return chosen


def _nearest_in_place(frames: pd.DataFrame, splits: Mapping[str, str]) -> list[Pair]:
    """Return for each frame the nearest ones of other splits, at most `_NEAR_M` away, the nearest pairs first."""
    metres = _metres(frames)
    found: dict[Pair, float] = {}
    for split in SPLITS:
        own = [frame_id for frame_id in metres if splits[frame_id] == split]
        others = [frame_id for frame_id in metres if splits[frame_id] != split]
        if not own or not others:
            continue
        tree = cKDTree(np.stack([metres[frame_id] for frame_id in others]))
        distances, places = tree.query(np.stack([metres[frame_id] for frame_id in own]), k=[1, 2])
        for frame_id, apart, at in zip(own, distances, places, strict=True):
            near = zip(apart, at, strict=True)
            found |= {_ordered(frame_id, others[place]): float(far) for far, place in near if far <= _NEAR_M}
    return sorted(found, key=lambda pair: (found[pair], pair))


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
    metres = _metres(frames)
    if metres:
        names = list(metres)
        near |= {_ordered(names[i], names[j]) for i, j in cKDTree(np.array(list(metres.values()))).query_pairs(_NEAR_M)}
    return sorted(near)


def _metres(frames: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Return where each frame lies that has a position, north and east in metres, good for short distances."""
    placed = frames.dropna(subset=["latitude_deg", "longitude_deg"])
    latitude, longitude = (np.radians(placed[name].to_numpy(np.float64)) for name in ("latitude_deg", "longitude_deg"))
    metres = np.column_stack([latitude, longitude * np.cos(latitude)]) * _EARTH_M
    return dict(zip(placed["frame_id"].astype(str), metres, strict=True))


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


def _views(frames: pd.DataFrame, pieces: pd.DataFrame, raw: Path, *, reduced: bool = False) -> dict[str, SmallView]:
    """Return the small view of each frame; `reduced`: from a JPEG decoded at an eighth, a third of the time."""
    least_px = 2 * SMALL_HEIGHT_PX if reduced else None
    size_of = {str(row["frame_id"]): (row["width_px"], row["height_px"]) for row in frames.to_dict("records")}
    ids, pieces_of = list(size_of), pieces_of_frames(pieces)

    def view(frame_id: str) -> SmallView:
        return small_view(frame_pixels(raw, frame_id, pieces_of.get(frame_id), *size_of[frame_id], least_px))

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
