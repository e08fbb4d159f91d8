"""The whole pipeline on real ReefScan frames, beside the workspace as `make repro PARAMS=...` does it."""

import os

import pandas as pd
import pytest

from reseed.base.classes import CLASSES
from reseed.score.confusion import compute_metrics
from tests.pipeline.clone import Clone, new_clone

NEEDED = ("RESEED_FIELD_DATA", "RESEED_FIELD_WEIGHTS")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.field,
    pytest.mark.xdist_group("field"),  # one worker for all: the pipeline runs once
    pytest.mark.skipif(
        not all(os.environ.get(name) for name in NEEDED),
        reason=f"real imagery and ImageNet weights are not here: set {' and '.join(NEEDED)}",
    ),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    root = tmp_path_factory.mktemp("field")
    workspace = new_clone(root)
    before = workspace.read("params.yaml")
    folder = root / "runs/field-check"
    workspace.run("sh", ".ci/profile", "params/field-check.yaml", str(folder))
    field = Clone(folder)
    field.set_params(train__repeats=1)
    field.dvc("repro", env={name: os.environ[name] for name in NEEDED} | {"DVC_ROOT": str(root)})
    assert workspace.read("params.yaml") == before
    assert workspace.git("status", "--porcelain") == ""
    return field


def read(run: Clone, path: str) -> pd.DataFrame:
    return pd.read_csv(run.root / path, keep_default_na=False)


def test_every_frame_and_patch_is_there_once_and_labelled(run: Clone) -> None:
    assert len(read(run, "data/catalog/frames.csv")) == 34
    patches = read(run, "data/predictions/patches.csv")
    assert set(patches.groupby("frame_id").size()) == {28}
    assert len(patches) == 34 * 28
    assert (patches["gold"] != "").sum() == 952
    assert run.json("data/catalog/counts.json")["total"]["quarantined"] == 0


def test_no_frame_is_in_two_splits(run: Clone) -> None:
    assert set(read(run, "data/predictions/patches.csv").groupby("frame_id")["split"].nunique()) == {1}
    assert set(read(run, "data/catalog/splits.csv")["split"]) == {"train", "val", "test", "none"}


def test_the_network_beats_the_largest_class_by_far_and_says_it_is_no_demo(run: Clone) -> None:
    metrics = run.json("metrics/metrics.json")
    patches = read(run, "data/predictions/patches.csv")
    gold = patches.loc[(patches["split"] == "test") & (patches["gold"] != ""), "gold"].tolist()
    largest = max(100 * compute_metrics([name] * len(gold), gold)["macro_f1"] for name in CLASSES)
    assert metrics["patch"]["macro_f1"] >= largest + 35
    assert not metrics["data"]["synthetic"]
    assert "SYNTHETIC" not in run.run("python", "-m", "reseed", "scores")
