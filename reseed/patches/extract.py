"""Cutting frames into patches: boxes, ids and labels are planned before any pixel is read."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.catalog import GRID, MACHINE, POINT, WEAK
from reseed.base.classes import CLASS_INDEX, CLASSES
from reseed.base.errors import ImageError, TableError
from reseed.base.grid import Grid, grid_of, point_boxes, point_id, tile_boxes, tile_id
from reseed.base.parallel import ordered_map
from reseed.params.extract import ExtractParams
from reseed.patches.resize import box_patches, load_frame_patches, resize
from reseed.survey.imagery import decode_rgb, pieces_of_frames


@dataclass(frozen=True)
class PatchLabels:
    """Labels of the patches of one frame by one annotator.

    Args:
        class_index: (N,) int64, -1 where the patch has no label.
        purity: (N,) float64, share of the annotated area that the main class has, 0-1; NaN if nothing is annotated.
    """

    class_index: NDArray[np.int64]
    purity: NDArray[np.float64]


def label_boxes(
    boxes: NDArray[np.int64], rects: NDArray[np.int64], rect_classes: NDArray[np.int64], min_purity: float
) -> PatchLabels:
    """Label patches by the class that covers most of each.

    Equal areas go to the lower class index, so to No-Deploy first: the safe side.

    Args:
        boxes: (N, 4) int64 patches: x0, y0, x1, y1.
        rects: (R, 4) int64 annotated rectangles of one annotator, same coordinates.
        rect_classes: (R,) int64 class index of each rectangle.
        min_purity: Below this share of the annotated area the patch gets no label, 0-1.
    """
    area_px = _class_areas(boxes, rects, rect_classes)
    annotated_px = area_px.sum(axis=1)
    main = area_px.argmax(axis=1)
    purity = np.full(len(boxes), np.nan)
    np.divide(area_px.max(axis=1), annotated_px, out=purity, where=annotated_px > 0)
    labelled = (annotated_px > 0) & (purity >= min_purity)
    return PatchLabels(class_index=np.where(labelled, main, -1), purity=purity)


def _class_areas(
    boxes: NDArray[np.int64], rects: NDArray[np.int64], rect_classes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return (N, 3): the area of each class inside each box, in pixels."""
    low = np.maximum(boxes[:, None, :2], rects[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], rects[None, :, 2:])
    overlap_px = np.clip(high - low, 0, None).prod(axis=2)
    one_hot = rect_classes[:, None] == np.arange(len(CLASSES))[None, :]
    areas: NDArray[np.int64] = overlap_px @ one_hot.astype(np.int64)
    return areas


_RECT = ["x0", "y0", "x1", "y1"]


@dataclass(frozen=True)
class FramePlan:
    """The patches of one frame.

    Args:
        frame_id: Frame.
        width_px: Stored width.
        height_px: Stored height.
        grid: Rows and columns, or None for patches around points and for a frame that came in pieces.
        boxes: (N, 4) int64 x0, y0, x1, y1 in stored pixels.
        cells: (N, 2) int64 grid row and column, -1 around a point.
        patch_ids: N ids in the order of the boxes.
        labels: One row per patch and annotator: patch_id, annotator, label, purity, kind, gold.
        files: Of a frame that came in pieces: the image of each box, POSIX paths below data/raw; else empty.
    """

    frame_id: str
    width_px: int
    height_px: int
    grid: Grid | None
    boxes: NDArray[np.int64]
    cells: NDArray[np.int64]
    patch_ids: tuple[str, ...]
    labels: list[dict[str, object]]
    files: tuple[str, ...] = ()

    @property
    def index_rows(self) -> list[dict[str, object]]:
        """Rows of PATCH_INDEX, in the order of the boxes."""
        return [
            {
                "patch_id": patch_id,
                "frame_id": self.frame_id,
                "row": int(row),
                "col": int(col),
                **dict(zip(_RECT, box.tolist(), strict=True)),
            }
            for patch_id, (row, col), box in zip(self.patch_ids, self.cells, self.boxes, strict=True)
        ]


