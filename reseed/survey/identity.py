"""Which site, sequence, frame and moment a picture belongs to: the one place where names and times are compared.

- A folder that a camera makes by itself (`DCIM`, `100GOPRO`, `cam_1`) tells nothing of a site.
- Names of sites that differ only in case, blanks, dashes, dots, Unicode form or leading zeros are one site.
- A file is the one that a table names if their paths agree as far as both go; a bare name is no path.
- Frames follow each other by time, then by sub-second, then by the numbers in their names; a frame without a time
  stands where its name puts it. A clock that jumps back by more than a day was reset, and says nothing.
- A survey day ends at a gap in time and never at midnight, UTC or local: a tow may cross either.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import PurePosixPath
from typing import Final

from reseed.base.classes import match_class

GAP: Final = timedelta(hours=6)  # between frames of two survey days: no vessel rests as long within one
_RESET: Final = timedelta(days=1)

# Folders of cameras that work side by side: their frames belong together one by one.
_BESIDE = re.compile(
    r"(cam(era)?|go ?pro)[ _\-]*(\d+|[a-d]|left|right|port|starboard)|left|right|port|starboard", re.IGNORECASE
)
# Folders that a camera begins by itself, one after the other: `DCIM`, and by the standard for camera folders (DCF)
# three digits and five characters, such as `100GOPRO`, `101_PANA`; eight digits are a day, four may be a year.
_COUNTED = re.compile(r"DCIM|(?!(?:19|20)\d\d[A-Z])[1-9]\d\d(?!\d{5})[A-Z0-9_]{5}|DJI_\d{3}|HERO\d+ .*\d")
_MAKERS = re.compile(r"dcim|[1-9]\d\d(gopro|media|canon|_pana|_fuji|msdcf|olymp|nikon|apple|andro|d\d{4}|nd\d{3})")
# What storage is called: `SD1`, `Card A`, `microSD card 2`, and the folders of a GoPro's photo series, `G0012345`.
_STORED = re.compile(
    r"((micro ?)?sd|cf|xqd|memory)?[ _\-]*card[ _\-]*(\d+|[a-z])?|(micro ?)?sd[ _\-]*\d*|(cf|xqd)[ _\-]*\d+|g\d{7}",
    re.IGNORECASE,
)
_COPIED = re.compile(r" ?\(\d+\)$| copy$")
_PLAIN: Final = ("images", "image", "img", "imgs", "photos", "pictures", "frames", "data")
_DIGITS = re.compile(r"([0-9]+)")

Natural = tuple[str | int, ...]


def natural_key(text: str) -> Natural:
    """Return what sorts names by the value of the numbers in them.

    >>> sorted(["f_10", "f_2", "f_1"], key=natural_key)
    ['f_1', 'f_2', 'f_10']
    """
    parts = _DIGITS.split(composed(text).casefold())
    return tuple(int(part) if number % 2 else part for number, part in enumerate(parts))


def composed(text: str) -> str:
    """Return a text in the Unicode form NFC: archives made on macOS decompose accents."""
    return unicodedata.normalize("NFC", text)


# ---- folders and sites


def is_camera_folder(name: str) -> bool:
    """Whether a camera made a folder of this name by itself, or it is called after a memory card."""
    plain = _COPIED.sub("", name.strip())
    forms = (_BESIDE, _COUNTED, _STORED)
    return any(form.fullmatch(plain) for form in forms) or bool(_MAKERS.fullmatch(plain.casefold()))


def recording_folders(path: str) -> list[str]:
    """Return the folders of an image that tell recordings apart: not those of the cameras of one recording."""
    return [composed(name) for name in PurePosixPath(path).parent.parts if not is_camera_folder(name)]


def recording(path: str) -> tuple[str, ...]:
    """Return the folders of one recording: cameras side by side, and folders of classes, do not part it."""
    parts = PurePosixPath(path).parent.parts
    return tuple(name for name in parts if not (_BESIDE.fullmatch(name.strip()) or match_class(name)))


def site_folders(folders: Iterable[str]) -> list[str]:
    """Return the folders that may be named after a site: not those of cameras, nor those that only hold images."""
    return [name for name in folders if not is_camera_folder(name) and name.strip().casefold() not in _PLAIN]


def spelling_key(site: str) -> str:
    """Return what the spellings of one site have in common.

    >>> spelling_key("Récif_Nord 03") == spelling_key("récif  nord-3")
    True
    >>> spelling_key("Site 1-1") == spelling_key("Site 11")
    False
    """
    text = unicodedata.normalize("NFKC", site).casefold()
    signs = "".join(" " if unicodedata.category(sign)[0] in "PZC" and sign != "/" else sign for sign in text)
    words = _DIGITS.sub(lambda number: str(int(number[0])), " ".join(signs.split()))
    return re.sub(r"(?<![0-9]) | (?![0-9])", "", words) or site  # a blank parts two numbers, and nothing else


def one_spelling(names: Iterable[str]) -> dict[str, str]:
    """Return for each name of a site the spelling that most frames have, in the form NFC.

    Args:
        names: The site of every frame.
    """
    counts = Counter(names)
    by_key: dict[str, list[str]] = {}
    for name in counts:
        by_key.setdefault(spelling_key(name), []).append(name)
    return {
        name: composed(min(spellings, key=lambda one: (-counts[one], composed(one), one)))
        for spellings in by_key.values()
        for name in spellings
    }


def merged_sites(spelled: Mapping[str, str]) -> list[str]:
    """Say which spellings were taken for one site, a sentence each."""
    others: dict[str, list[str]] = {}
    for name, site in sorted(spelled.items()):
        if name != site:
            others.setdefault(site, []).append(ascii(name) if composed(name) == site else repr(name))
    return [f"site {site!r} is also written {', '.join(found)}: taken for one site" for site, found in others.items()]


# ---- paths that tables name


def path_parts(text: str) -> tuple[str, ...]:
    """Return the folders and the name of a path as any system writes it, in the form NFC."""
    parts = composed(text).replace("\\", "/").split("/")
    return tuple(part for part in parts if part not in ("", ".") and not re.fullmatch("[A-Za-z]:", part))


def agreement(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many parts two paths have in common from their end, 0 unless they agree as far as both go."""
    shared = min(len(one), len(other))
    return shared if tuple(one[-shared:]) == tuple(other[-shared:]) else 0


