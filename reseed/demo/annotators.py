"""The demo reef's two annotators: what they say of rectangles and of whole frames, and how they err."""

from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from reseed.base.classes import CLASS_INDEX, CLASSES, CORAL, DEPLOY, NO_DEPLOY
from reseed.demo.texture import smooth_noise

ClassMap = npt.NDArray[np.uint8]
Edges = npt.NDArray[np.int64]

# The tiles by which the true decision on a frame is taken: the grid of a ReefScan frame.
DECISION_TILES: Final = (4, 7)

# What an annotator who errs says instead of the truth, where the rectangle itself holds one class only: people take
# turf-covered rock for rubble or algae and the other way round, and seldom miss a living coral.
_CONFUSED_WITH: Final = {
    CLASS_INDEX[NO_DEPLOY]: (0.0, 0.3, 0.7),
    CLASS_INDEX[CORAL]: (0.5, 0.0, 0.5),
    CLASS_INDEX[DEPLOY]: (0.75, 0.25, 0.0),
}
# Distance from alpha, as a share of the frame, over which the chance of a misjudged frame falls to 37 %.
_DOUBT: Final = 0.06


def tile_edges(edge_px: int, count: int) -> Edges:
    """Return the `count` + 1 borders of the tiles along an edge: tile i spans floor(W*i/n) to floor(W*(i+1)/n)."""
    return np.arange(count + 1, dtype=np.int64) * edge_px // count


def class_counts(truth: ClassMap, row_edges: Edges, col_edges: Edges) -> npt.NDArray[np.int64]:
    """Count the pixels of each class in each tile of a truth map (H, W): (rows, cols, 3)."""
    counts = []
    for index in range(len(CLASSES)):
        sums = np.add.reduceat((truth == index).astype(np.int64), row_edges[:-1], axis=0)
        counts.append(np.add.reduceat(sums, col_edges[:-1], axis=1))
    return np.stack(counts, axis=-1)


def label_rectangles(
    rng: np.random.Generator, counts: npt.NDArray[np.int64], error_rate: float
) -> npt.NDArray[np.int64]:
    """Label rectangles by the class that covers most of them, `error_rate` of them wrongly.

    Mistakes gather where a rectangle holds two classes and, as people's do, in neighbouring rectangles.

    Args:
        rng: The annotator's own random stream for the frame.
        counts: (rows, cols, 3) pixels of each class in each rectangle.
        error_rate: Share of rectangles to label wrongly.

    Returns:
        (rows, cols) class indices.
    """
    labels = counts.argmax(axis=-1)
    shape = (labels.shape[0], labels.shape[1])
    wrong_total = int(error_rate * labels.size + rng.random())
    shares = counts / counts.sum(axis=-1, keepdims=True)
    doubt = 4 * (1 - shares.max(axis=-1)) + smooth_noise(rng, shape, 2.5) + 0.3 * rng.standard_normal(shape)
    wrong = np.argsort(-doubt.ravel(), kind="stable")[:wrong_total]
    flat: npt.NDArray[np.int64] = labels.reshape(-1).copy()
    for rectangle in wrong:
        true = int(flat[rectangle])
        weight = 0.2 * np.array(_CONFUSED_WITH[true]) + shares.reshape(-1, len(CLASSES))[rectangle]
        weight[true] = 0
        flat[rectangle] = rng.choice(len(CLASSES), p=weight / weight.sum())
    return flat.reshape(shape)


def deploy_share(truth: ClassMap) -> Fraction:
    """Return the exact share of the 7 x 4 tiles of a truth map (H, W) that are Deploy by majority."""
    rows, cols = DECISION_TILES
    counts = class_counts(truth, tile_edges(truth.shape[0], rows), tile_edges(truth.shape[1], cols))
    return Fraction(int((counts.argmax(axis=-1) == CLASS_INDEX[DEPLOY]).sum()), rows * cols)


def label_frame(rng: np.random.Generator, share: Fraction, alpha: float, error_rate: float) -> str:
    """Decide on a frame: Deploy where `share` exceeds alpha, misjudged most often where it is close to alpha."""
    threshold = Fraction(str(alpha))
    truth = share > threshold
    misjudged = rng.random() < error_rate * np.exp(-abs(float(share - threshold)) / _DOUBT)
    return DEPLOY if truth != misjudged else NO_DEPLOY