def plan_frame(
    frame_id: str,
    width_px: int,
    height_px: int,
    annotations: pd.DataFrame,
    patch_size_px: int,
    min_purity: float,
    pieces: pd.DataFrame | None = None,
) -> FramePlan | None:
    """Plan one frame: its grid, its pieces if it came in pieces, or squares around its points if that is its labels.

    Args:
        frame_id: Frame.
        width_px: Stored width.
        height_px: Stored height.
        annotations: ANNOTATIONS rows of this frame, of every annotator.
        patch_size_px: Target edge of a patch in stored pixels.
        min_purity: Below this share of the annotated area a patch gets no label, 0-1.
        pieces: Its rows of PIECES if it came as patches cut beforehand; they are used as they are, whatever the size.

    Returns:
        The plan, or None if the frame is smaller than one patch.
    """
    if pieces is not None:
        return _plan_pieces(frame_id, width_px, height_px, annotations, min_purity, pieces)
    if min(width_px, height_px) < patch_size_px and not _is_one_patch(annotations, width_px, height_px):
        return None
    if _are_points(annotations):
        return _plan_points(frame_id, width_px, height_px, annotations, patch_size_px)
    grid = grid_of(width_px, height_px, patch_size_px)
    boxes = tile_boxes(width_px, height_px, grid)
    cells = np.stack(np.divmod(np.arange(grid.n_patches), grid.cols), axis=1).astype(np.int64)
    ids = tuple(tile_id(frame_id, int(row), int(col)) for row, col in cells)
    labels = _area_labels(ids, boxes, annotations, min_purity)
    return FramePlan(frame_id, width_px, height_px, grid, boxes, cells, ids, labels)


def _plan_pieces(
    frame_id: str, width_px: int, height_px: int, annotations: pd.DataFrame, min_purity: float, pieces: pd.DataFrame
) -> FramePlan:
    pieces = pieces.sort_values(["row", "col"])
    boxes, cells = pieces[_RECT].to_numpy(np.int64), pieces[["row", "col"]].to_numpy(np.int64)
    ids = tuple(tile_id(frame_id, int(row), int(col)) for row, col in cells)
    labels = _area_labels(ids, boxes, annotations, min_purity)
    return FramePlan(frame_id, width_px, height_px, None, boxes, cells, ids, labels, tuple(pieces["path"]))


def _area_labels(
    ids: tuple[str, ...], boxes: NDArray[np.int64], annotations: pd.DataFrame, min_purity: float
) -> list[dict[str, object]]:
    labels = []
    for (annotator, gold), rows in annotations.groupby(["annotator", "gold"], sort=True):
        classes = np.array([CLASS_INDEX[label] for label in rows["label"]], dtype=np.int64)
        kinds = set(rows["kind"])
        kind = next((mark for mark in (MACHINE, WEAK) if mark in kinds), min(map(str, kinds)))
        found = label_boxes(boxes, rows[_RECT].to_numpy(np.int64), classes, min_purity)
        for patch_id, index, purity in zip(ids, found.class_index, found.purity, strict=True):
            if not np.isnan(purity):
                label = CLASSES[index] if index >= 0 else ""
                labels.append(_label_row(patch_id, str(annotator), label, float(purity), kind, int(str(gold))))
    return labels


def _is_one_patch(annotations: pd.DataFrame, width_px: int, height_px: int) -> bool:
    """Whether the frame is a patch that somebody cut already: one grid cell as large as the frame."""
    whole = (annotations[_RECT] == [0, 0, width_px, height_px]).all(axis=1) & annotations["kind"].isin([GRID, MACHINE])
    return len(annotations) > 0 and bool(whole.all())


def _are_points(annotations: pd.DataFrame) -> bool:
    """Whether all that was labelled are points; what a machine labelled is a point if it is one pixel."""
    pixels = (annotations["x1"] - annotations["x0"] == 1) & (annotations["y1"] - annotations["y0"] == 1)
    points = (annotations["kind"] == POINT) | ((annotations["kind"] == MACHINE) & pixels)
    return len(annotations) > 0 and bool(points.all())


