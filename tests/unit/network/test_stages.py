"""The three stages of learning, run in a folder that holds what split and extract leave."""

import importlib.util
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score

from reseed.artifacts.patches import PATCH_INDEX
from reseed.artifacts.predictions import PATCH_PREDICTIONS, REPEAT_PREDICTIONS
from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError, TableError
from reseed.base.probabilities import softmax
from reseed.engines import predictions
from reseed.engines.predictions import load_folder
from reseed.network import training
from reseed.network.model import network_logits, read_state
from stages import predict, pretrained, repeats, train

OUTPUTS = (
    "data/pretrained/weights.pt",
    "data/pretrained/weights.json",
    "models/model.pt",
    "models/model.json",
    "models/without_val.pt",
    "models/train.json",
    "models/training.csv",
    "data/predictions/engine.json",
    "data/predictions/repeats.csv",
    "data/predictions/patches.csv",
    "data/predictions/calibration.json",
)


def run_all() -> None:
    for stage in (pretrained, train, predict, repeats):
        stage.main([])


def test_stages_hand_over_and_repeat_to_the_byte(workspace: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run_all()
    first = {name: (workspace / name).read_bytes() for name in OUTPUTS}
    run_all()
    assert {name: (workspace / name).read_bytes() for name in OUTPUTS} == first
    shown = capfd.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert (
        len(lines) == 2 + 3 + 2 + 2
    )  # two epochs, the repeat with its two, then two again and the repeat that is there
    assert re.fullmatch(r"train: epoch 2 of 2: loss 0\.\d{4}, validation macro F1 \d+\.\d %, \d+\.\d s", lines[1])
    assert lines[2] == "repeats: training 2 of 2"
    # The second run trains anew, but for the repeat, which it has.
    assert lines[-1].startswith("train: is finished, stored in runs/trainings/")

    predictions = PATCH_PREDICTIONS.read(workspace / OUTPUTS[-2])
    index = PATCH_INDEX.read(workspace / "data/patches/index.csv")
    assert sorted(predictions["patch_id"]) == sorted(index["patch_id"])
    # 8 frames of 10 patches: number 7 has an empty label and number 9 none, in each.
    assert (predictions["gold"] == "").sum() == 16
    assert predictions["split"].value_counts().to_dict() == {"train": 40, "val": 20, "test": 10, "none": 10}
    probabilities = predictions[["p_no_deploy", "p_coral", "p_deploy"]].to_numpy()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=2e-6)
    assert predictions["predicted"].tolist() == [CLASSES[i] for i in probabilities.argmax(axis=1)]

    metrics = json.loads(first["models/train.json"])
    val = predictions[(predictions["split"] == "val") & (predictions["gold"] != "")]
    assert metrics["val"]["n"] == len(val) == 16
    assert metrics["train"]["n"] == 32
    assert metrics["val"]["accuracy"] == round(100 * accuracy_score(val["gold"], val["predicted"]), 4)
    macro_f1 = f1_score(val["gold"], val["predicted"], labels=CLASSES, average="macro", zero_division=0)
    assert metrics["val"]["macro_f1"] == round(100 * macro_f1, 4)
    assert first["models/training.csv"].decode().count("\n") == 1 + metrics["epochs"]


def test_calibration_is_fitted_on_validation_and_leaves_every_class_as_it_is(workspace: Path) -> None:
    run_all()
    path, record = workspace / "data/predictions/patches.csv", workspace / "data/predictions/calibration.json"
    plain = PATCH_PREDICTIONS.read(path)
    assert json.loads(record.read_text()) == {"method": "none", "temperature": 1.0}
    params = workspace / "params.yaml"
    params.write_text(params.read_text().replace("calibrate: none", "calibrate: temperature"))
    predict.main([])
    found, calibrated = json.loads(record.read_text()), PATCH_PREDICTIONS.read(path)
    assert found["validation_patches"] == 16
    assert found["validation_loss_after"] <= found["validation_loss_before"]
    assert found["temperature"] != 1.0
    columns = ["p_no_deploy", "p_coral", "p_deploy"]
    powers = plain[columns].to_numpy() ** (1 / found["temperature"])
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(calibrated[columns].to_numpy(), expected, atol=1e-3)
    assert calibrated["predicted"].tolist() == plain["predicted"].tolist()


