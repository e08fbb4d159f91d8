"""Layout `auto`: which layout the files of a source speak of, and why; a doubt is an error, never a guess."""

from collections.abc import Callable, Container
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

from reseed.base.errors import TableError
from reseed.params.catalog import CatalogParams
from reseed.sources.inventory import Inventory
from reseed.survey.exports.declaration import declarations
from reseed.survey.exports.recognise import Export, find_exports
from reseed.survey.images import Images
from reseed.survey.labels import LabelMaps
from reseed.survey.layouts.class_folders import class_folders_of
from reseed.survey.layouts.export import read_export
from reseed.survey.layouts.frame_folders import read_frame_folders
from reseed.survey.layouts.patch_folders import is_patch_name, read_patch_folders
from reseed.survey.layouts.reading import Reading
from reseed.survey.layouts.survey import ANNOTATIONS, FRAME_LABELS, LOG, SURVEY, read_survey

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
