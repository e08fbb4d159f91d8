"""The packed patches with their reference labels and splits, as arrays in the order of the pack."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from reseed.base.classes import CLASS_INDEX, CLASSES
from reseed.base.errors import ModelError, TableError
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