def _plan_points(
    frame_id: str, width_px: int, height_px: int, annotations: pd.DataFrame, patch_size_px: int
) -> FramePlan:
    points = annotations[["y0", "x0"]].drop_duplicates().sort_values(["y0", "x0"])
    xy = points[["x0", "y0"]].to_numpy(np.int64)
    ids = tuple(point_id(frame_id, int(x), int(y)) for x, y in xy)
    labels = [
        _label_row(
            point_id(frame_id, row["x0"], row["y0"]), row["annotator"], row["label"], 1.0, row["kind"], row["gold"]
        )
        for row in annotations.to_dict("records")
    ]
    boxes = point_boxes(xy, patch_size_px)
    return FramePlan(frame_id, width_px, height_px, None, boxes, np.full((len(xy), 2), -1), ids, labels)


def _label_row(patch_id: str, annotator: str, label: str, purity: float, kind: str, gold: int) -> dict[str, object]:
    row = {"patch_id": patch_id, "annotator": annotator, "label": label, "purity": purity}
    return row | {"kind": kind, "gold": gold}


SMALLER_THAN_PATCH = "smaller_than_patch"


@dataclass(frozen=True)
class ExtractPlan:
    """What will be cut.

    Args:
        frames: One plan per frame, by frame_id.
        quarantined: Rows of QUARANTINE: frames smaller than one patch.
    """

    frames: tuple[FramePlan, ...]
    quarantined: tuple[dict[str, object], ...]

    @property
    def n_patches(self) -> int:
        """Patches of all frames."""
        return sum(len(frame.boxes) for frame in self.frames)


def plan(
    frames: pd.DataFrame, annotations: pd.DataFrame, params: ExtractParams, pieces: pd.DataFrame | None = None
) -> ExtractPlan:
    """Plan every frame.

    Args:
        frames: FRAMES table.
        annotations: ANNOTATIONS table.
        params: Patch size, input size, purity.
        pieces: PIECES table; None if every frame is one image.

    Raises:
        TableError: If no frame is as large as one patch.
    """
    of_frame = dict(iter(annotations.groupby("frame_id")))
    pieces_of = {} if pieces is None else pieces_of_frames(pieces)
    nothing = annotations.iloc[:0]
    plans: list[FramePlan] = []
    quarantined: list[dict[str, object]] = []
    for frame in frames.sort_values("frame_id").to_dict("records"):
        frame_id, width_px, height_px = frame["frame_id"], frame["width_px"], frame["height_px"]
        rows = of_frame.get(frame_id, nothing)
        planned = plan_frame(
            frame_id, width_px, height_px, rows, params.patch_size, params.min_purity, pieces_of.get(frame_id)
        )
        if planned is None:
            detail = f"{width_px} x {height_px} px, extract.patch_size {params.patch_size} px"
            quarantined.append({"path": frame_id, "reason": SMALLER_THAN_PATCH, "detail": detail})
        else:
            plans.append(planned)
    if not plans:
        raise TableError(
            f"all {len(quarantined)} frame(s) are smaller than one patch (extract.patch_size {params.patch_size} px; "
            f"first: {quarantined[0]['path']}, {quarantined[0]['detail']}): lower extract.patch_size"
        )
    return ExtractPlan(tuple(plans), tuple(quarantined))


def cut(planned: ExtractPlan, raw: Path, patch_size_px: int, input_size_px: int) -> Iterator[NDArray[np.uint8]]:
    """Decode the frames in threads and yield the patches of each, in the order of the plan.

    Args:
        planned: What to cut.
        raw: Folder that frame ids are relative to.
        patch_size_px: Target edge of a patch in stored pixels, as planned.
        input_size_px: Edge of a patch as the network sees it.

    Yields:
        (n, input_size, input_size, 3) uint8.
    """

    def of_one(frame: FramePlan) -> NDArray[np.uint8]:
        if frame.files:
            return np.stack(
                [_piece(raw / path, box, input_size_px) for path, box in zip(frame.files, frame.boxes, strict=True)]
            )
        path, width_px, height_px = raw / frame.frame_id, frame.width_px, frame.height_px
        if frame.grid is None:
            return box_patches(_decode(path, width_px, height_px), frame.boxes, input_size_px)
        with _usable(path):
            found = load_frame_patches(path, patch_size_px, input_size_px, max_pixels=width_px * height_px)
        _require_dimensions(path, (found.width_px, found.height_px), (width_px, height_px))
        return found.images

    yield from ordered_map(of_one, planned.frames, total=len(planned.frames), unit="frame", what="extract")


