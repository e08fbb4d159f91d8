"""`data/catalog/leakage.json`: what the frames at the borders of train, val and test have in common."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reseed.base.errors import TableError
from reseed.base.files import read_json, write_json


@dataclass(frozen=True)
class SharedPair:
    """Two frames in different splits that show the same seafloor, or are likely to.

    Args:
        first: Frame id.
        second: Frame id.
        splits: Of the two.
        kinds: Why, in words: equal file, re-encoded copy, close neighbours, overlapping views.
        share_pct: Part of the smaller view that both show, percent; None if they were not seen to overlap.
    """

    first: str
    second: str
    splits: tuple[str, str]
    kinds: tuple[str, ...]
    share_pct: float | None


@dataclass(frozen=True)
class LeakageRecord:
    """What was looked at, and what was found between different splits.

    Args:
        frames: Frames of which the picture was looked at.
        pairs: Pairs of them that were compared.
        of_pairs: All pairs of frames in different splits.
        equal: Pairs of equal files, by their digests: all files, whether looked at or not.
        copies: Pairs of which one is the other, encoded anew.
        neighbours: Pairs of close neighbours in a sequence, by its order.
        overlapping: Pairs that were seen to show the same seafloor.
        test_frames_shared: Test frames that were seen to share seafloor with train or val.
        worst: The worst pairs.
    """

    frames: int
    pairs: int
    of_pairs: int
    equal: int
    copies: int
    neighbours: int
    overlapping: int
    test_frames_shared: int
    worst: tuple[SharedPair, ...]


def write_leakage(record: LeakageRecord, path: Path) -> None:
    """Write the record to a new file."""
    write_json(path, asdict(record))


def read_leakage(path: Path) -> dict[str, Any]:
    """Read the record.

    Raises:
        TableError: If it is missing or damaged.
    """
    content = read_json(path)
    if not isinstance(content, dict) or not set(LeakageRecord.__dataclass_fields__) <= set(content):
        raise TableError(f"{path}: not the record of this version; run `dvc repro -f split`")
    return content


def leakage_sentence(record: Mapping[str, Any]) -> str:
    """Return what was found in one sentence, with the largest share."""
    looked = f"{record['pairs']:,} of {record['of_pairs']:,} pairs of frames in different splits compared"
    found = [
        f"{record[key]:,} {words}"
        for key, words in (
            ("equal", "of equal files"),
            ("copies", "of copies"),
            ("overlapping", "seen to share seafloor"),
            ("neighbours", "of close neighbours"),
        )
        if record[key]
    ]
    shares = [pair["share_pct"] for pair in record["worst"] if pair["share_pct"] is not None]
    most = f", up to {max(shares):.0f} % of a frame" if shares else ""
    return f"{looked}: {', '.join(found) if found else 'no shared seafloor seen'}{most}"
