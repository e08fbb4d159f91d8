"""Layout `table`: images and CSV files of labelled rectangles.

Columns file, x0, y0, x1, y1, label and, if there are several annotators, annotator.

`file` is a path relative to the folder of the table or to the source, or a file name that only one image has.
"""

from typing import Final

from reseed.base.csv import TextTable, read_text_table
from reseed.base.errors import TableError
from reseed.params.catalog import CatalogParams
from reseed.sources.inventory import Inventory
from reseed.survey.frame_finder import FrameFinder
from reseed.survey.images import Images
from reseed.survey.label_tables import RECT_COLUMNS, read_rectangle_table
from reseed.survey.layouts.reading import Place, Reading, folder_of, picture_place

COLUMNS: Final = ("file", *RECT_COLUMNS, "label")
SUFFIXES: Final = (".csv", ".tsv")
ANNOTATOR: Final = "table"


def read_table(inventory: Inventory, images: Images, params: CatalogParams) -> Reading:
    """Understand a source of layout `table`.

    Args:
        inventory: The files of the source.
        images: Its images, examined.
        params: Section `catalog`; `on_conflict` is used.

    Raises:
        TableError: If no CSV file has the columns, or if one that has does not fit the images.
    """
    everything = [
        (path, read_text_table(inventory.root / path, f"{inventory.source}/{path}"))
        for path in inventory.others
        if path.casefold().endswith(SUFFIXES)
    ]
    tables = [(path, table) for path, table in everything if set(COLUMNS) <= set(table.columns)]
    if not tables:
        raise TableError(f"{inventory.source}: no CSV file with the columns {', '.join(COLUMNS)}; {_found(everything)}")
    sizes = {path: (facts.width_px, facts.height_px) for path, facts in images.usable.items()}
    labels = read_rectangle_table(
        [(folder_of(path), table) for path, table in tables],
        FrameFinder(sizes, images.quarantined),
        ANNOTATOR,
        params.on_conflict,
    )
    labelled = {rectangle.path for rectangle in labels.rectangles}
    return Reading(
        places={path: Place(*picture_place(inventory.source, path)) for path in images.usable},
        labels=labels,
        tables=tuple(path for path, _ in tables),
        counts={"images_without_labels": len(images.usable.keys() - labelled)},
    )


def _found(tables: list[tuple[str, TextTable]]) -> str:
    listed = "; ".join(f"{path} has {', '.join(table.columns)}" for path, table in tables[:5])
    return f"found: {listed}" if listed else "there is no CSV file at all"
