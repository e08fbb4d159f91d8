"""What every layout gives back: how the files of a source are to be understood."""

from dataclasses import dataclass

from reseed.field.geotag import Facts
from reseed.field.labels import Labels


@dataclass(frozen=True)
class Place:
    """Where a frame belongs.

    Args:
        site: Reef site.
        sequence: Frames that follow each other; unique across sources.
        log: What the recorder's log says of the frame, None if there is no row for it.
        given_split: train, val or test if the data brings it, else empty.
    """

    site: str
    sequence: str
    log: Facts | None = None
    given_split: str = ""


@dataclass(frozen=True)
class Reading:
    """One source, understood.

    Args:
        places: For every usable image, by POSIX path below the source.
        labels: What annotators said.
        tables: Paths of the other files that were read.
        counts: What did not match, by name; for `counts.json`.
    """

    places: dict[str, Place]
    labels: Labels
    tables: tuple[str, ...]
    counts: dict[str, int]