# ---- moments

NameKey = tuple[tuple[Natural, ...], Natural]


def capture_order(frames: Iterable[tuple[str, str]]) -> list[str]:
    """Return the paths of frames in the order in which they were captured.

    Args:
        frames: Path and `captured_at` of each, ISO 8601 with a final Z; empty where it is not known.
    """
    return [path for _, _, path in _ordered(frames)]


def clock_resets(frames: Iterable[tuple[str, str]]) -> set[str]:
    """Return the frames whose clock was reset: taken after a jump back by more than a day, while their names count on.

    Args:
        frames: As for `capture_order`.
    """
    return {path for recording in _recordings(frames) for path in _resets(recording)}


def survey_days(frames: Iterable[tuple[str, str, float]]) -> dict[str, str]:
    """Return the survey day of each frame of one site as `YYYYMMDD`, empty where no time is known.

    A day ends at a gap of more than `GAP` before another date begins. Dates are those of the place, by its longitude
    (15 degrees are an hour); without a position they are UTC.

    Args:
        frames: Path, `captured_at` and longitude in degrees of each, NaN if unknown.
    """
    rows = list(frames)
    longitudes = [longitude for _, _, longitude in rows if not math.isnan(longitude)]
    zone = timedelta(hours=round(sum(longitudes) / len(longitudes) / 15)) if longitudes else timedelta()
    days: dict[str, str] = {}
    day, last = "", None
    for time, _, path in _ordered((path, captured_at) for path, captured_at, _ in rows):
        if time:
            taken = datetime.fromisoformat(time)
            date = (taken + zone).strftime("%Y%m%d")
            if last is None or (taken - last > GAP and date != day):
                day = date
            last = taken
        days[path] = day
    return days


def _ordered(frames: Iterable[tuple[str, str]]) -> list[tuple[str, NameKey, str]]:
    """Return time, key of the name and path of each frame, sorted; a missing time is that of the frame before it."""
    found = []
    for recording in _recordings(frames):
        wrong = _resets(recording)
        # Without the Z, half a second sorts behind the whole one.
        times = ["" if path in wrong else captured_at.removesuffix("Z") for path, captured_at, _ in recording]
        time = next(filter(None, times), "")
        for (path, _, key), own in zip(recording, times, strict=True):
            time = own or time
            found.append((time, key, path))
    return sorted(found)


def _recordings(frames: Iterable[tuple[str, str]]) -> list[list[tuple[str, str, NameKey]]]:
    """Return the frames of each recording, path, time and key, in the order of their names."""
    keyed = sorted((_name_key(path), path, captured_at) for path, captured_at in frames)
    return [
        [(path, captured_at, key) for key, path, captured_at in group]
        for _, group in groupby(keyed, key=lambda item: item[0][0])
    ]


def _resets(recording: Sequence[tuple[str, str, NameKey]]) -> set[str]:
    found = set()
    last, before = "", ""
    for path, captured_at, _ in recording:
        skeleton = _DIGITS.sub("0", PurePosixPath(path).stem)
        last, before = (last if skeleton == before else ""), skeleton
        if (
            captured_at
            and captured_at < last
            and datetime.fromisoformat(last) - datetime.fromisoformat(captured_at) > _RESET
        ):
            found.add(path)
        else:
            last = captured_at or last
    return found


def _name_key(path: str) -> NameKey:
    """Return what sorts frames by name: by the folders of their recording, then by the file name without its ending."""
    return tuple(map(natural_key, recording(path))), natural_key(PurePosixPath(path).stem)
