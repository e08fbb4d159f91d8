"""What every layout returns, and how it finds the image that a table names."""

import difflib
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from reseed.base.errors import TableError
from reseed.survey.geotag import Facts
from reseed.survey.identity import agreement, composed, path_parts, recording_folders, site_folders
from reseed.survey.labels import Labels

_SHOWN = 10


class FrameFinder:
    """Finds the frame that a table means.

    Args:
        sizes: Width and height in pixels of every usable frame, by POSIX path below the source.
        quarantined: Paths of the images that cannot be used.
    """

    def __init__(self, sizes: Mapping[str, tuple[int, int]], quarantined: Iterable[str]) -> None:
        self.sizes = sizes
        known = [*sizes, *quarantined]
        self._known = set(known)
        # Archives made on macOS decompose accents: the same name in other bytes.
        self._by_composed = {composed(path): path for path in sorted(known, reverse=True)}
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(known):
            self._by_name.setdefault(composed(PurePosixPath(path).name), []).append(path)
        self._above = {f"{above}/" for path in known for above in PurePosixPath(path).parents}

    def find(self, text: str, folder: str) -> str | None:
        """Return the path of the frame below the source, or None if there is no such image.

        Args:
            text: Path as the table gives it: relative to the folder of the table, else to the source.
            folder: POSIX path of the table's folder below the source.
        """
        for spelled in (text, text.replace("\\", "/")):
            beside = posixpath.normpath(posixpath.join(folder, posixpath.dirname(spelled)))
            for start in (folder, ""):
                path = posixpath.normpath(posixpath.join(start, spelled))
                found = path if path in self._known else self._by_composed.get(composed(path))
                # A frame that is missing in the folder that the table means is not one of the same name elsewhere.
                elsewhere = not start and folder and f"{beside}/" in self._above
                if found is not None and not (elsewhere and not found.startswith(self._reach(folder))):
                    return found
        return None

    def find_by_name(self, text: str, folder: str) -> str | None:
        """Return the frame at that path, else the only one whose path agrees with it as far as both go.

        Only frames in reach of the table count: those below its folder or, if there are none, below the nearest folder
        above it that has some. A table of one site never means a frame of another.

        Raises:
            TableError: If several images fit, so that the table may mean any of them.
        """
        found = self.find(text, folder)
        if found is not None:
            return found
        wanted = path_parts(text)
        reach = self._reach(folder)
        best: dict[int, list[str]] = {}
        for path in self._by_name.get(wanted[-1], []) if wanted else []:
            if path.startswith(reach):
                best.setdefault(agreement(path_parts(path[len(reach) :]), wanted), []).append(path)
        candidates = best[max(best)] if max(best, default=0) else []
        if len(candidates) > 1:
            raise TableError(
                f"{text!r} may mean {len(candidates)} images: {', '.join(candidates[:_SHOWN])}; "
                "write the path relative to the folder of the table"
            )
        return candidates[0] if candidates else None

    def _reach(self, folder: str) -> str:
        """Return the start of the paths that a table in `folder` may mean."""
        while folder and f"{folder}/" not in self._above:
            folder = posixpath.dirname(folder)
        return f"{folder}/" if folder else ""

    def nearest(self, text: str) -> str:
        """Return the known path that looks most like `text`, or an empty string."""
        by_folded = {path.casefold(): path for path in sorted(self._known)}
        close = difflib.get_close_matches(text.casefold(), by_folded, n=1, cutoff=0.8)
        return by_folded[close[0]] if close else ""


@dataclass(frozen=True)
class Place:
    """Where a frame belongs.

    Args:
        site: Reef site.
        sequence: Frames that follow each other; unique across sources. Empty: the survey day of its site.
        log: What the recorder's log says of the frame, None if there is no row for it.
        given_split: train, val or test if the data brings it, else empty.
    """

    site: str
    sequence: str
    log: Facts | None = None
    given_split: str = ""


@dataclass(frozen=True)
class Piece:
    """An image that is one patch of a frame, cut before the data came here.

    Args:
        path: POSIX path of the image below the source.
        row: Row in the grid of the frame, from the top.
        col: Column, from the left.
        box: x0, y0, x1, y1 on the frame, in its stored pixels, x1 and y1 exclusive.
    """

    path: str
    row: int
    col: int
    box: tuple[int, int, int, int]


@dataclass(frozen=True)
class Assembled:
    """A frame that did not come as a whole: known by its pieces.

    Args:
        width_px: Width of the whole frame, as far as the pieces tell.
        height_px: Height, likewise.
        pieces: At least one, by row and column.
    """

    width_px: int
    height_px: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Reading:
    """One source, understood.

    Args:
        places: For every frame, by POSIX path below the source: every usable image that is not `ignored`, or, of a
            frame that comes in pieces, the path it would have.
        labels: What annotators said.
        tables: Paths of the other files that were read.
        counts: What did not match, by name; for `counts.json`.
        assembled: The frames that come in pieces, by path.
        ignored: Usable images that are left out, with the reason.
        remarks: What a reader should know, a sentence each.
    """

    places: dict[str, Place]
    labels: Labels
    tables: tuple[str, ...]
    counts: dict[str, int]
    assembled: dict[str, Assembled] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def picture_place(source: str, path: str) -> tuple[str, str]:
    """Return site and sequence of an image of a collection: its folder, unless that only says that it holds images."""
    folders = site_folders(recording_folders(path))
    return (folders[-1] if folders else source), "/".join([source, *folders])


def folder_of(path: str) -> str:
    """Return the POSIX path of the folder of `path`, empty for the source itself."""
    parent = PurePosixPath(path).parent.as_posix()
    return "" if parent == "." else parent
