"""The catalog: every source read by its layout, joined into the tables that all later stages work from.

Nothing is dropped in silence: for each source, files found = kept + quarantined + ignored, by reason.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

import pandas as pd

from reseed.artifacts.catalog import ANNOTATIONS, FRAME_LABELS, FRAMES, PIECES, QUARANTINE
from reseed.artifacts.raw import RawSource
from reseed.base.errors import SourceError, TableError
from reseed.params.catalog import CatalogParams
from reseed.sources.inventory import SYSTEM_FILE, Inventory, take_inventory
from reseed.survey.geotag import CLOCK_RESET, EXIF_WITHOUT_ZONE, Geotag, merge
from reseed.survey.identity import clock_resets, merged_sites, one_spelling, survey_days
from reseed.survey.images import ImageFacts, Images, examine_images
from reseed.survey.layouts.detect import LAYOUTS, Recognised, recognise
from reseed.survey.layouts.patch_folders import piece_sha256
from reseed.survey.layouts.reading import Reading

AUTO: Final = "auto"
_TABLE: Final = "table"
_OTHER: Final = "other_file"
_SHOWN: Final = 10


@dataclass(frozen=True)
class Catalog:
    """The tables of the catalog; see `reseed.artifacts` for their columns.

    Args:
        frames: One row for each frame: each usable image, or all that came of a frame in pieces.
        pieces: One row for each image that is a patch of a frame, cut beforehand.
        annotations: Labelled rectangles, column `gold` set.
        frame_labels: Labelled frames, column `gold` set.
        quarantine: One row for each image that cannot be used.
        counts: For `counts.json`: per source and in all.
        remarks: What a reader should know, a sentence each.
    """

    frames: pd.DataFrame
    pieces: pd.DataFrame
    annotations: pd.DataFrame
    frame_labels: pd.DataFrame
    quarantine: pd.DataFrame
    counts: dict[str, Any]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """One source, read.

    Args:
        source: What was pulled.
        inventory: Its files.
        images: Its images, examined.
        recognised: Its layout, and why.
        reading: What the layout makes of it.
        facts: Of every frame, by path.
        geotags: Likewise.
    """

    source: RawSource
    inventory: Inventory
    images: Images
    recognised: Recognised
    reading: Reading
    facts: dict[str, ImageFacts]
    geotags: dict[str, Geotag]

    @property
    def kept(self) -> int:
        """Images that are used."""
        return len(self.images.usable) - len(self.reading.ignored)


def build_catalog(sources: Sequence[RawSource], raw: Path, params: CatalogParams) -> Catalog:
    """Read every source below `raw`.

    Args:
        sources: What the pull stage brought.
        raw: The folder `data/raw`.
        params: Section `catalog`.

    Raises:
        SourceError: If a source has no image, if no image is usable, or if more images are unusable than `params`
            allows.
        TableError: If a table is broken, contradicts another or does not fit the images; if the gold annotator is not
            there or cannot be told.
    """
    return join_parts([read_part(source, raw / source.name, params) for source in sources], params)


def join_parts(parts: Sequence[Part], params: CatalogParams) -> Catalog:
    """Join the sources into one catalog.

    Args:
        parts: The sources, each read.
        params: Section `catalog`.

    Raises:
        SourceError: As `build_catalog`.
        TableError: If the gold annotator is not there or cannot be told.
    """
    quarantine: list[dict[str, object]] = [
        {"path": f"{part.source.name}/{path}", "reason": error.reason, "detail": error.detail}
        for part in parts
        for path, error in part.images.quarantined.items()
    ]
    _require_usable(parts, quarantine, params)
    gold = _gold_annotators(parts, params.annotator)
    sites = one_spelling(place.site for part in parts for place in part.reading.places.values())
    frames = [row for part in parts for row in _frames(part, sites)]
    return Catalog(
        frames=FRAMES.frame(sorted(frames, key=lambda row: str(row["frame_id"]))),
        pieces=PIECES.frame(_piece_rows(parts)),
        annotations=ANNOTATIONS.frame(_annotation_rows(parts, gold)),
        frame_labels=FRAME_LABELS.frame(_frame_label_rows(parts, gold)),
        quarantine=QUARANTINE.frame(quarantine),
        counts=_counts(parts, gold),
        remarks=(
            *(f"{part.source.name}: {remark}" for part in parts for remark in _remarks(part)),
            *merged_sites(sites),
        ),
    )


def _remarks(part: Part) -> Iterator[str]:
    yield from part.reading.remarks
    yield from part.reading.labels.remarks
    times = Counter(geotag.time_from for geotag in part.geotags.values())
    if times[EXIF_WITHOUT_ZONE]:
        yield f"the EXIF time of {times[EXIF_WITHOUT_ZONE]} frames names no time zone: it is read as UTC"
    resets = sum(CLOCK_RESET in geotag.problems for geotag in part.geotags.values())
    if resets:
        yield f"the clock of {resets} frames was reset: their times are left out, and their names give the order"


def read_part(
    source: RawSource,
    root: Path,
    params: CatalogParams,
    look: Callable[[Inventory, int], Images] = examine_images,
) -> Part:
    """Read one source.

    Args:
        source: What it is.
        root: Folder of its files.
        params: Section `catalog`.
        look: How its images are examined: in full, or at a glance.

    Raises:
        SourceError: If it has no image.
        TableError: If it is not of its layout, or a table of it is broken.
    """
    inventory = take_inventory(source.name, root)
    if not inventory.images:
        raise SourceError(f"{root}: no image among {inventory.found} files; JPEG, PNG, BMP and TIFF are read")
    recognised = recognise(inventory, source.layout, params)
    images = look(inventory, params.max_pixels)
    reading = LAYOUTS[recognised.layout](inventory, images, params)
    facts = {path: _facts(path, images, reading) for path in reading.places}
    geotags = _geotags(reading, facts)
    part = Part(source, inventory, images, recognised, reading, facts, geotags)
    placed = len(facts) - len(reading.assembled) + sum(len(frame.pieces) for frame in reading.assembled.values())
    assert placed == part.kept, f"{recognised.layout} places {placed} of {part.kept} images"
    return part


def _geotags(reading: Reading, facts: dict[str, ImageFacts]) -> dict[str, Geotag]:
    """Return where and when each frame was taken; a time by a clock that was reset is none."""
    files = {path: PurePosixPath(path) for path in reading.places}
    stems = {path: file.name if path in reading.assembled else file.stem for path, file in files.items()}
    geotags = {path: merge(facts[path].exif, place.log, stems[path]) for path, place in reading.places.items()}
    for path in clock_resets((path, geotag.captured_at) for path, geotag in geotags.items()):
        problems = (*geotags[path].problems, CLOCK_RESET)
        geotags[path] = replace(geotags[path], captured_at="", time_from="none", problems=problems)
    return geotags


def _facts(path: str, images: Images, reading: Reading) -> ImageFacts:
    """Return the facts of a frame; of one that came in pieces, those of the whole, with the EXIF of the first piece."""
    frame = reading.assembled.get(path)
    if frame is None:
        return images.usable[path]
    first = images.usable[frame.pieces[0].path]
    return ImageFacts(frame.width_px, frame.height_px, piece_sha256(frame.pieces, images.usable), first.exif)


def _frames(part: Part, sites: Mapping[str, str]) -> list[dict[str, object]]:
    """Return the rows of FRAMES of one source, each with its site as all sources spell it and its sequence."""
    without: dict[str, list[tuple[str, str, float]]] = {}
    for path, place in part.reading.places.items():
        if not place.sequence:
            geotag = part.geotags[path]
            without.setdefault(sites[place.site], []).append((path, geotag.captured_at, geotag.longitude_deg))
    days = {path: day for frames in without.values() for path, day in survey_days(frames).items()}
    return [_frame(part, path, sites[place.site], days.get(path, "")) for path, place in part.reading.places.items()]


def _frame(part: Part, path: str, site: str, day: str) -> dict[str, object]:
    place, geotag, facts = part.reading.places[path], part.geotags[path], part.facts[path]
    source = part.source.name
    return {
        "frame_id": f"{source}/{path}",
        "source": source,
        "site": site,
        "sequence": place.sequence or "/".join(filter(None, (source, "" if site == source else site, day))),
        "width_px": facts.width_px,
        "height_px": facts.height_px,
        "captured_at": geotag.captured_at,
        "latitude_deg": geotag.latitude_deg,
        "longitude_deg": geotag.longitude_deg,
        "water_depth_m": geotag.water_depth_m,
        "altitude_m": geotag.altitude_m,
        "sha256": facts.sha256,
        "synthetic": int(part.source.synthetic or facts.exif.rendered),
        "given_split": part.source.split or place.given_split,
    }


def _piece_rows(parts: Sequence[Part]) -> list[dict[str, object]]:
    return [
        {
            "frame_id": f"{part.source.name}/{path}",
            "row": piece.row,
            "col": piece.col,
            **dict(zip(("x0", "y0", "x1", "y1"), piece.box, strict=True)),
            "path": f"{part.source.name}/{piece.path}",
        }
        for part in parts
        for path, frame in part.reading.assembled.items()
        for piece in frame.pieces
    ]


def _annotation_rows(parts: Sequence[Part], gold: dict[str, str]) -> list[dict[str, object]]:
    return [
        {
            "frame_id": f"{part.source.name}/{rectangle.path}",
            "annotator": rectangle.annotator,
            "x0": rectangle.x0,
            "y0": rectangle.y0,
            "x1": rectangle.x1,
            "y1": rectangle.y1,
            "label": rectangle.label,
            "kind": rectangle.kind,
            "source_label": rectangle.source_label,
            "gold": int(rectangle.annotator == gold.get(part.source.name)),
        }
        for part in parts
        for rectangle in part.reading.labels.rectangles
    ]


def _frame_label_rows(parts: Sequence[Part], gold: dict[str, str]) -> list[dict[str, object]]:
    return [
        {
            "frame_id": f"{part.source.name}/{said.path}",
            "annotator": said.annotator,
            "label": said.label,
            "kind": said.kind,
            "gold": int(said.annotator == gold.get(part.source.name)),
        }
        for part in parts
        for said in part.reading.labels.frame_labels
    ]


def _gold_annotators(parts: Sequence[Part], asked: str) -> dict[str, str]:
    """Return the annotator of each labelled source whose labels are the reference.

    The one asked for, where there is one of that name; else the only one: a source has then no other reference.
    Somebody whose labels were all left out because they contradict each other counts too: nobody else takes the place.
    """
    unsure = {part.source.name: part.reading.labels.contradicted.difference(annotators_of(part)) for part in parts}
    everybody = {part.source.name: sorted(unsure[part.source.name].union(annotators_of(part))) for part in parts}
    found = {source: names for source, names in everybody.items() if names}
    if not found and asked != AUTO:
        raise TableError(
            f"catalog.annotator: {asked!r} has no labels, and neither has any other annotator; set it to "
            f"{AUTO} if that is right"
        )
    gold = {}
    for source, names in found.items():
        if asked not in names and len(names) > 1:
            listed = f"{', '.join(names)} in source {source}; name the reference"
            if asked == AUTO:
                raise TableError(f"catalog.annotator: auto needs a single annotator; found: {listed}")
            raise TableError(f"catalog.annotator: {asked!r} has no labels; annotators found: {listed}")
        gold[source] = asked if asked in names else names[0]
        if gold[source] in unsure[source]:
            raise TableError(
                f"catalog.annotator: no label of {gold[source]!r} in source {source} is left: all contradict each "
                "other, and catalog.on_conflict: drop leaves them out; correct the tables, or name an annotator whose "
                "labels agree"
            )
    return gold


def annotators_of(part: Part) -> list[str]:
    """Return the names of those who labelled a source, sorted."""
    labels = part.reading.labels
    named = {rectangle.annotator for rectangle in labels.rectangles}
    return sorted(named | {said.annotator for said in labels.frame_labels})


def _require_usable(parts: Sequence[Part], quarantine: list[dict[str, object]], params: CatalogParams) -> None:
    usable, unusable = sum(len(part.images.usable) for part in parts), len(quarantine)
    shown = "; ".join(f"{row['path']} ({row['reason']}: {row['detail']})" for row in quarantine[:_SHOWN])
    what = f"{unusable} of {usable + unusable} images cannot be used: {shown}{' ...' if unusable > _SHOWN else ''}"
    if not usable:
        raise SourceError(what)
    if unusable and params.strict:
        raise SourceError(f"{what}; remove them from the source, or set catalog.strict: false to go on without them")
    if 100 * unusable > params.max_quarantined_pct * (usable + unusable):
        raise SourceError(f"{what}; more than catalog.max_quarantined_pct {params.max_quarantined_pct}")


def _counts(parts: Sequence[Part], gold: dict[str, str]) -> dict[str, Any]:
    sources = {part.source.name: _source_counts(part, gold.get(part.source.name, "")) for part in parts}
    total = {
        name: sum(counts[name] for counts in sources.values()) for name in ("found", "kept", "quarantined", "ignored")
    }
    return {"total": total, "gold_annotator": ", ".join(sorted(set(gold.values()))), "sources": sources}


def _source_counts(part: Part, gold: str) -> dict[str, Any]:
    tables = set(part.reading.tables)
    ignored = Counter({SYSTEM_FILE: len(part.inventory.system), _TABLE: len(tables)})
    ignored.update(part.inventory.repeated.values())
    ignored[_OTHER] = len(part.inventory.others) - len(tables)
    ignored.update(part.reading.ignored.values())
    geotags = part.geotags.values()
    return {
        "read_as": part.recognised.layout,
        "because": part.recognised.why,
        "gold_annotator": gold,
        "found": part.inventory.found,
        "kept": part.kept,
        "quarantined": len(part.images.quarantined),
        "ignored": ignored.total(),
        "quarantined_by_reason": _by_name(error.reason for error in part.images.quarantined.values()),
        "ignored_by_reason": {name: number for name, number in sorted(ignored.items()) if number},
        "labels": part.reading.labels.counts,
        "layout": part.reading.counts,
        "position_from": _by_name(geotag.position_from for geotag in geotags),
        "time_from": _by_name(geotag.time_from for geotag in geotags),
        "geotag_problems": _by_name(problem for geotag in geotags for problem in geotag.problems),
    }


def _by_name(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def summary(counts: dict[str, Any]) -> str:
    """Return the counts as a short text table: one line for each source, the reasons below it."""
    lines = [f"{'source':<24} {'found':>8} {'kept':>8} {'quarantined':>12} {'ignored':>8}"]
    for name, part in counts["sources"].items():
        lines.append(f"{name:<24} {part['found']:>8} {part['kept']:>8} {part['quarantined']:>12} {part['ignored']:>8}")
        lines.append(f"  read as {part['read_as']} ({part['because']}), gold annotator {part['gold_annotator'] or '-'}")
        for group in ("quarantined_by_reason", "ignored_by_reason", "labels", "layout", "geotag_problems"):
            said = ", ".join(f"{reason} {number}" for reason, number in part[group].items() if number)
            if said:
                lines.append(f"  {group.replace('_', ' ')}: {said}")
    if len(counts["sources"]) > 1:
        all_of = counts["total"]
        numbers = f"{all_of['found']:>8} {all_of['kept']:>8} {all_of['quarantined']:>12} {all_of['ignored']:>8}"
        lines.append(f"{'total':<24} {numbers}")
    return "\n".join(lines) + "\n"
