import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS, SPLITS_TABLE
from reseed.base.errors import ModelError, ReseedError, TableError
from reseed.network.patch_set import join_patches, open_images

INDEX = PATCH_INDEX.frame(
    [
        {"patch_id": name, "frame_id": name[0], "row": 0, "col": 0, "x0": 0, "y0": 0, "x1": 9, "y1": 9}
        for name in ("b#2", "b#1", "a#1", "c#1", "a#2")
    ]
)
SPLITS = SPLITS_TABLE.frame(
    [{"frame_id": f, "group": f, "split": split} for f, split in (("a", "train"), ("b", "val"), ("c", "train"))]
)


def label(patch_id: str, name: str, annotator: str = "A", gold: int = 1) -> dict[str, object]:
    return {"patch_id": patch_id, "annotator": annotator, "label": name, "purity": 1.0, "kind": "grid", "gold": gold}


def labels(*rows: dict[str, object]) -> pd.DataFrame:
    return PATCH_LABELS.frame(list(rows))


def test_only_the_reference_labels_count_in_the_order_of_the_pack() -> None:
    table = labels(
        label("a#1", "Deploy"), label("b#2", ""), label("b#2", "Coral", "B", 0), label("c#1", "No-Deploy"),
        label("b#1", "Coral"), label("a#2", "Deploy", "B", 0),
    )  # fmt: skip
    patches = join_patches(INDEX, table, SPLITS)
    assert patches.gold.tolist() == [-1, 1, 2, 0, -1]
    assert patches.gold_names == ["", "Coral", "Deploy", "No-Deploy", ""]
    assert patches.split.tolist() == ["val", "val", "train", "train", "train"]
    assert patches.labelled("train").tolist() == [2, 3]
    assert patches.labelled("val").tolist() == [1]
    assert patches.labelled("test").tolist() == []


@pytest.mark.parametrize(
    ("table", "splits", "message"),
    [
        (labels(label("z#1", "Coral")), SPLITS, "1 labels of patches that are not in index.csv, first: z#1"),
        (labels(label("a#1", "Coral"), label("a#1", "Deploy", "B")), SPLITS, "two reference labels, first: a#1"),
        (labels(), SPLITS[SPLITS["frame_id"] != "c"], "no split for 1 frames of data/patches/index.csv, first: c"),
        (labels(label("a#1", "coral")), SPLITS, "label 'coral' of patch a#1 is not a class"),
    ],
)
def test_tables_that_do_not_belong_together_are_errors(table: pd.DataFrame, splits: pd.DataFrame, message: str) -> None:
    with pytest.raises(TableError, match=re.escape(message)):
        join_patches(INDEX, table, splits)


def test_the_pack_is_mapped_and_not_read(tmp_path: Path) -> None:
    stored = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
    np.save(tmp_path / "patches.npy", stored)
    images = open_images(tmp_path / "patches.npy", 2, (4, 5))
    assert isinstance(images, np.memmap)
    assert not images.flags.writeable
    np.testing.assert_array_equal(images, stored)


@pytest.mark.parametrize(
    ("array", "kind", "message"),
    [
        (None, TableError, "not readable as packed patches"),
        (np.zeros((2, 4, 4, 3), np.float32), TableError, "holds float32 (2, 4, 4, 3); expected uint8 (N, H, W, 3)"),
        (np.zeros((2, 4, 4), np.uint8), TableError, "expected uint8 (N, H, W, 3)"),
        (np.zeros((3, 4, 4, 3), np.uint8), TableError, "3 patches, but its index.csv has 2 rows"),
        (np.zeros((2, 4, 5, 3), np.uint8), ModelError, "patches are (4, 5) px, the network was trained on (4, 4) px"),
        (np.array([{}], object), TableError, "not readable as packed patches"),
    ],
)
def test_another_pack_is_an_error(
    tmp_path: Path, array: np.ndarray | None, kind: type[ReseedError], message: str
) -> None:
    if array is not None:
        np.save(tmp_path / "patches.npy", array)
    with pytest.raises(kind, match=re.escape(message)):
        open_images(tmp_path / "patches.npy", 2, (4, 4))


def test_a_truncated_pack_is_an_error(tmp_path: Path) -> None:
    np.save(tmp_path / "patches.npy", np.zeros((2, 40, 40, 3), np.uint8))
    data = (tmp_path / "patches.npy").read_bytes()
    (tmp_path / "patches.npy").write_bytes(data[:-7])
    with pytest.raises(TableError, match="not readable as packed patches"):
        open_images(tmp_path / "patches.npy", 2)