def test_every_engine_predicts_the_same_and_is_recorded(workspace: Path) -> None:
    pretrained.main([])
    train.main([])
    params, columns = workspace / "params.yaml", ["p_no_deploy", "p_coral", "p_deploy"]
    tables = {}
    for engine in ("torch", "onnx", "openvino", "auto"):
        if engine == "openvino" and importlib.util.find_spec("openvino") is None:
            continue
        params.write_text(re.sub(r"engine: \w+", f"engine: {engine}", params.read_text()))
        predict.main([])
        tables[engine] = PATCH_PREDICTIONS.read(workspace / "data/predictions/patches.csv")
        record = json.loads((workspace / "data/predictions/engine.json").read_text())
        assert (record["engine"], record["device"]) == ("torch" if engine == "auto" else engine, "cpu")
        assert record["numerics"] == ("portable" if record["engine"] == "torch" else "native")
    for table in tables.values():
        assert table["predicted"].tolist() == tables["torch"]["predicted"].tolist()
        assert np.abs(table[columns].to_numpy() - tables["torch"][columns].to_numpy()).max() <= 1e-4
    assert tables["auto"].equals(tables["torch"])


def test_patches_of_another_extract_are_refused(workspace: Path) -> None:
    pretrained.main([])
    train.main([])
    geometry = workspace / "data/patches/geometry.json"
    geometry.write_text(geometry.read_text(encoding="utf-8").replace("200", "100"), encoding="utf-8")
    with pytest.raises(ModelError, match=r'geometry of the model is .*"patch_size_px": 200.*"patch_size_px": 100'):
        predict.main([])
    np.save(workspace / "data/patches/patches.npy", np.zeros((79, 32, 32, 3), np.uint8))
    with pytest.raises(TableError, match=r"79 patches, but its index\.csv has 80 rows"):
        train.main([])


def set_params(workspace: Path, **changes: object) -> None:
    path = workspace / "params.yaml"
    text = path.read_text()
    for key, value in changes.items():
        text, number = re.subn(rf"^  {key}: .*$", f"  {key}: {str(value).lower()}", text, count=1, flags=re.MULTILINE)
        assert number == 1, key
    path.write_text(text)


