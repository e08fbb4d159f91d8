"""The demo of the default parameters: worth learning, and hard enough that colour alone does not do."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import f1_score
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reseed.base.classes import CLASSES
from tests.pipeline.clone import ROOT, Clone, new_clone

# One worker for all: the reef is rendered once.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    clone = new_clone(tmp_path_factory.mktemp("demo"))
    shutil.copy2(ROOT / "params.yaml", clone.root)
    clone.dvc("repro", "extract", "split")
    return clone


def read(clone: Clone, path: str) -> pd.DataFrame:
    return pd.read_csv(clone.root / path, keep_default_na=False)


def patches(clone: Clone) -> pd.DataFrame:
    """Labelled patches with split, site and the row of each in patches.npy."""
    index = read(clone, "data/patches/index.csv").reset_index(names="position")
    labels = read(clone, "data/patches/labels.csv").query("gold == 1 and label != ''")
    splits = read(clone, "data/catalog/splits.csv")
    return index.merge(labels, on="patch_id").merge(splits, on="frame_id")


def test_as_many_frames_and_patches_as_promised(demo: Clone) -> None:
    frames = read(demo, "data/catalog/frames.csv")
    assert frames["site"].nunique() == 24
    assert set(frames.groupby("site")["sequence"].nunique()) == {1}
    assert len(frames) >= 64
    assert set(zip(frames["width_px"], frames["height_px"], strict=True)) == {(1328, 760)}
    assert set(frames["synthetic"]) == {1}
    assert set(read(demo, "data/patches/index.csv").groupby("frame_id").size()) == {28}


def test_deploy_is_the_rare_class_and_both_decisions_are_there_to_be_scored(demo: Clone) -> None:
    share = (patches(demo)["label"] == "Deploy").mean()
    assert 0.10 <= share <= 0.20
    labels = read(demo, "data/catalog/frame_labels.csv").query("gold == 1")
    labels = labels.merge(read(demo, "data/catalog/splits.csv"), on="frame_id")
    counts = labels.groupby(["split", "label"]).size()
    for split in ("val", "test"):
        for decision in ("Deploy", "No-Deploy"):
            assert counts[split, decision] >= 4, counts


def test_colour_alone_reaches_40_to_70_percent_on_unseen_sites(demo: Clone) -> None:
    table = patches(demo)
    pixels = np.load(demo.root / "data/patches/patches.npy", mmap_mode="r")
    colour = np.stack([pixels[i].mean(axis=(0, 1)) for i in table["position"]])
    known = (table["split"] != "test").to_numpy()
    model = make_pipeline(
        StandardScaler(),
        LogisticRegressionCV(
            Cs=np.logspace(-2, 3, 6),
            cv=list(GroupKFold(4).split(colour[known], groups=table["group"][known])),
            class_weight="balanced",
            scoring="f1_macro",
            max_iter=1000,
            use_legacy_attributes=False,
            l1_ratios=(0,),
        ),
    )
    model.fit(colour[known], table["label"][known])
    reached = f1_score(
        table["label"][~known], model.predict(colour[~known]), labels=CLASSES, average="macro", zero_division=0
    )
    assert 0.40 <= reached <= 0.70


def test_the_survey_looks_like_a_real_one_to_the_catalog(demo: Clone) -> None:
    counts = demo.json("data/catalog/counts.json")["sources"]["demo"]
    assert counts["position_from"] == {"exif": counts["kept"]}
    assert counts["time_from"] == {"exif": counts["kept"]}
    assert counts["layout"]["photo_log_rows_without_image"] > 0
    assert Path(demo.root / "plots/contact_sheet.png").stat().st_size > 0
