from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from reseed.artifacts.catalog import FRAME_LABELS
from reseed.artifacts.patches import PATCH_INDEX
from reseed.artifacts.predictions import BASELINE_PREDICTIONS, CONDITIONS
from reseed.base.errors import ReseedError, TableError
from reseed.network.baselines import WholeFrames, colour_answers, constant_answers, image_answers, whole_frames
from reseed.network.patch_set import PatchSet
from reseed.params.train import TrainParams
from stages import baselines
from tests.unit.network.conftest import draw_patches


def patch_set(gold: list[int], split: list[str]) -> PatchSet:
    ids = np.array([f"f{index // 2}#{index}" for index in range(len(gold))], object)
    frames = np.array([f"f{index // 2}" for index in range(len(gold))], object)
    return PatchSet(ids, frames, np.array(gold), np.array(split, object))


def answered(rows: list[dict[str, object]], baseline: str, kind: str) -> dict[object, object]:
    return {row["item"]: row["predicted"] for row in rows if row["baseline"] == baseline and row["kind"] == kind}


def test_constants_come_from_the_training_split_alone() -> None:
    # train: Coral twice, unlabelled, Deploy; val is all Deploy and must not count.
    patches = patch_set([1, 1, -1, 2, 2, 2, 2, 0], ["train"] * 4 + ["val"] * 2 + ["test"] * 2)
    rows = constant_answers(patches, {"f0": "Deploy", "f1": "Deploy", "f2": "No-Deploy", "f3": "No-Deploy"})
    assert answered(rows, "largest_class", "patch") == dict.fromkeys(["f2#4", "f2#5", "f3#6", "f3#7"], "Coral")
    assert answered(rows, "largest_class", "frame") == {"f2": "Deploy", "f3": "Deploy"}
    assert set(answered(rows, "no_deploy", "patch").values()) == {"No-Deploy"}
    assert set(answered(rows, "no_deploy", "frame").values()) == {"No-Deploy"}


def test_colour_learns_what_colour_can_tell() -> None:
    rng = np.random.default_rng(0)
    gold = np.tile(np.arange(3), 40)
    colour = np.array([[60, 90, 90], [120, 90, 90], [90, 90, 160]])[gold] + rng.normal(0, 5, (120, 3))
    split = np.where(np.arange(120) < 90, "train", "test").astype(object)
    rows = colour_answers(patch_set(gold.tolist(), list(split)), colour)
    assert len(rows) == 30
    names = np.array(["No-Deploy", "Coral", "Deploy"])[gold[90:]]
    assert np.mean([row["predicted"] for row in rows] == names) > 0.95
    assert {row["kind"] for row in rows} == {"patch"}
    z = (colour - colour[:90].mean(axis=0)) / colour[:90].std(axis=0)
    theirs = LogisticRegression(class_weight="balanced", max_iter=1000).fit(z[:90], gold[:90]).predict(z[90:])
    assert [row["predicted"] for row in rows] == np.array(["No-Deploy", "Coral", "Deploy"])[theirs].tolist()


def test_colour_needs_two_classes() -> None:
    assert colour_answers(patch_set([1, 1, 0, 2], ["train", "train", "test", "test"]), np.zeros((4, 3))) == []


def index_of(frames: dict[str, tuple[int, int]]) -> pd.DataFrame:
    rows = []
    for frame, (height, width) in frames.items():
        for cell in range(height * width):
            row, col = divmod(cell, width)
            place = {"row": row, "col": col, "x0": col, "y0": row, "x1": col + 1, "y1": row + 1}
            rows.append({"patch_id": f"{frame}#r{row:03d}c{col:03d}", "frame_id": frame, **place})
    return PATCH_INDEX.frame(rows)


def test_a_frame_is_put_together_as_it_was_cut() -> None:
    patches = np.stack([np.full((32, 32, 3), value, np.uint8) for value in (10, 20, 30, 40, 50, 60)])
    found = whole_frames(patches, index_of({"a": (2, 3)}), 96)
    assert found.frame_ids == ("a",)
    assert found.images.shape == (1, 64, 96, 3)
    assert found.images[0, ::32, ::32, 0].tolist() == [[10, 20, 30], [40, 50, 60]]


def test_patches_around_points_are_no_frame() -> None:
    index = index_of({"a": (1, 2)})
    index.loc[:, "row"] = -1
    with pytest.raises(TableError, match="a is not cut into a full grid"):
        whole_frames(np.zeros((2, 32, 32, 3), np.uint8), index, 64)


def test_the_image_route_answers_every_frame_of_val_and_test(train_params: Callable[..., TrainParams]) -> None:
    kinds = np.array([0, 2] * 9)
    names = [f"f{index:02d}" for index in range(18)]
    frames = WholeFrames(tuple(names), draw_patches(kinds, 32, seed=3))
    split = dict(zip(names, ["train"] * 10 + ["val"] * 4 + ["test"] * 4, strict=True))
    labels = {name: "Deploy" if kind else "No-Deploy" for name, kind in zip(names, kinds, strict=True)}
    del labels["f17"]
    for weighting in ({"class_weights": "inverse", "sampler": "none"}, {}):
        rows = image_answers(frames, split, labels, train_params(epochs=1, **weighting), {})
        assert [row["item"] for row in rows] == names[10:]
        assert {row["predicted"] for row in rows} <= {"Deploy", "No-Deploy"}
    with pytest.raises(ReseedError, match=r"baselines\.image is true, but the training frames do not have both"):
        image_answers(frames, split, dict.fromkeys(names, "Deploy"), train_params(epochs=1), {})


def test_the_stage_writes_both_tables(workspace: Path) -> None:
    frames = [f"demo/s{index}/é {index}.jpg" for index in range(8)]
    rows = [
        {"frame_id": name, "annotator": "A", "label": "Deploy" if i == 3 else "No-Deploy", "gold": 1}
        for i, name in enumerate(frames)
    ]
    FRAME_LABELS.write(FRAME_LABELS.frame(rows), workspace / "data/catalog/frame_labels.csv")
    with (workspace / "params.yaml").open("a") as file:
        file.write("baselines: {image: false, frame_px: 64}\n")
    baselines.main([])
    path = workspace / "data/predictions/baselines.csv"
    once = path.read_bytes()
    table = BASELINE_PREDICTIONS.read(path)
    # val: 2 frames, test: 1, of 10 patches each, unlabelled ones too
    assert table.groupby(["baseline", "kind"]).size().to_dict() == {
        ("largest_class", "frame"): 3,
        ("largest_class", "patch"): 30,
        ("mean_colour", "patch"): 30,
        ("no_deploy", "frame"): 3,
        ("no_deploy", "patch"): 30,
    }
    assert len(CONDITIONS.read(workspace / "data/predictions/conditions.csv")) == 8
    baselines.main([])
    assert path.read_bytes() == once