def test_another_number_of_repeats_trains_only_what_is_new(
    workspace: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_params(workspace, epochs=1, repeats=3)
    pretrained.main([])
    repeats.main([])
    path = workspace / "data/predictions/repeats.csv"
    three = REPEAT_PREDICTIONS.read(path)
    assert three.groupby("repeat").size().to_dict() == {1: 80, 2: 80}
    one, two = (three[three["repeat"] == repeat]["p_coral"].to_numpy() for repeat in (1, 2))
    assert (one != two).any(), "two seeds, one network"
    capfd.readouterr()
    set_params(workspace, repeats=4)
    repeats.main([])
    four = REPEAT_PREDICTIONS.read(path)
    lines = capfd.readouterr().err.splitlines()
    assert sum("is finished" in line for line in lines) == 2
    assert sum("epoch 1 of 1" in line for line in lines) == 1
    assert four[four["repeat"] < 3].equals(three)
    # Another repository root, as in an experiment that runs elsewhere: it finds the trainings of the first.
    monkeypatch.setenv("DVC_ROOT", str(workspace))
    monkeypatch.chdir(workspace / "data")
    for name in ("data", "params.yaml"):
        (workspace / "data" / name).symlink_to(workspace / name)
    repeats.main([])
    assert "epoch 1 of 1" not in capfd.readouterr().err
    monkeypatch.chdir(workspace)
    set_params(workspace, repeats=1)
    repeats.main([])
    assert REPEAT_PREDICTIONS.read(path).empty


def test_after_a_refit_split_val_is_predicted_by_a_network_that_never_saw_it(workspace: Path) -> None:
    recipe = {"schedule": "cosine", "epochs": 2, "lr": 0.01, "seed": 3}
    set_params(workspace, **recipe)
    run_all()
    path = workspace / "data/predictions/patches.csv"
    plain = PATCH_PREDICTIONS.read(path)
    model = (workspace / "models/model.pt").read_bytes()
    assert len(read_state(workspace / "models/without_val.pt")) == 0
    curve = (workspace / "models/training.csv").read_bytes()
    set_params(workspace, refit=True)
    run_all()
    refit = PATCH_PREDICTIONS.read(path)
    assert (workspace / "models/model.pt").read_bytes() != model
    without_val = read_state(workspace / "models/without_val.pt")
    assert sorted(without_val) == sorted(read_state(workspace / "models/model.pt"))
    assert (workspace / "models/training.csv").read_bytes() == curve, "validation scores are of the first training"
    val = plain["split"] == "val"
    assert refit[val].equals(plain[val])
    assert not refit[~val].equals(plain[~val])


def test_no_validation_patch_is_answered_by_a_network_that_learnt_from_its_frame(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits: list[tuple[object, set[int]]] = []
    answered_by: dict[int, object] = {}
    real_fit, real_run = training.fit, predictions.run_network

    def fit(images: Any, labels: Any, train_rows: Any, *others: Any, **named: Any) -> Any:
        result = real_fit(images, labels, train_rows, *others, **named)
        fits.append((result.network, set(train_rows.tolist())))
        return result

    def run_network(network: Any, *others: Any) -> Any:
        engine = real_run(network, *others)

        def logits(images: Any, batch_size: int, rows: Any = None) -> Any:
            # What is written last is the answer.
            answered_by.update(dict.fromkeys(range(80) if rows is None else rows.tolist(), network))
            return engine.logits(images, batch_size, rows)

        return SimpleNamespace(logits=logits)

    monkeypatch.setattr(training, "fit", fit)
    monkeypatch.setattr(predictions, "run_network", run_network)
    set_params(workspace, schedule="cosine", epochs=1, refit=True)
    pretrained.main([])
    repeats.main([])
    # The fixture has 10 patches a frame; frames 1 and 6 are val.
    val = (*range(10, 20), *range(60, 70))
    assert len(fits) == 2
    frames = [(network, {row // 10 for row in rows}) for network, rows in fits]
    assert any({1, 6} <= learnt for _, learnt in frames), "the final network learns from val"
    for row in val:
        learnt = next(learnt for network, learnt in frames if network is answered_by[row])
        assert row // 10 not in learnt


def test_flips_are_the_mean_over_mirror_images_and_are_recorded(workspace: Path) -> None:
    pretrained.main([])
    train.main([])
    path, columns = workspace / "data/predictions/patches.csv", ["p_no_deploy", "p_coral", "p_deploy"]
    images = np.load(workspace / "data/patches/patches.npy")
    network = load_folder(workspace / "models")[0]
    axes = [(), (2,), (1,), (1, 2)]
    logits = [network_logits(network, np.flip(images, axis), 80, torch.device("cpu")) for axis in axes]
    for flips in (1, 2, 4):
        set_params(workspace, flips=flips)
        text = (workspace / "params.yaml").read_text()
        # train.flip comes first in the file; predict.flips is another key.
        assert f"  flips: {flips}" in text
        predict.main([])
        expected = softmax(np.mean(logits[:flips], axis=0))
        np.testing.assert_allclose(PATCH_PREDICTIONS.read(path)[columns].to_numpy(), expected, atol=2e-5)
        assert json.loads((workspace / "data/predictions/engine.json").read_text())["flips"] == flips
        assert load_folder(workspace / "models")[1].flips == flips
