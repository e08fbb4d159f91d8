"""`python -m reseed leakage`: do train, val and test show the same seafloor?"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reseed.artifacts.catalog import FRAMES, PIECES
from reseed.artifacts.patches import NONE, SPLITS, SPLITS_TABLE
from reseed.base.errors import TableError
from reseed.base.files import write_bytes
from reseed.figures.contact_sheet import PairOfViews, shared_views_figure
from reseed.figures.style import counted, png_bytes
from reseed.params.load import load_section
from reseed.params.split import SplitParams
from reseed.patches.leakage import KINDS, MOST_PAIRS, Leakage, Shared, find_leakage
from reseed.patches.resize import resize
from reseed.survey.imagery import frame_pixels, pieces_of_frames

_CATALOG = Path("data/catalog")
_RAW = Path("data/raw")
_SHOWN = 4
_LISTED = 10
_PICTURE_HEIGHT_PX = 480
_NAME_LENGTH = 38


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--figure",
        type=Path,
        default=Path("plots/leakage.png"),
        metavar="FILE",
        help="figure to write; default: plots/leakage.png",
    )
    parser.add_argument(
        "--most-pairs",
        type=int,
        default=MOST_PAIRS,
        metavar="N",
        help="with more pairs of frames than this, compare only those near in time or place; default: %(default)s",
    )
    parser.add_argument(
        "--strict", action="store_true", help="end with exit code 1 if two splits have anything in common"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what was found, draw the worst pairs, and return 0; with --strict 1 if splits have anything in common."""
    frames, pieces = FRAMES.read(_CATALOG / "frames.csv"), PIECES.read(_CATALOG / "pieces.csv")
    table = SPLITS_TABLE.read(_CATALOG / "splits.csv")
    splits = dict(zip(table["frame_id"], table["split"], strict=True))
    if set(splits) != set(frames["frame_id"]):
        raise TableError(f"{_CATALOG}: splits.csv and frames.csv are not of the same frames; run `dvc repro split`")
    unknown = table[~table["split"].isin([*SPLITS, NONE])]
    if len(unknown):
        raise TableError(
            f"{_CATALOG / 'splits.csv'}: {len(unknown)} frames in an unknown split, first: "
            f"{unknown['frame_id'].iloc[0]} in {unknown['split'].iloc[0]!r}; allowed: {', '.join(SPLITS)}, {NONE}; "
            "`dvc repro -f split` writes it again"
        )
    params = load_section(Path("params.yaml"), "split", SplitParams)
    leakage = find_leakage(frames, pieces, splits, _RAW, params.guard_frames, arguments.most_pairs)
    write_bytes(arguments.figure, png_bytes(_figure(leakage, frames, pieces)))
    sys.stdout.write(f"{report(leakage)}worst pairs as a picture: {arguments.figure}\n")
    return int(arguments.strict and any(pair.leaks for pair in leakage.shared))


def report(leakage: Leakage) -> str:
    """Return what was found as text."""
    between = Counter(kind for pair in leakage.shared if pair.leaks for kind in pair.kinds)
    within = Counter(kind for pair in leakage.shared if not pair.leaks for kind in pair.kinds)
    lines = [
        f"{counted(leakage.n_frames, 'frame')}, {leakage.n_registered:,} of {leakage.n_pairs:,} pairs registered"
        + ("" if leakage.n_registered == leakage.n_pairs else " (those near in time or place)"),
        f"{'pairs that share seafloor':<28}{'in different splits':>20}{'elsewhere':>12}",
        *(f"  {kind:<26}{between[kind]:>20,}{within[kind]:>12,}" for kind in KINDS),
        f"{leakage.n_following_overlap:,} of {leakage.n_following:,} pairs that follow each other were seen to overlap",
    ]
    if leakage.shared:
        lines.append("worst first:")
        lines += [f"  {_line(pair)}" for pair in leakage.shared[:_LISTED]]
    if len(leakage.shared) > _LISTED:
        lines.append(f"  and {len(leakage.shared) - _LISTED:,} more")
    return "\n".join(lines) + "\n"