def _piece(path: Path, box: NDArray[np.int64], input_size_px: int) -> NDArray[np.uint8]:
    x0, y0, x1, y1 = box.tolist()
    return resize(_decode(path, x1 - x0, y1 - y0), input_size_px, input_size_px)


def _decode(path: Path, width_px: int, height_px: int) -> NDArray[np.uint8]:
    with _usable(path):
        image = decode_rgb(path, max_pixels=width_px * height_px)
    _require_dimensions(path, (image.shape[1], image.shape[0]), (width_px, height_px))
    return image


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    try:
        yield
    except ImageError as error:
        raise TableError(f"{path}: {error}, but the catalog lists it as usable: `dvc repro -f catalog`") from error


def _require_dimensions(path: Path, found_px: tuple[int, int], catalog_px: tuple[int, int]) -> None:
    if found_px != catalog_px:
        raise TableError(
            f"{path}: {found_px[0]} x {found_px[1]} px, but the catalog has {catalog_px[0]} x {catalog_px[1]}: "
            "`dvc repro -f catalog`"
        )


def mixed_footprint(planned: ExtractPlan, patch_size_px: int) -> str | None:
    """Return a remark if frames of different resolutions are mixed, so that a patch covers different areas."""
    shapes = sorted({(frame.width_px, frame.height_px) for frame in planned.frames if not frame.files})
    if len(shapes) < 2:
        return None
    listed = ", ".join(f"{width} x {height}" for width, height in shapes[:5])
    return (
        f"frames of {len(shapes)} resolutions ({listed} px): a patch of {patch_size_px} px shows a different piece of "
        "seafloor in each"
    )


def coarser_labels(planned: ExtractPlan, annotations: pd.DataFrame, patch_size_px: int) -> str | None:
    """Return a remark if patches lie in annotated grid cells at least twice as large: they inherit a coarser label.

    A cell's label says what most of the cell is, not what a part of it is; a rectangle that somebody drew around one
    class says so of every part.

    Args:
        planned: What will be cut.
        annotations: Table ANNOTATIONS.
        patch_size_px: extract.patch_size.
    """
    cells_of = dict(iter(annotations[(annotations["gold"] == 1) & (annotations["kind"] == "grid")].groupby("frame_id")))
    labelled = {
        str(row["patch_id"]) for frame in planned.frames for row in frame.labels if row["gold"] and row["label"]
    }
    n_coarse, width_px, height_px = 0, 0, 0
    for frame in planned.frames:
        if frame.grid is None or frame.frame_id not in cells_of:
            continue
        cells = cells_of[frame.frame_id][["x0", "y0", "x1", "y1"]].to_numpy(np.int64)
        sides_px = cells[:, 2:] - cells[:, :2]
        coarse = sides_px.prod(axis=1) >= 2 * frame.width_px * frame.height_px / frame.grid.n_patches
        centres = (frame.boxes[:, None, :2] + frame.boxes[:, None, 2:]) / 2
        within = np.concatenate([centres >= cells[coarse, :2], centres < cells[coarse, 2:]], axis=2)
        inside = np.any(np.all(within, axis=2), axis=1)
        n_coarse += len(labelled & set(np.array(frame.patch_ids)[inside].tolist()))
        width_px, height_px = np.maximum(sides_px[coarse].max(axis=0, initial=0), (width_px, height_px)).tolist()
    if not n_coarse:
        return None
    return (
        f"{n_coarse:,} of {len(labelled):,} labelled patches are in annotated cells that span several patches (up to "
        f"{width_px} x {height_px} px, extract.patch_size {patch_size_px} px): they inherit a coarser label, which "
        f"counts several times; extract.patch_size {max(width_px, height_px)} fits these cells"
    )


def cut_beforehand(planned: ExtractPlan, patch_size_px: int) -> str | None:
    """Return a remark if frames came as patches, which no parameter cuts anew."""
    edges = [box[2:] - box[:2] for frame in planned.frames if frame.files for box in frame.boxes]
    if not edges:
        return None
    low, high = int(np.min(edges)), int(np.max(edges))
    return (
        f"{len(edges)} patches were cut before they came here, with edges of {low} to {high} px: "
        f"extract.patch_size {patch_size_px} does not apply to them"
    )
