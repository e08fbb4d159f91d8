"""The packed patches as arrays, with reference labels and splits, and the random changes to those in training.

The changes are those of a towed camera, each patch its own: any heading (mirroring), more or less water in between (red
light goes first), more or less light and turbidity (brightness, contrast), motion and focus (blur).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

from reseed.base.classes import CLASS_INDEX, CLASSES
from reseed.base.errors import ModelError, TableError
from reseed.params.train import TrainParams
from reseed.patches.store import open_patches

UNLABELLED = -1


@dataclass(frozen=True)
class PatchSet:
    """Patches, labels and splits.

    Args:
        patch_ids: (N,) text.
        frame_ids: (N,) text.
        gold: (N,) int64 class index of the reference label, -1 where there is none.
        split: (N,) text, `train`, `val`, `test` or `none`.
    """

    patch_ids: npt.NDArray[np.object_]
    frame_ids: npt.NDArray[np.object_]
    gold: npt.NDArray[np.int64]
    split: npt.NDArray[np.object_]

    @property
    def gold_names(self) -> list[str]:
        """Name of the reference class of each patch, empty where there is none."""
        return ["" if index == UNLABELLED else CLASSES[index] for index in self.gold]

    def labelled(self, split: str) -> npt.NDArray[np.int64]:
        """Return the positions of the labelled patches of `split`, ascending."""
        return np.flatnonzero((self.split == split) & (self.gold != UNLABELLED)).astype(np.int64)


def join_patches(index: pd.DataFrame, labels: pd.DataFrame, splits: pd.DataFrame) -> PatchSet:
    """Bring the three tables into the order of `index`.

    Args:
        index: `PATCH_INDEX`.
        labels: `PATCH_LABELS`; only rows with gold 1 count.
        splits: `SPLITS_TABLE`.

    Raises:
        TableError: If a label is no class or belongs to no patch, a patch has two reference labels or a frame has no
            split.
    """
    known = set(index["patch_id"])
    strangers = [name for name in labels["patch_id"] if name not in known]
    if strangers:
        raise TableError(
            f"data/patches/labels.csv: {len(strangers)} labels of patches that are not in index.csv, first: "
            f"{strangers[0]}; run `dvc repro` so that both come from one run of extract"
        )
    reference = labels[labels["gold"] == 1]
    twice = reference["patch_id"][reference["patch_id"].duplicated()]
    if len(twice):
        raise TableError(
            f"data/patches/labels.csv: {len(twice)} patches have two reference labels, first: {twice.iloc[0]}"
        )
    without = sorted(set(index["frame_id"]) - set(splits["frame_id"]))
    if without:
        raise TableError(
            f"data/catalog/splits.csv: no split for {len(without)} frames of data/patches/index.csv, first: "
            f"{without[0]}; run `dvc repro` so that both come from one catalog"
        )
    label_of = dict(zip(reference["patch_id"], reference["label"], strict=True))
    split_of = dict(zip(splits["frame_id"], splits["split"], strict=True))
    gold = [_class_index(label_of.get(name, ""), name) for name in index["patch_id"]]
    return PatchSet(
        patch_ids=index["patch_id"].to_numpy(dtype=object),
        frame_ids=index["frame_id"].to_numpy(dtype=object),
        gold=np.asarray(gold, dtype=np.int64),
        split=np.asarray([split_of[name] for name in index["frame_id"]], dtype=object),
    )


def open_images(path: Path, n_patches: int, input_px: tuple[int, int] | None = None) -> npt.NDArray[np.uint8]:
    """Map `patches.npy` for reading, checked against its index and the network.

    Args:
        path: The packed store.
        n_patches: Rows of its index.
        input_px: Height and width that the network was trained on; None where it is yet to be.

    Returns:
        (N, H, W, 3) uint8, read from disk as it is used.

    Raises:
        TableError: If the file is missing, of another form, or not as long as its index.
        ModelError: If its patches have another edge than those the network was trained on.
    """
    images = open_patches(path)
    if len(images) != n_patches:
        raise TableError(
            f"{path}: {len(images)} patches, but its index.csv has {n_patches} rows; run `dvc repro extract`"
        )
    if input_px is not None and images.shape[1:3] != input_px:
        raise ModelError(
            f"{path}: patches are {images.shape[1:3]} px, the network was trained on {input_px} px; train again"
        )
    return images


def _class_index(label: str, patch_id: str) -> int:
    if label and label not in CLASS_INDEX:
        raise TableError(
            f"data/patches/labels.csv: label {label!r} of patch {patch_id} is not a class; allowed: "
            f"{', '.join(CLASSES)} or empty; run `dvc repro extract`"
        )
    return CLASS_INDEX[label] if label else UNLABELLED


BLUR_RADIUS_PX: Final = 2
BLUR_SIGMA_PX: Final = (0.5, 1.5)


@dataclass(frozen=True)
class Augmentation:
    """How much to change.

    Args:
        flip: Chance of each of the two mirrorings, 0 to 1.
        red_shift: Largest shift of the red channel, share of full scale, 0 to 1.
        contrast: Largest relative change of the distance to the patch mean, 0 to 1.
        brightness: Largest relative change of all channels, 0 to 1.
        blur: Chance of a Gaussian blur with sigma 0.5 to 1.5 px, 0 to 1.
    """

    flip: float
    red_shift: float
    contrast: float
    brightness: float
    blur: float


def augmentation(params: TrainParams) -> Augmentation:
    """Return the changes that section `train` asks for."""
    return Augmentation(params.flip, params.red_shift, params.contrast, params.brightness, params.blur)


def augment(images: Tensor, settings: Augmentation, generator: torch.Generator) -> Tensor:
    """Return changed copies of `images`.

    Args:
        images: (N, 3, H, W) float, RGB, 0 to 1; H and W above 2 px.
        settings: How much.
        generator: CPU random stream: the same on every device. A batch of N takes the same number of draws whatever
            the settings.

    Returns:
        (N, 3, H, W) float, 0 to 1.
    """
    # One row of seven uniform numbers per patch.
    draws = torch.rand((7, len(images)), generator=generator).to(images.device)
    sides, ups, red, contrast, brightness, blurred, sigma = draws
    images = _flip(images, sides < settings.flip, axis=3)
    images = _flip(images, ups < settings.flip, axis=2)
    images = _colour(
        images,
        red=settings.red_shift * (2 * red - 1),
        contrast=1 + settings.contrast * (2 * contrast - 1),
        brightness=1 + settings.brightness * (2 * brightness - 1),
    )
    chosen = torch.nonzero(blurred < settings.blur).squeeze(1)
    if len(chosen):
        low, high = BLUR_SIGMA_PX
        images[chosen] = gaussian_blur(images[chosen], low + (high - low) * sigma[chosen])
    return images


def gaussian_blur(images: Tensor, sigma_px: Tensor) -> Tensor:
    """Blur each image with its own Gaussian, cut off at 2 px, mirrored at the border.

    Args:
        images: (N, 3, H, W) float.
        sigma_px: (N,) above 0.

    Returns:
        (N, 3, H, W) float.
    """
    offsets = torch.arange(-BLUR_RADIUS_PX, BLUR_RADIUS_PX + 1, device=images.device)
    kernel = torch.exp(-0.5 * (offsets[None, :] / sigma_px[:, None]) ** 2)
    kernel = kernel / kernel.sum(dim=1, keepdim=True)
    radius, (height, width) = BLUR_RADIUS_PX, images.shape[2:]
    padded = functional.pad(images, (radius, radius, radius, radius), mode="reflect")
    taps = kernel[:, :, None, None, None].unbind(1)
    rows = sum((tap * padded[:, :, i : i + height] for i, tap in enumerate(taps)), start=torch.zeros(()))
    return sum((tap * rows[:, :, :, i : i + width] for i, tap in enumerate(taps)), start=torch.zeros(()))


def _flip(images: Tensor, chosen: Tensor, axis: int) -> Tensor:
    return torch.where(chosen[:, None, None, None], images.flip(axis), images)


def _colour(images: Tensor, red: Tensor, contrast: Tensor, brightness: Tensor) -> Tensor:
    """Shift red, then stretch about the patch mean and scale: one pass as x * gain + offset per patch and channel."""
    shift = torch.stack([red, torch.zeros_like(red), torch.zeros_like(red)], dim=1)
    mean = images.mean(dim=(1, 2, 3)) + red / 3
    gain = contrast * brightness
    offset = shift * gain[:, None] + ((1 - contrast) * brightness * mean)[:, None]
    return torch.addcmul(offset[:, :, None, None], images, gain[:, None, None, None]).clamp_(0, 1)


def epoch_generator(seed: int, epoch: int) -> torch.Generator:
    """Return the random stream of one epoch: another for each epoch, the same for the same seed."""
    state = np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state[0]))


def class_counts(labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many of `labels` (class indices) each class has, (3,) int64."""
    return np.bincount(labels, minlength=len(CLASSES)).astype(np.int64)


