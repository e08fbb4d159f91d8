"""What will be cut from each frame: boxes, ids and labels, known before any pixel is read."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.annotations import GRID, MACHINE, POINT, WEAK
from reseed.base.classes import CLASS_INDEX, CLASSES
from reseed.base.grid import Grid, grid_of, point_boxes, point_id, tile_boxes, tile_id


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
