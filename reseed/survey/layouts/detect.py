"""Which layout a source has; and layout `survey`: folders of frames as a ReefScan recorder leaves them.

- Each folder of images is a sequence. `cam_1` and `cam_2` folders belong to one: the cameras see the same seafloor.
- `photo_log.csv` and `survey.json` count for the images of their folder and of the folders below, the nearest first.
  Names in a log are paths as far as they go; a bare name that several folders have is of none of them.
- `annotations*.csv` (grid cells or rectangles) and `frame_labels*.csv` may lie anywhere; any number of annotators.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from operator import eq
from pathlib import PurePosixPath
from typing import Final, TypeVar

from reseed.base.classes import fold_label
from reseed.base.csv import TextTable, read_text_table
from reseed.base.errors import TableError
from reseed.params.catalog import CatalogParams
from reseed.sources.inventory import Inventory
from reseed.survey.geotag import Facts
from reseed.survey.identity import composed, recording, recording_folders, site_folders
from reseed.survey.images import Images
from reseed.survey.label_tables import Rules, read_labels
from reseed.survey.labels import LabelMaps
from reseed.survey.layouts.class_folders import class_folders_of, read_frame_folders
from reseed.survey.layouts.export import read_export
from reseed.survey.layouts.export_tools import Export, declarations, find_exports, unread_exports
from reseed.survey.layouts.patch_folders import is_patch_name, read_patch_folders
from reseed.survey.layouts.reading import FrameFinder, Place, Reading, folder_of
from reseed.survey.photo_log import PhotoLog, read_photo_log

LOG: Final = "photo_log.csv"
SURVEY: Final = "survey.json"
ANNOTATIONS: Final = "annotations*.csv"
FRAME_LABELS: Final = "frame_labels*.csv"

T = TypeVar("T")


def read_survey(inventory: Inventory, images: Images, params: CatalogParams) -> Reading:
    """Understand a source of layout `survey`.

    Args:
        inventory: The files of the source.
        images: Its images, examined.
        params: Section `catalog`; `on_conflict`, `label_map`, `unmapped` and `machine_labels` are used.

    Raises:
        TableError: If a log, `survey.json` or label table is broken, or does not fit the images.
    """
    logs = {
        folder_of(path): read_photo_log(inventory.root / path, where, params.on_conflict)
        for path, where in _find(inventory, LOG)
    }
    sites = {folder_of(path): _read_site(inventory, path, where) for path, where in _find(inventory, SURVEY)}
    sizes = {path: (facts.width_px, facts.height_px) for path, facts in images.usable.items()}
    maps = LabelMaps(inventory, params)
    labels = read_labels(
        _tables(inventory, ANNOTATIONS),
        _tables(inventory, FRAME_LABELS),
        FrameFinder(sizes, images.quarantined),
        Rules(params.on_conflict, params.unmapped, params.machine_labels, maps.of_folder),
    )
    logged = _match_logs(inventory.images, logs)
    read = [path for pattern in (LOG, SURVEY, ANNOTATIONS, FRAME_LABELS) for path, _ in _find(inventory, pattern)]
    read += sorted(maps.files)
    return Reading(
        places={path: _place(inventory.source, path, logged, sites) for path in images.usable},
        labels=labels,
        tables=tuple(sorted(read)),
        counts=_log_counts(logs, logged),
        remarks=_not_read(inventory, read),
    )


def _not_read(inventory: Inventory, read: Sequence[str]) -> tuple[str, ...]:
    """Name the files that are called like labels and were not read, such as `annotation_A.csv` or a workbook."""
    named = [
        path
        for path in inventory.others
        if path not in read
        and re.match(r"(frame[ _-]?)?(labels?|annotations?)[^a-z]", PurePosixPath(path).name.casefold())
    ]
    shown = ", ".join(named[:5])
    rule = f"only {ANNOTATIONS} and {FRAME_LABELS} are"
    unlike = f"{len(named)} files named like labels are not read: {shown}; {rule}" if named else ""
    return tuple(filter(None, (unlike, unread_exports(inventory))))


def _find(inventory: Inventory, pattern: str) -> list[tuple[str, str]]:
    """Return the files whose name fits `pattern` in any case, each with the name that messages give it."""
    fitting = [path for path in inventory.others if fnmatchcase(PurePosixPath(path).name.casefold(), pattern)]
    if "*" not in pattern:
        repeated = [folder for folder, number in Counter(map(folder_of, fitting)).items() if number > 1]
        if repeated:
            raise TableError(f"{inventory.source}/{repeated[0]}: more than one {pattern}, in different case; keep one")
    return [(path, f"{inventory.source}/{path}") for path in fitting]


def _tables(inventory: Inventory, pattern: str) -> list[tuple[str, TextTable]]:
    found = _find(inventory, pattern)
    return [(folder_of(path), read_text_table(inventory.root / path, where)) for path, where in found]


def _read_site(inventory: Inventory, path: str, where: str) -> str:
    try:
        survey = json.loads((inventory.root / path).read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:  # no JSON, or no UTF-8
        raise TableError(f"{where}: not readable as JSON: {error}") from error
    site = None
    if isinstance(survey, dict):
        found = [value for key, value in survey.items() if fold_label(key) in ("site", "sitename")]
        site = survey.get("site", found[0] if found else "")
        if "site" not in survey and any(value != site for value in found):
            raise TableError(f"{where}: its keys name two sites; name one in the key `site`")
    # Half a surrogate pair cannot be written anywhere.
    if not isinstance(site, str) or not site.isprintable():
        raise TableError(f"{where}: a mapping with a printable text `site` is needed, got {ascii(site)[:60]}")
    return site.strip()


@dataclass(frozen=True)
class _Logged:
    """What the logs say of one image.

    Args:
        log: Folder of the log that counts for it, None if there is none.
        row: Key of its row in that log, None if there is none.
        facts: What that row says.
    """

    log: str | None = None
    row: str | None = None
    facts: Facts | None = None


def _match_logs(images: Iterable[str], logs: dict[str, PhotoLog]) -> dict[str, _Logged]:
    folder_by_image = {path: _nearest_folder(folder_of(path), logs) for path in images}
    recordings: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for path, folder in folder_by_image.items():
        if folder is not None:
            recordings.setdefault((folder, composed(PurePosixPath(path).name)), set()).add(recording(path))
    found = {}
    for path, folder in folder_by_image.items():
        found[path] = _Logged(folder)
        if folder is not None:
            same_name = recordings[folder, composed(PurePosixPath(path).name)]
            row = logs[folder].find(path, own=folder_of(path) == folder, unique=partial(eq, len(same_name), 1))
            found[path] = _Logged(folder, row, None if row is None else logs[folder].facts[row])
    return found


def _place(source: str, path: str, logged: dict[str, _Logged], sites: dict[str, str]) -> Place:
    folders = recording_folders(path)
    named = _nearest(folder_of(path), {place: site for place, site in sites.items() if site})
    return Place(
        site=named or next(reversed(site_folders(folders)), source),
        sequence="/".join([source, *folders]),
        log=logged[path].facts,
    )


def _nearest(folder: str, by_folder: dict[str, T]) -> T | None:
    at = _nearest_folder(folder, by_folder)
    return None if at is None else by_folder[at]


def _nearest_folder(folder: str, by_folder: dict[str, T]) -> str | None:
    steps = [folder, *(parent.as_posix() for parent in PurePosixPath(folder).parents[:-1]), ""] if folder else [""]
    return next((step for step in steps if step in by_folder), None)


def _log_counts(logs: dict[str, PhotoLog], logged: dict[str, _Logged]) -> dict[str, int]:
    used = {(found.log, found.row) for found in logged.values() if found.row is not None}
    return {
        "photo_log_rows": sum(log.rows for log in logs.values()),
        "photo_log_duplicates_merged": sum(log.duplicates for log in logs.values()),
        "photo_log_contradictions_dropped": sum(len(log.contradicted) for log in logs.values()),
        "photo_log_rows_without_image": sum(len(log.facts) for log in logs.values()) - len(used),
        "images_without_photo_log_row": sum(found.row is None for found in logged.values() if found.log is not None),
        "images_without_photo_log": sum(found.log is None for found in logged.values()),
    }


AUTO: Final = "auto"

LAYOUTS: Final[dict[str, Callable[[Inventory, Images, CatalogParams], Reading]]] = {
    "survey": read_survey,
    "patch-folders": read_patch_folders,
    "frame-folders": read_frame_folders,
    **{tool: read_export(tool) for tool in declarations()},
}


@dataclass(frozen=True)
class Recognised:
    """A layout, and why a source was taken for it.

    Args:
        layout: Key of LAYOUTS.
        why: What speaks for it.
    """

    layout: str
    why: str


def recognise(inventory: Inventory, layout: str, params: CatalogParams) -> Recognised:
    """Return the layout of a source: the one that pull.sources names, or, for `auto`, the only one it has signs of.

    Args:
        inventory: The files of the source.
        layout: As the parameters have it.
        params: Section `catalog`; the grid tells names of patches from names of frames.

    Raises:
        TableError: If there are signs of none or of several; names them.
    """
    if layout != AUTO:
        return Recognised(layout, f"set by layout: {layout} in pull.sources")
    exports, near = find_exports(inventory)
    signs = [*_table_signs(inventory, exports, near), *_folder_signs(inventory, params)]
    layouts = sorted({sign.layout for sign in signs})
    if len(layouts) > 1:
        listed = "; ".join(f"{sign.layout}: {sign.why}" for sign in signs)
        raise TableError(f"{inventory.source}: layout: auto finds signs of {len(layouts)} layouts ({listed}); name one")
    unread = "" if signs else unread_exports(inventory)
    if unread:
        raise TableError(f"{inventory.source}: {unread}; layout: survey takes the images without these labels")
    if not signs and near:
        raise TableError(
            f"{inventory.source}: layout: auto knows no form of its tables: {'; '.join(near.values())}; rename or add "
            "the columns, or name the layout"
        )
    if not signs:
        raise TableError(
            f"{inventory.source}: layout: auto finds no photo log, no table of labels and no class folders; name the "
            f"layout ({', '.join(LAYOUTS)}): survey takes images without any labels"
        )
    return Recognised(layouts[0], "; ".join(sign.why for sign in signs))


def _table_signs(inventory: Inventory, exports: list[Export], near: Container[str]) -> list[Recognised]:
    """Return a sign for each layout that a table speaks of."""
    known = {export.path for export in exports}
    signs = [Recognised(export.tool, export.why) for export in exports]
    for path in inventory.others:
        name = PurePosixPath(path).name.casefold()
        unknown = fnmatchcase(name, ANNOTATIONS) and path not in known and path not in near
        if unknown or name in (LOG, SURVEY) or fnmatchcase(name, FRAME_LABELS):
            signs.append(Recognised("survey", f"there is {path}"))
    first = {sign.layout: sign for sign in reversed(signs)}
    return [first[layout] for layout in sorted(first)]


def _folder_signs(inventory: Inventory, params: CatalogParams) -> list[Recognised]:
    maps = LabelMaps(inventory, params)
    inside = [path for path in inventory.images if class_folders_of(path, maps)]
    if not inside:
        return []
    n_cells = params.grid_rows * params.grid_cols
    patches = [path for path in inside if is_patch_name(PurePosixPath(path).stem, n_cells)]
    if patches and len(patches) < len(inside):
        stranger = min(set(inside).difference(patches))
        raise TableError(
            f"{inventory.source}: layout: auto finds class folders, with {len(patches)} names of patches "
            f"(<frame>_<index>, such as {patches[0]}) and {len(inside) - len(patches)} others (such as {stranger}); "
            "name the layout: patch-folders or frame-folders"
        )
    layout, names = ("patch-folders", "<frame>_<index>") if patches else ("frame-folders", "<frame>")
    folders = sorted({name for path in inside for name in class_folders_of(path, maps)})
    return [Recognised(layout, f"folders {', '.join(folders)} with images named {names}, such as {inside[0]}")]
