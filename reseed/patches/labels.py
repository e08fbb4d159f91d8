"""The label of a patch from the annotations that lie inside it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reseed.base.classes import CLASSES


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