def _line(pair: Shared) -> str:
    where = f"{pair.splits[0]}/{pair.splits[1]}"
    found = f", {_common(pair)}" if pair.overlap.found else ""
    return f"{where:<12} {' and '.join(pair.kinds)}{found}: {pair.first} and {pair.second}"


def _common(pair: Shared) -> str:
    return f"{100 * pair.overlap.share:.0f} % in common"


def _figure(leakage: Leakage, frames: pd.DataFrame, pieces: pd.DataFrame) -> Figure:
    shown = _worth_showing(leakage.shared)
    return shared_views_figure(
        [_pair(pair, frames, pieces) for pair in shown],
        _title(leakage.shared),
        f"{leakage.n_registered:,} pairs of {counted(leakage.n_frames, 'frame')} registered by phase correlation. "
        f"{'Outlined: what the two have in common (brightened). ' if shown else ''}"
        "Nothing found is no proof: views that are turned, or from another height, escape it.",
        synthetic=bool((frames["synthetic"] == 1).any()),
    )


def _worth_showing(shared: Sequence[Shared]) -> list[Shared]:
    """Return the worst pairs, those between splits alone if there are any; frames not shown yet come first."""
    found = [pair for pair in shared if pair.overlap.found]
    found = [pair for pair in found if pair.leaks] or found
    fresh: list[Shared] = []
    for pair in found:
        if not {pair.first, pair.second} & {name for other in fresh for name in (other.first, other.second)}:
            fresh.append(pair)
    return (fresh + [pair for pair in found if pair not in fresh])[:_SHOWN]


def _title(shared: Sequence[Shared]) -> str:
    leaking = [pair for pair in shared if pair.leaks]
    seen, within = sum(pair.seen for pair in leaking), sum(pair.seen for pair in shared if not pair.leaks)
    if seen:
        return f"{counted(seen, 'pair')} of frames in different splits show the same seafloor: expect inflated scores"
    if leaking:
        return f"{counted(len(leaking), 'pair')} of close neighbours in different splits, none seen to overlap"
    if within:
        return f"No overlap seen between splits; {counted(within, 'pair')} within one split or outside all do"
    return "No two frames seen to show the same seafloor"


def _pair(pair: Shared, frames: pd.DataFrame, pieces: pd.DataFrame) -> PairOfViews:
    first, second = (_picture(frame_id, frames, pieces) for frame_id in (pair.first, pair.second))
    names = tuple(_short(frame_id) for frame_id in (pair.first, pair.second))
    return PairOfViews(
        first,
        second,
        down_px=round(pair.overlap.down * _PICTURE_HEIGHT_PX),
        right_px=round(pair.overlap.right * _PICTURE_HEIGHT_PX),
        names=(names[0], names[1]),
        splits=(_split(pair.splits[0]), _split(pair.splits[1])),
        finding=_common(pair),
    )


def _split(split: str) -> str:
    return {"none": "in no split (guard)"}.get(split, split)


def _picture(frame_id: str, frames: pd.DataFrame, pieces: pd.DataFrame) -> NDArray[np.uint8]:
    row = frames[frames["frame_id"] == frame_id].iloc[0]
    own = pieces_of_frames(pieces).get(frame_id)
    image = frame_pixels(_RAW, frame_id, own, int(row["width_px"]), int(row["height_px"]))
    height_px, width_px = image.shape[:2]
    return resize(image, max(1, round(_PICTURE_HEIGHT_PX * width_px / height_px)), _PICTURE_HEIGHT_PX)


def _short(frame_id: str) -> str:
    path = PurePosixPath(frame_id)
    name = f"{path.parent.name}/{path.stem}"
    return name if len(name) <= _NAME_LENGTH else f"…{name[1 - _NAME_LENGTH :]}"
