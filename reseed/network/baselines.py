"""What would have been enough: answers that need no network, and the direct route over whole frames.

The simplest of them know colour and contrast only, which also tell how clear the water was.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from reseed.artifacts.patches import TEST, TRAIN, VAL
from reseed.base.appearance import NAMES as APPEARANCE
from reseed.base.appearance import frame_appearance
from reseed.base.classes import CLASS_INDEX, CLASSES, DECISIONS, DEPLOY, NO_DEPLOY
from reseed.base.errors import ReseedError, TableError
from reseed.base.probabilities import predicted_classes, softmax
from reseed.network.model import network_logits
from reseed.network.patch_set import PatchSet
from reseed.network.runtime import reproducible
from reseed.network.training import fit
from reseed.params.train import TrainParams
from reseed.patches.resize import resize

# ITU-R BT.601 luma of RGB.
_LUMA: Final = np.asarray([0.299, 0.587, 0.114], dtype=np.float32)
_CHUNK: Final = 128


@dataclass(frozen=True)
class PatchLight:
    """Colour and luma of N patches, 0 to 255.

    Args:
        colour: (N, 3) mean red, green and blue.
        luma: (N,) mean luma.
        luma_square: (N,) mean squared luma.
    """

    colour: NDArray[np.float64]
    luma: NDArray[np.float64]
    luma_square: NDArray[np.float64]


def patch_light(images: NDArray[np.uint8]) -> PatchLight:
    """Measure every patch.

    Args:
        images: (N, H, W, 3) uint8, RGB; may be mapped from disk, a few patches are held in memory.
    """
    n = len(images)
    colour, luma, square = np.empty((n, 3)), np.empty(n), np.empty(n)
    for start in range(0, n, _CHUNK):
        chosen = slice(start, start + _CHUNK)
        pixels = np.asarray(images[chosen], dtype=np.float32).reshape(-1, images.shape[1] * images.shape[2], 3)
        grey = pixels @ _LUMA
        colour[chosen] = pixels.mean(axis=1, dtype=np.float64)
        luma[chosen] = grey.mean(axis=1, dtype=np.float64)
        square[chosen] = np.square(grey).mean(axis=1, dtype=np.float64)
    return PatchLight(colour, luma, square)


def frame_conditions(
    light: PatchLight, images: NDArray[np.uint8], frame_ids: NDArray[np.object_]
) -> list[dict[str, object]]:
    """Return contrast, blue-red ratio and appearance of each frame, from its patches.

    Args:
        light: N patches.
        images: (N, H, W, 3) uint8, RGB; may be mapped from disk, the patches of one frame are held in memory.
        frame_ids: (N,) frame of each.

    Returns:
        Rows of table CONDITIONS, sorted by frame.
    """
    names, place = np.unique(np.asarray(frame_ids, dtype=str), return_inverse=True)
    patches = np.bincount(place)

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(place, weights=values) / patches

    variance = np.maximum(mean(light.luma_square) - mean(light.luma) ** 2, 0.0)
    red, blue = mean(light.colour[:, 0]), mean(light.colour[:, 2])
    ratio = np.divide(blue, red, out=np.full(len(names), np.nan), where=red > 0)
    return [
        {"frame_id": str(name), "contrast": contrast, "blue_red_ratio": value, **looks}
        for name, contrast, value, looks in zip(
            names, np.sqrt(variance) / 255, ratio, _appearances(images, place, len(names)), strict=True
        )
    ]


def _appearances(images: NDArray[np.uint8], place: NDArray[np.int64], n_frames: int) -> Iterable[dict[str, float]]:
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(n_frames + 1))
    for start, end in itertools.pairwise(starts.tolist()):
        yield dict(zip(APPEARANCE, frame_appearance(np.asarray(images[order[start:end]])).tolist(), strict=True))


@dataclass(frozen=True)
class WholeFrames:
    """Resized frames.

    Args:
        frame_ids: F frames, sorted.
        images: (F, H, W, 3) uint8 RGB, all of one shape.
    """

    frame_ids: tuple[str, ...]
    images: npt.NDArray[np.uint8]


def whole_frames(images: npt.NDArray[np.uint8], index: pd.DataFrame, width_px: int) -> WholeFrames:
    """Lay the patches of each frame side by side, as they were cut, and resize the whole.

    Args:
        images: (N, H, W, 3) uint8 packed patches.
        index: Table PATCH_INDEX, in their order.
        width_px: Width of the resized frame; the height follows from the most common grid.

    Returns:
        Every frame; one with another grid is stretched to the same shape.

    Raises:
        TableError: If a frame is no full grid, such as one of patches around points.
    """
    by_frame = sorted(index.groupby("frame_id", sort=True).indices.items())
    grids = [_grid(str(name), index.iloc[rows]) for name, rows in by_frame]
    shapes, counts = np.unique(np.asarray(grids), axis=0, return_counts=True)
    rows_common, cols_common = shapes[counts.argmax()]
    height_px = max(32, round(width_px * int(rows_common) / int(cols_common)))
    out = np.empty((len(by_frame), height_px, width_px, 3), np.uint8)
    edge = images.shape[1:3]
    for place, ((_, rows), (n_rows, n_cols)) in enumerate(zip(by_frame, grids, strict=True)):
        ordered = index.iloc[rows].sort_values(["row", "col"], kind="stable").index.to_numpy()
        tiles = np.asarray(images[ordered]).reshape(n_rows, n_cols, *edge, 3).swapaxes(1, 2)
        out[place] = resize(tiles.reshape(n_rows * edge[0], n_cols * edge[1], 3), width_px, height_px)
    return WholeFrames(tuple(str(name) for name, _ in by_frame), out)


def _grid(frame_id: str, patches: pd.DataFrame) -> tuple[int, int]:
    rows, cols = int(patches["row"].max()) + 1, int(patches["col"].max()) + 1
    if (patches["row"] < 0).any() or rows * cols != len(patches):
        raise TableError(
            f"baselines.image is true, but {frame_id} is not cut into a full grid ({len(patches)} patches), so there "
            "is no whole frame to look at; set baselines.image to false"
        )
    return rows, cols


Rows = list[dict[str, object]]

_ITERATIONS = 1000


def constant_answers(patches: PatchSet, frame_labels: dict[str, str]) -> Rows:
    """Answer every patch and frame with the largest class of the training split, and with No-Deploy.

    Args:
        patches: Packed patches.
        frame_labels: Reference decision of the frames that have one.

    Returns:
        Rows of BASELINE_PREDICTIONS for val and test; equal counts go to the lower class index.
    """
    asked, frames = _asked(patches), _asked_frames(patches)
    train_frames = sorted({str(name) for name in patches.frame_ids[patches.split == TRAIN]})
    decided = [DECISIONS.index(frame_labels[name]) for name in train_frames if name in frame_labels]
    largest = CLASSES[int(np.bincount(patches.gold[patches.labelled(TRAIN)], minlength=len(CLASSES)).argmax())]
    common = DECISIONS[int(np.bincount(decided, minlength=len(DECISIONS)).argmax())]
    ids = [str(name) for name in patches.patch_ids[asked]]
    return [
        *_rows("largest_class", "patch", ids, [largest] * len(ids)),
        *_rows("largest_class", "frame", frames, [common] * len(frames)),
        *_rows("no_deploy", "patch", ids, [NO_DEPLOY] * len(ids)),
        *_rows("no_deploy", "frame", frames, [NO_DEPLOY] * len(frames)),
    ]


def colour_answers(patches: PatchSet, colour: npt.NDArray[np.float64]) -> Rows:
    """Answer every patch by logistic regression on its mean colour, standardised and class-balanced.

    Args:
        patches: Packed patches.
        colour: (N, 3) mean red, green and blue of each.

    Returns:
        Rows of BASELINE_PREDICTIONS for val and test; no frame rows: its frames are decided from the patches.
    """
    train, asked = patches.labelled(TRAIN), _asked(patches)
    if len(np.unique(patches.gold[train])) < 2 or not len(asked):
        return []
    regression = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=_ITERATIONS))
    regression.fit(colour[train], patches.gold[train])
    predicted = [CLASSES[index] for index in regression.predict(colour[asked])]
    return _rows("mean_colour", "patch", [str(name) for name in patches.patch_ids[asked]], predicted)


def image_answers(
    frames: WholeFrames,
    split_of: dict[str, str],
    frame_labels: dict[str, str],
    params: TrainParams,
    start: dict[str, Tensor],
    keep: Path | None = None,
) -> Rows:
    """Train one network on whole resized frames and answer every frame directly, without patches.

    Args:
        frames: Resized frames.
        split_of: Split of each frame.
        frame_labels: Reference decision of the frames that have one.
        params: The recipe that the patch network is trained by.
        start: Backbone tensors to start from, empty for random weights.
        keep: As `fit` takes it.

    Raises:
        ReseedError: If a decision has no training frame, or no validation frame has a label.
    """
    gold = np.asarray([CLASS_INDEX.get(frame_labels.get(name, ""), -1) for name in frames.frame_ids], dtype=np.int64)
    splits = np.asarray([split_of[name] for name in frames.frame_ids])
    train, val = (np.flatnonzero((splits == split) & (gold >= 0)) for split in (TRAIN, VAL))
    if len(train) < 2 or not len(val) or len(set(gold[train])) < len(DECISIONS):
        raise ReseedError(
            "baselines.image is true, but the training frames do not have both decisions, or no validation frame has a "
            "label; set baselines.image to false, or label more frames"
        )
    # Frames know two of the three classes; Coral is never drawn and, if ever answered, is no Deploy.
    needed = tuple(CLASS_INDEX[name] for name in DECISIONS)
    result = fit(frames.images, gold, train, val, params, start, needed=needed, keep=keep)
    asked = np.flatnonzero(np.isin(splits, (VAL, TEST)))
    with reproducible(params.threads, params.seed, result.device):
        logits = network_logits(result.network, frames.images, params.batch_size, result.device, asked)
    deploys = predicted_classes(softmax(logits)) == CLASS_INDEX[DEPLOY]
    names = [frames.frame_ids[row] for row in asked]
    return _rows("whole_image", "frame", names, [DEPLOY if deploy else NO_DEPLOY for deploy in deploys])


def _asked(patches: PatchSet) -> npt.NDArray[np.int64]:
    return np.flatnonzero(np.isin(patches.split.astype(str), (VAL, TEST)))


def _asked_frames(patches: PatchSet) -> list[str]:
    return sorted({str(name) for name in patches.frame_ids[_asked(patches)]})


def _rows(baseline: str, kind: str, items: Iterable[str], predicted: Iterable[str]) -> Rows:
    return [
        {"baseline": baseline, "kind": kind, "item": item, "predicted": answer}
        for item, answer in zip(items, predicted, strict=True)
    ]
