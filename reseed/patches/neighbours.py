"""What a division lets through that the tables alone can tell: equal files, and neighbours of one sequence."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

from reseed.artifacts.splits import SPLITS

Pair = tuple[str, str]


@dataclass(frozen=True)
class TableLeaks:
    """Pairs of frame ids in different splits that show the same seafloor, or are likely to.

    Args:
        copies: Frames of equal content; of more than two in a group, each split's first beside the next split's.
        neighbours: Frames of one sequence at most `reach` apart.
        reach: Frames: 1 for frames that follow each other.
    """

    copies: tuple[Pair, ...]
    neighbours: tuple[Pair, ...]
    reach: int


def table_leaks(frames: pd.DataFrame, splits: Mapping[str, str], guard_frames: int) -> TableLeaks:
    """Find what train, val and test have in common by the tables; frames in no split count for nothing.

    Args:
        frames: Table FRAMES.
        splits: frame_id -> split.
        guard_frames: Frames that should lie between two splits of one sequence; frames that follow each other are
            found even if it is 0.
    """
    used = frames[frames["frame_id"].map(splits).isin(SPLITS)]
    reach = max(1, guard_frames)
    return TableLeaks(
        copies=tuple(sorted(_copies(used, splits))),
        neighbours=tuple(
            sorted(
                (first, second)
                for first, second, _ in within_sequence(frames, reach)
                if splits[first] != splits[second] and {splits[first], splits[second]} <= set(SPLITS)
            )
        ),
        reach=reach,
    )


def within_sequence(frames: pd.DataFrame, reach: int) -> Iterator[tuple[str, str, int]]:
    """Yield the pairs of frames of one sequence that are at most `reach` apart, and how far.

    The order is that of time, as for blocks: frames of unknown time come first, by name.

    Args:
        frames: Table FRAMES.
        reach: 1 for frames that follow each other.
    """
    ordered = frames.sort_values(["captured_at", "frame_id"])
    for _, sequence in ordered.groupby(["source", "sequence"], sort=True):
        ids = [str(frame_id) for frame_id in sequence["frame_id"]]
        for apart in range(1, reach + 1):
            yield from ((first, second, apart) for first, second in zip(ids, ids[apart:], strict=False))


def sentence(leaks: TableLeaks) -> str:
    """Return what was found in one line."""
    within = "that follow each other" if leaks.reach == 1 else f"at most {leaks.reach} frames apart"
    return (
        f"in different splits: {_pairs(leaks.copies)} of equal frames, {_pairs(leaks.neighbours)} of frames of one "
        f"sequence {within}; `python -m reseed leakage` looks at the pictures"
    )


def _pairs(pairs: tuple[Pair, ...]) -> str:
    return "1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs"


def _copies(frames: pd.DataFrame, splits: Mapping[str, str]) -> Iterator[Pair]:
    repeated = frames[frames.duplicated("sha256", keep=False)].sort_values("frame_id")
    for _, group in repeated.groupby("sha256", sort=True):
        firsts: dict[str, str] = {}
        for frame_id in group["frame_id"]:
            firsts.setdefault(splits[str(frame_id)], str(frame_id))
        yield from pairwise(firsts.values())
