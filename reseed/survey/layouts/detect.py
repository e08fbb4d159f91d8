"""Layout `auto`: which layout the files of a source speak of, and why; a doubt is an error, never a guess."""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

from reseed.base.csv import read_text_table
from reseed.base.errors import TableError
from reseed.params.catalog import CatalogParams
from reseed.sources.inventory import Inventory
from reseed.survey.images import Images
from reseed.survey.layouts.class_folders import class_folders_of
from reseed.survey.layouts.coralnet import COLUMNS as POINT_COLUMNS
from reseed.survey.layouts.coralnet import read_coralnet
from reseed.survey.layouts.frame_folders import read_frame_folders
from reseed.survey.layouts.patch_folders import is_patch_name, read_patch_folders
from reseed.survey.layouts.reading import Reading
from reseed.survey.layouts.survey import ANNOTATIONS, FRAME_LABELS, LOG, SURVEY, read_survey
from reseed.survey.layouts.table import COLUMNS as TABLE_COLUMNS
from reseed.survey.layouts.table import SUFFIXES, read_table

AUTO: Final = "auto"

LAYOUTS: Final[dict[str, Callable[[Inventory, Images, CatalogParams], Reading]]] = {
    "survey": read_survey,
    "patch-folders": read_patch_folders,
    "frame-folders": read_frame_folders,
    "coralnet": read_coralnet,
    "table": read_table,
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
    """Return the layout of a source: the one it is said to have, or, for `auto`, the only one it has signs of.

    Args:
        inventory: The files of the source.
        layout: As the parameters have it.
        params: Section `catalog`; the grid tells names of patches from names of frames.

    Raises:
        TableError: If there are signs of none or of several; names them.
    """
    if layout != AUTO:
        return Recognised(layout, f"pull.sources says layout: {layout}")
    signs = [*_table_signs(inventory), *_folder_signs(inventory, params)]
    layouts = sorted({sign.layout for sign in signs})
    if len(layouts) > 1:
        listed = "; ".join(f"{sign.layout}: {sign.why}" for sign in signs)
        raise TableError(f"{inventory.source}: layout: auto finds signs of {len(layouts)} layouts ({listed}); name one")
    if not signs:
        raise TableError(
            f"{inventory.source}: layout: auto finds no photo log, no table of labels and no class folders; name the "
            f"layout ({', '.join(LAYOUTS)}): survey takes images without any labels"
        )
    return Recognised(layouts[0], "; ".join(sign.why for sign in signs))


def _table_signs(inventory: Inventory) -> list[Recognised]:
    signs = []
    for path in inventory.others:
        name = PurePosixPath(path).name.casefold()
        if name in (LOG, SURVEY) or fnmatchcase(name, FRAME_LABELS):
            signs.append(("survey", f"there is {path}"))
            continue
        if not name.endswith(SUFFIXES):
            continue
        columns = _columns(inventory, path)
        if columns.issuperset(POINT_COLUMNS) and fnmatchcase(name, ANNOTATIONS):
            signs.append(("coralnet", f"{path} has the columns {', '.join(POINT_COLUMNS)}"))
        elif columns.issuperset(TABLE_COLUMNS):
            signs.append(("table", f"{path} has the columns {', '.join(TABLE_COLUMNS)}"))
        elif fnmatchcase(name, ANNOTATIONS):
            signs.append(("survey", f"there is {path}"))
    first = dict(reversed(signs))
    return [Recognised(layout, first[layout]) for layout in sorted(first)]


def _columns(inventory: Inventory, path: str) -> frozenset[str]:
    try:
        return frozenset(read_text_table(inventory.root / path, path).columns)
    except TableError:  # a file that is no table says nothing; a layout that needs it says what is wrong with it
        return frozenset()


def _folder_signs(inventory: Inventory, params: CatalogParams) -> list[Recognised]:
    inside = [path for path in inventory.images if class_folders_of(path)]
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
    folders = sorted({name for path in inside for name in class_folders_of(path)})
    return [Recognised(layout, f"folders {', '.join(folders)} with images named {names}, such as {inside[0]}")]
