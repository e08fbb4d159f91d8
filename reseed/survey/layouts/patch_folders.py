"""Layout `patch-folders`: patches that somebody cut beforehand, in one folder for each class.

`[.../](train|test|*TrainSplit|*TestSplit)/[Site n/]<Class>/<frame>_<index>.png`, index row by row in a grid of
`catalog.grid_rows` x `catalog.grid_cols` (4 x 7 on ReefScan); or `<frame>_<row>_<col>.png`, known by its letters
(`_r02_c05`) or where every frame is then complete. The patches of one frame lie in different class folders;
here they become that frame again: one row of `frames.csv`, so that no split divides it and its decision counts all of
its patches. With a grid of 1 x 1 every image is a frame of its own, whatever its name.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from reseed.artifacts.catalog import GRID
from reseed.base.errors import TableError
from reseed.params.catalog import CatalogParams
from reseed.sources.inventory import Inventory
from reseed.survey.images import ImageFacts, Images
from reseed.survey.labels import LabelMaps, Labels, Rectangle
from reseed.survey.layouts.class_folders import (
    ANNOTATOR,
    FolderLabel,
    folder_place,
    in_several_splits,
    left_out,
    read_class_folders,
)
from reseed.survey.layouts.reading import Assembled, Piece, Reading

DUPLICATE: Final = "duplicate_patch"
CONTRADICTED: Final = "contradicting_patch"

_PATCH_NAME = re.compile(r"(?P<frame>.+)_(?P<index>\d{1,3})")
_CELL_NAME = re.compile(r"(?P<frame>.+)_(?P<row>\d{1,3})_(?P<col>\d{1,3})")
_LETTERED_NAME = re.compile(
    r"(?P<frame>.+?)[_\-]r(?:ow)?[_\-]?(?P<row>\d{1,3})[_\-]?c(?:ol)?(?:umn)?[_\-]?(?P<col>\d{1,3})", re.IGNORECASE
)
_SHOWN: Final = 10


@dataclass(frozen=True)
class _Patch:
    """An image with the frame and the cell that its name speaks of."""

    said: FolderLabel
    frame: str
    index: int

    @property
    def frame_path(self) -> str:
        return f"{self.said.folder}/{self.frame}" if self.said.folder else self.frame


def read_patch_folders(inventory: Inventory, images: Images, params: CatalogParams) -> Reading:
    """Understand a source of layout `patch-folders`.

    Args:
        inventory: The files of the source.
        images: Its images, examined.
        params: Section `catalog`; the grid, `label_map` and `on_conflict` are used.

    Raises:
        TableError: If an image lies in no class folder, if its name gives no frame and index inside the grid, or if
            several images claim the same patch of the same frame.
    """
    maps = LabelMaps(inventory, params)
    everywhere = read_class_folders(inventory.source, inventory.images, maps)
    null = left_out(said for said in everywhere if said.path in images.usable)
    labelled = [said for said in everywhere if said.label]
    n_cells = params.grid_rows * params.grid_cols
    by_cell = _named_by_cell(inventory.source, labelled, params) if n_cells > 1 else []
    everything = by_cell or _named(inventory.source, labelled, n_cells)
    start = 1 if n_cells > 1 and _counted_from_one(inventory.source, everything, n_cells, params) else 0
    patches = [patch for patch in everything if patch.said.path in images.usable]
    kept, ignored = _settle(inventory.source, patches, images.usable, params)
    frames: dict[str, list[_Patch]] = {}
    for patch in kept:
        frames.setdefault(patch.frame_path, []).append(patch)
    assembled = {
        path: _assemble(sorted(frames[path], key=lambda patch: patch.index), start, images.usable, params)
        for path in sorted(frames)
    }
    return Reading(
        places={path: folder_place(inventory.source, frames[path][0].said) for path in assembled},
        labels=_labels(frames, assembled, len(patches), Counter(ignored.values())),
        tables=tuple(sorted(maps.files)),
        counts={
            "frames": len(assembled),
            "frames_with_every_patch": sum(len(frame.pieces) == n_cells for frame in assembled.values()),
            "frames_in_several_splits": in_several_splits(
                (patch.said.site, patch.frame, patch.said.given_split) for patch in kept
            ),
            "patch_index_starts_at": start,
        },
        assembled=assembled,
        ignored=null | ignored,
        remarks=tuple(_remarks(everything, assembled, start, n_cells, by_cell=bool(by_cell))),
    )


def is_patch_name(stem: str, n_cells: int) -> bool:
    """Whether a name is that of a patch in a grid of `n_cells`: `_7` or `_07` of 28, not `_007`; or `_r02_c05`."""
    name = patch_name(stem)
    plain = name is not None and int(name[1]) <= n_cells and len(name[1]) <= len(str(n_cells))
    return plain or _LETTERED_NAME.fullmatch(stem) is not None


def patch_name(stem: str) -> tuple[str, str] | None:
    """Return frame and index, as written, of the name of a patch, or None if it is none.

    >>> patch_name("20230315_020635_000_0000_12")
    ('20230315_020635_000_0000', '12')
    """
    match = _PATCH_NAME.fullmatch(stem)
    return (match["frame"], match["index"]) if match else None


def piece_sha256(pieces: Iterable[Piece], usable: Mapping[str, ImageFacts]) -> str:
    r"""Return the digest of a frame that comes in pieces: sha256 over the lines `<sha256>  r<row>c<col>\n`."""
    lines = (f"{usable[piece.path].sha256}  r{piece.row:03d}c{piece.col:03d}\n" for piece in pieces)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _named(source: str, labelled: list[FolderLabel], n_cells: int) -> list[_Patch]:
    if n_cells == 1:
        return [_Patch(said, said.stem, 0) for said in labelled]
    names = [(said, patch_name(said.stem)) for said in labelled]
    nameless = [said.path for said, name in names if name is None]
    if nameless:
        raise TableError(
            f"{source}: {len(nameless)} images have no name of the form <frame>_<index>, first: "
            f"{', '.join(nameless[:_SHOWN])}; patches are kept together by frame, so rename them, or set "
            "catalog.grid_rows and catalog.grid_cols to 1 if every image is of another frame"
        )
    return [_Patch(said, name[0], int(name[1])) for said, name in names if name]


def _named_by_cell(source: str, labelled: list[FolderLabel], params: CatalogParams) -> list[_Patch]:
    """Read names of the form <frame>_<row>_<col>, or return nothing if the last number is an index.

    Without letters the two forms look alike. Row and column are meant where every frame is complete when read so.

    Raises:
        TableError: If the names may mean either, or give columns before rows.
    """
    rows, cols = params.grid_rows, params.grid_cols
    lettered = [_LETTERED_NAME.fullmatch(said.stem) for said in labelled]
    matches = lettered if all(lettered) else [_CELL_NAME.fullmatch(said.stem) for said in labelled]
    if not matches or not all(matches) or rows == 1:
        return []
    named = [(match["frame"], int(match["row"]), int(match["col"])) for match in matches if match]
    start = int(min(min(row, col) for _, row, col in named) > 0)
    highest = max(row for _, row, _ in named) - start, max(col for *_, col in named) - start
    cells: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for said, (frame, *cell) in zip(labelled, named, strict=True):
        cells.setdefault((said.folder, frame), set()).add((cell[0], cell[1]))
    complete = all(len(found) == rows * cols for found in cells.values())
    fits = highest[0] < rows and highest[1] < cols
    if fits and (complete or matches is lettered):
        return [
            _Patch(said, frame, (row - start) * cols + col - start)
            for said, (frame, row, col) in zip(labelled, named, strict=True)
        ]
    turned = complete and highest == (cols - 1, rows - 1)
    in_rows = fits and any(len({row for row, _ in found}) > 1 for found in cells.values())
    if matches is lettered or turned or in_rows:
        raise TableError(
            f"{source}: names such as {labelled[0].path} may mean <frame>_<index> or <frame>_<row>_<col>; as row and "
            f"column they reach {highest[0] + start} and {highest[1] + start}, counted from {start}, and not every "
            f"frame has all {rows} x {cols} patches (catalog.grid_rows, catalog.grid_cols): rename them to "
            "<frame>_<index> or <frame>_r<row>_c<col>, or correct the grid"
        )
    return []


def _remarks(
    patches: list[_Patch], assembled: Mapping[str, Assembled], start: int, n_cells: int, *, by_cell: bool
) -> Iterator[str]:
    if by_cell:
        yield f"names are read as <frame>_<row>_<col>, such as {patches[0].said.path}"
    elif n_cells > 1 and start == 0 and all(patch.index for patch in patches):
        yield (
            f"no frame has a patch of index 0, and none of index {n_cells}: the index is read as counted from 0; if it "
            "counts from 1, every patch is one cell off"
        )
    if n_cells > 1 and not any(len(frame.pieces) == n_cells for frame in assembled.values()):
        yield f"no frame has every patch of the {n_cells} of its grid (catalog.grid_rows, catalog.grid_cols)"


def _counted_from_one(source: str, patches: list[_Patch], n_cells: int, params: CatalogParams) -> bool:
    """Whether the first patch has index 1: so if the index n_cells appears and 0 does not."""
    indices = {patch.index for patch in patches}
    outside = [patch for patch in patches if patch.index > n_cells or (patch.index == n_cells and 0 in indices)]
    if outside:
        shown = ", ".join(patch.said.path for patch in outside[:_SHOWN])
        raise TableError(
            f"{source}: {len(outside)} images have an index outside the grid of {params.grid_rows} x "
            f"{params.grid_cols} patches, first: {shown}; set catalog.grid_rows and catalog.grid_cols to the grid "
            "that the frames were cut by"
        )
    return n_cells in indices


def _settle(
    source: str, patches: list[_Patch], usable: Mapping[str, ImageFacts], params: CatalogParams
) -> tuple[list[_Patch], dict[str, str]]:
    """Keep one image for each patch of each frame; return the others with the reason."""
    claims: dict[tuple[str, str, str, int], list[_Patch]] = {}
    for patch in sorted(patches, key=lambda patch: patch.said.path):
        claims.setdefault((patch.said.site, patch.said.camera, patch.frame, patch.index), []).append(patch)
    kept: list[_Patch] = []
    ignored: dict[str, str] = {}
    contradictions = []
    for group in claims.values():
        by_frame: dict[str, list[_Patch]] = {}
        for patch in group:
            by_frame.setdefault(patch.frame_path, []).append(patch)
        copies = all(len({usable[p.said.path].sha256 for p in same}) == 1 for same in by_frame.values())
        if len({patch.said.label for patch in group}) > 1 or not copies:
            contradictions.append(" / ".join(patch.said.path for patch in group))
            ignored |= {patch.said.path: CONTRADICTED for patch in group}
            continue
        for same in by_frame.values():
            kept.append(same[0])
            ignored |= {patch.said.path: DUPLICATE for patch in same[1:]}
    if contradictions and params.on_conflict == "error":
        raise TableError(
            f"{source}: {len(contradictions)} patches are claimed by images in folders of different classes, or by "
            f"different images: {'; '.join(contradictions[:_SHOWN])}{' ...' if len(contradictions) > _SHOWN else ''}; "
            "keep one of each (frames of the same name at two sites need site folders), or set "
            "catalog.on_conflict: drop to go on without them"
        )
    return kept, ignored


def _assemble(patches: list[_Patch], start: int, usable: Mapping[str, ImageFacts], params: CatalogParams) -> Assembled:
    """Lay out the patches of one frame; a row or column of which no patch came is as large as the largest."""
    cells = [divmod(patch.index - start, params.grid_cols) for patch in patches]
    facts = [usable[patch.said.path] for patch in patches]
    widths, heights = [0] * params.grid_cols, [0] * params.grid_rows
    for (row, col), image in zip(cells, facts, strict=True):
        widths[col], heights[row] = max(widths[col], image.width_px), max(heights[row], image.height_px)
    xs = [0, *accumulate(width or max(widths) for width in widths)]
    ys = [0, *accumulate(height or max(heights) for height in heights)]
    pieces = tuple(
        Piece(patch.said.path, row, col, (xs[col], ys[row], xs[col] + image.width_px, ys[row] + image.height_px))
        for patch, (row, col), image in zip(patches, cells, facts, strict=True)
    )
    return Assembled(xs[-1], ys[-1], pieces)


def _labels(
    frames: Mapping[str, list[_Patch]], assembled: Mapping[str, Assembled], n_images: int, left_out: Counter[str]
) -> Labels:
    said = {patch.said.path: patch.said for patches in frames.values() for patch in patches}
    rectangles = [
        Rectangle(path, ANNOTATOR, *piece.box, said[piece.path].label, GRID, said[piece.path].source_label)
        for path, frame in assembled.items()
        for piece in frame.pieces
    ]
    counts = {
        "annotation_rows": n_images,
        "annotation_kept": len(rectangles),
        "annotation_duplicates_merged": left_out[DUPLICATE],
        "annotation_contradictions_dropped": left_out[CONTRADICTED],
    }
    return Labels(tuple(sorted(rectangles, key=lambda r: (r.path, r.y0, r.x0))), (), counts)
