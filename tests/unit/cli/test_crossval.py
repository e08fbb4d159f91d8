"""`python -m reseed crossval`, on patches of coloured noise; the network is real in one test only."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from ruamel.yaml import YAML
from sklearn.metrics import f1_score

from reseed.artifacts.catalog import ANNOTATIONS, FRAME_LABELS, FRAMES
from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS
from reseed.artifacts.predictions import PATCH_PREDICTIONS
from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.base.classes import CLASSES
from reseed.base.files import write_bytes, write_json
from reseed.base.probabilities import softmax
from reseed.cli.main import main
from reseed.compare import crossval
from reseed.engines.predictions import Answers, uncalibrated
from reseed.network.epochs import EpochScore
from reseed.network.model import Network, state_bytes
from reseed.network.training import FitResult, Trained
from tests.unit.audit.history import blank
from tests.unit.network.conftest import TRAIN_VALUES, draw_patches

SITES, FRAMES_EACH, PATCHES_EACH = 6, 2, 6
N = SITES * FRAMES_EACH * PATCHES_EACH
GOLD = np.arange(N) % 3


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """6 sites of 2 frames of 6 patches, 2 of each class; the last patch has no label, nor has the first frame."""
    frames, index, labels, frame_labels, annotations = [], [], [], [], []
    for row in range(N):
        number = row // PATCHES_EACH
        site, place = f"s{number // FRAMES_EACH}", {"row": 0, "col": row % PATCHES_EACH}
        frame = f"reef/{site}/f{number}.jpg"
        x = 8 * (row % PATCHES_EACH)
        box = {"x0": x, "y0": 0, "x1": x + 8, "y1": 8}
        patch = f"{frame}#r000c{row % PATCHES_EACH:03d}"
        label = CLASSES[GOLD[row]]
        index.append({"patch_id": patch, "frame_id": frame} | place | box)
        labels.append(
            {"patch_id": patch, "annotator": "A", "label": "" if row == N - 1 else label, "purity": 1, "gold": 1}
        )
        annotations.append(blank(ANNOTATIONS) | {"frame_id": frame, "annotator": "A", "label": label, "gold": 1} | box)
        if row % PATCHES_EACH == 0:
            frames.append(blank(FRAMES) | {"frame_id": frame, "site": site, "sequence": f"{site}/q", "synthetic": 1})
            if number:
                said = "Deploy" if number % 2 else "No-Deploy"
                frame_labels.append({"frame_id": frame, "annotator": "A", "label": said, "gold": 1})
    FRAMES.write(FRAMES.frame(frames), tmp_path / "data/catalog/frames.csv")
    ANNOTATIONS.write(ANNOTATIONS.frame(annotations), tmp_path / "data/catalog/annotations.csv")
    FRAME_LABELS.write(FRAME_LABELS.frame(frame_labels), tmp_path / "data/catalog/frame_labels.csv")
    PATCH_INDEX.write(PATCH_INDEX.frame(index), tmp_path / "data/patches/index.csv")
    PATCH_LABELS.write(PATCH_LABELS.frame(labels), tmp_path / "data/patches/labels.csv")
    np.save(tmp_path / "data/patches/patches.npy", draw_patches(GOLD, 32, seed=1))
    geometry = {"patch_size_px": 8, "input_size_px": 32, "resize": "a rule", "decode": "another rule"}
    write_json(tmp_path / "data/patches/geometry.json", geometry)
    write_bytes(tmp_path / "data/pretrained/weights.pt", state_bytes({}))
    monkeypatch.chdir(tmp_path)
    write_params()
    return tmp_path


def write_params(**changes: Any) -> None:
    values = YAML(typ="safe", pure=True).load(Path(__file__).parents[3] / "params/tiny.yaml")
    values["train"] = TRAIN_VALUES | {"epochs": 1, "repeats": 1}
    for section, keys in changes.items():
        values[section] |= keys
    with Path("params.yaml").open("w") as file:
        YAML(typ="safe", pure=True).dump(values, file)


@pytest.fixture
def stubbed(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[set[int], set[int]]]:
    """Return the sites of training and validation of each fit; networks are right but for site s1: No-Deploy there."""
    seen: list[tuple[set[int], set[int]]] = []
    per_site = FRAMES_EACH * PATCHES_EACH

    def train(images: object, labels: object, train: Any, val: Any, *_: object, keep: Path) -> Trained:
        del images, labels, keep
        seen.append(({int(row) // per_site for row in train}, {int(row) // per_site for row in val}))
        best = EpochScore(3, 0.1, 0.5, 0.5, 0.5, 0.5)
        network = Network("mobilenet_v3_small")
        return Trained(FitResult(network, torch.device("cpu"), (best,), best, np.ones(3), np.ones(3)), None)

    def predict(*_: object) -> Answers:
        rows = np.arange(N)
        probabilities = softmax(50 * np.eye(3)[np.where(rows // per_site == 1, 0, GOLD)])
        return Answers(probabilities, uncalibrated(), None)  # type: ignore[arg-type]  # nobody asks for the engine

    monkeypatch.setattr(crossval, "train_network", train)
    monkeypatch.setattr(crossval, "predict_all", predict)
    return seen


def test_the_held_out_site_is_neither_learnt_from_nor_chosen_by(
    stubbed: list[tuple[set[int], set[int]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["crossval", "--json"]) == 0
    assert len(stubbed) == SITES
    for held_out, (train, val) in enumerate(stubbed):
        assert train | val == set(range(SITES)) - {held_out}
        assert not train & val
        assert len(val) == 1  # a quarter of five sites
    capsys.readouterr()


def test_scores_by_hand(stubbed: list[object], workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crossval", "--json", "--resamples", "500"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["group"], found["synthetic"], len(found["folds"])) == ("site", True, SITES)
    by_site = {fold["group"]: fold for fold in found["folds"]}
    assert by_site["s0"]["patch_macro_f1"] == 100.0
    # s1: 12 patches, 4 of each class, all said No-Deploy: F1 2 * 4 / (12 + 4) = 1/2, 0, 0
    assert by_site["s1"]["patch_macro_f1"] == 16.6667
    assert by_site["s1"]["patch_accuracy"] == 33.3333
    assert by_site["s5"]["n_patches"] == 11  # the last patch has no label
    assert by_site["s0"]["n_frames"] == 1  # the first frame has none
    # Pooled: 71 patches, 8 of s1 wrong.
    assert found["patch"]["accuracy"] == round(100 * 63 / 71, 4)
    assert found["patch"]["n"] == 71
    assert found["patch"]["intervals"]["accuracy"]["clusters"] == SITES
    assert found["patch"]["intervals"]["accuracy"]["low"] < 63 / 0.71
    assert found["spread"]["patch_macro_f1"]["lowest_group"] == "s1"
    assert found["spread"]["patch_macro_f1"]["mean"] == pytest.approx((500 + 16.6667) / 6, abs=1e-3)
    out = workspace / "runs/crossval-site"
    assert sorted(path.name for path in out.iterdir()) == [
        "crossval.csv",
        "crossval.json",
        "crossval.png",
        "predictions.csv",
    ]
    predictions = PATCH_PREDICTIONS.read(out / "predictions.csv")
    assert len(predictions) == N
    assert set(predictions["split"]) == {"test"}
    labelled = predictions[predictions["gold"] != ""]
    reference = f1_score(labelled["gold"], labelled["predicted"], labels=CLASSES, average="macro")
    assert found["patch"]["macro_f1"] == round(100 * reference, 4)
    table = pd.read_csv(out / "crossval.csv").set_index("group")
    assert table.loc["s1", "patch_macro_f1"] == 16.6667
    assert json.loads((out / "crossval.json").read_text()) == found


def test_the_text_leads_with_the_worst_site(stubbed: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crossval", "--out", "elsewhere"]) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0] == lines[-1] == f"*** {SYNTHETIC_NOTICE} ***"
    assert lines[2] == "Held out in turn: 6 sites, each predicted by a network that was trained without it"
    assert lines[5].split()[:4] == ["s1", "12", "16.67", "%"]
    assert "lowest 16.67 % (s1)" in said.out
    assert "crossval: 6 trainings" in said.err
    assert Path("elsewhere/crossval.png").is_file()


def test_the_spread_over_trainings_by_hand(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds: list[int] = []
    per_site = FRAMES_EACH * PATCHES_EACH

    def train(*arguments: Any, keep: Path) -> Trained:
        del keep
        seeds.append(arguments[4].seed)
        best = EpochScore(1, 0.1, 0.5, 0.5, 0.5, 0.5)
        network = Network("mobilenet_v3_small")
        return Trained(FitResult(network, torch.device("cpu"), (best,), best, np.ones(3), np.ones(3)), None)

    def predict(*_: object) -> Answers:
        # The second training of each fold answers No-Deploy on site s1; the first is right everywhere.
        wrong = (np.arange(N) // per_site == 1) & (len(seeds) % 2 == 0)
        return Answers(softmax(50 * np.eye(3)[np.where(wrong, 0, GOLD)]), uncalibrated(), None)  # type: ignore[arg-type]

    monkeypatch.setattr(crossval, "train_network", train)
    monkeypatch.setattr(crossval, "predict_all", predict)
    write_params(train={"repeats": 2})
    assert main(["crossval", "--json", "--resamples", "500"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert f"crossval: {2 * SITES} trainings, 2 for each site held out" in said.err
    assert len(set(seeds)) == 2
    assert seeds == 6 * seeds[:2]  # every fold with the same two seeds
    s1 = found["folds"][1]
    # F1 over s1 is 100 and, as in the test above, 100 / 6: mean 58.3333, sd 83.3333 / sqrt(2)
    assert (s1["patch_macro_f1"], s1["patch_macro_f1_mean"], s1["patch_macro_f1_sd"]) == (100.0, 58.3333, 58.9256)
    assert found["folds"][0]["patch_macro_f1_sd"] == 0.0
    over = found["trainings"]
    # Accuracy over all 71 patches: 1, and 63 / 71.
    assert (over["n"], over["patch"]["accuracy"]["values"]) == (2, [100.0, round(6300 / 71, 4)])
    assert over["patch"]["accuracy"]["mean"] == round(100 * (1 + 63 / 71) / 2, 4)
    assert main(["crossval"]) == 0
    assert "(2 trainings)" in capsys.readouterr().out
    assert main(["crossval", "--json", "--repeats", "1"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert (alone["trainings"]["n"], alone["folds"][1]["patch_macro_f1_sd"]) == (1, "n/a")


def test_without_frame_labels_and_with_a_number_for_alpha(
    stubbed: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    FRAME_LABELS.write(FRAME_LABELS.frame([]), Path("data/catalog/frame_labels.csv"))
    assert main(["crossval", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["frame"]["n"], found["frame"]["accuracy"]) == (0, "n/a")
    assert found["folds"][0]["alpha"] == "n/a"
    write_params(aggregate={"alpha": 0.25})
    assert main(["crossval", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["folds"][0]["alpha"] == 0.25


def test_the_logistic_rule_is_fitted_on_the_validation_frames_of_each_fold(
    stubbed: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    write_params(aggregate={"rule": "logistic"})
    labels = FRAME_LABELS.read(Path("data/catalog/frame_labels.csv"))
    first = {"frame_id": "reef/s0/f0.jpg", "annotator": "A", "label": "No-Deploy", "gold": 1}
    labels = pd.concat([FRAME_LABELS.frame([first]), labels])
    FRAME_LABELS.write(labels, Path("data/catalog/frame_labels.csv"))
    # Every validation site has one frame of each decision, and both look the same: an even chance, so No-Deploy.
    assert main(["crossval", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["frame"]
    assert (found["n"], found["accuracy"], found["deploy_recall"]) == (12, 50.0, 0.0)
    labels["label"] = "Deploy"
    FRAME_LABELS.write(labels, Path("data/catalog/frame_labels.csv"))
    capsys.readouterr()
    assert main(["crossval"]) == 2
    assert "with s0 held out: aggregate.rule is logistic, but the labelled validation frames" in capsys.readouterr().err


def test_too_few_sites_and_a_class_that_only_one_site_has(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = PATCH_LABELS.read(Path("data/patches/labels.csv"))
    elsewhere = ~labels["patch_id"].str.contains("/s2/")
    labels.loc[elsewhere & (labels["label"] == "Deploy"), "label"] = "Coral"
    PATCH_LABELS.write(labels, Path("data/patches/labels.csv"))
    frames = FRAMES.read(Path("data/catalog/frames.csv"))
    everything = frames.copy()
    assert main(["crossval", "--group", "site"]) == 2
    assert "held out: no labelled training patch of class Deploy" in capsys.readouterr().err
    everything["site"] = "one"
    FRAMES.write(everything, Path("data/catalog/frames.csv"))
    assert main(["crossval"]) == 2
    assert "--group site: 1 group(s) (one)" in capsys.readouterr().err
    assert not Path("runs/crossval-site").exists()


def test_a_network_that_is_taken_over_learns_from_no_fold(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_params(train={"checkpoint": "reef.pth"})
    assert main(["crossval"]) == 2
    assert "train.checkpoint is set: a network that is taken over learns from no fold" in capsys.readouterr().err
    assert not Path("runs/crossval-site").exists()


def test_a_real_network_twice_gives_the_same_bytes(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frames = FRAMES.read(Path("data/catalog/frames.csv"))
    frames["site"] = [f"s{number % 3}" for number in range(len(frames))]
    FRAMES.write(frames, Path("data/catalog/frames.csv"))
    outputs = []
    for out in ("first", "second"):
        assert main(["crossval", "--out", out]) == 0
        outputs.append({path.name: path.read_bytes() for path in Path(out).iterdir()})
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) == 4
    assert "Intervals: n/a, 3 clusters" in capsys.readouterr().out
