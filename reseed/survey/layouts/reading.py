"""What every layout gives back: how the files of a source are to be understood."""

from dataclasses import dataclass, field
from pathlib import PurePosixPath

from reseed.survey.geotag import Facts
from reseed.survey.identity import recording_folders, site_folders
from reseed.survey.labels import Labels


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