def draw_order(labels: npt.NDArray[np.int64], sampler: str, generator: torch.Generator) -> Tensor:
    """Return the positions of one epoch, as many as there are labels.

    Args:
        labels: (N,) class indices, every class present.
        sampler: `none`: each once, shuffled; `balanced`: drawn with replacement, every class equally likely.
        generator: Random stream.

    Returns:
        (N,) int64 positions in `labels`.
    """
    if sampler == "none":
        return torch.randperm(len(labels), generator=generator)
    weights = torch.from_numpy(1.0 / class_counts(labels)[labels])
    return torch.multinomial(weights, len(labels), replacement=True, generator=generator)


def split_batches(order: Tensor, batch_size: int) -> list[Tensor]:
    """Cut `order` into batches of nearly equal length, at most `batch_size`.

    A last batch of one patch would have no batch statistics, so three patches at `batch_size` 2 stay together.
    """
    return list(order.tensor_split(n_batches(len(order), batch_size)))


def n_batches(total: int, batch_size: int) -> int:
    """Return how many batches `split_batches` makes of `total` patches."""
    return max(1, min(math.ceil(total / batch_size), total // 2))


def feature_batches(
    features: Tensor, gold: npt.NDArray[np.int64], params: TrainParams, epoch: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the batches of one epoch, other patches in other versions for each head."""
    drawn = [epoch_generator(params.seed + head, len(features) + epoch) for head in range(params.heads)]
    order = torch.stack([draw_order(gold, params.sampler, generator) for generator in drawn])
    version = torch.stack([torch.randint(len(features), (len(gold),), generator=generator) for generator in drawn])
    labels = torch.from_numpy(gold)
    for part in split_batches(torch.arange(len(gold)), params.batch_size):
        chosen = order[:, part]
        yield features[version[:, part], chosen], labels[chosen].to(features.device)
