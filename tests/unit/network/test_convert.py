import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torchvision import models

from reseed.base.errors import ModelError
from reseed.network.model import HEAD_WIDTH, LAST_LAYER, Network, digest_file, feature_width, network_logits
from reseed.network.pretrained import class_order, convert, match_backbone, read_checkpoint
from reseed.network.training import curve_rows, train_metrics
from reseed.params.train import TrainParams
from stages import predict, pretrained, train
from tests.unit.network.conftest import Reef
from tests.unit.network.lively import PATCHES, lively, research_state, save_research

CPU = torch.device("cpu")
ORDER = ("No-Deploy", "Coral", "Deploy")


def theirs(backbone: str, state: dict[str, Tensor]) -> Tensor:
    """Logits of the torchvision network with the research head, by torchvision's own code."""
    network = models.get_model(backbone, weights=None)
    head = nn.Sequential(
        nn.Linear(feature_width(backbone), HEAD_WIDTH), nn.ReLU(), nn.Dropout(), nn.Linear(HEAD_WIDTH, 3)
    )
    network.set_submodule(LAST_LAYER[backbone], head)
    network.load_state_dict(state)
    images = torch.from_numpy(PATCHES).permute(0, 3, 1, 2).float() / 255
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    with torch.inference_mode():
        found: Tensor = network.eval()((images - mean.view(3, 1, 1)) / std.view(3, 1, 1))
    return found


@pytest.mark.parametrize("backbone", ["mobilenet_v3_small", "resnet18", "efficientnet_b0"])
def test_a_checkpoint_answers_as_in_the_code_it_comes_from(tmp_path: Path, backbone: str) -> None:
    state = research_state(backbone)
    checkpoint = read_checkpoint(save_research(tmp_path / "reef.pth", state), backbone, ORDER, "--arch")
    found = network_logits(checkpoint.network, PATCHES, 60, CPU)
    np.testing.assert_allclose(found, theirs(backbone, state).numpy(), atol=2e-4)
    assert not checkpoint.network.training
    assert checkpoint.record.file == "reef.pth"
    assert checkpoint.record.sha256 == digest_file(tmp_path / "reef.pth")


def test_names_are_those_of_the_issue(tmp_path: Path) -> None:
    state = research_state()
    assert {name for name in state if name.startswith("classifier.3")} == {
        f"classifier.3.{layer}.{kind}" for layer in (0, 3) for kind in ("weight", "bias")
    }
    network = read_checkpoint(save_research(tmp_path / "x.pt", state), "mobilenet_v3_small", ORDER, "--arch").network
    assert torch.equal(network.state_dict()["head.3.weight"], state["classifier.3.3.weight"])
    assert torch.equal(network.state_dict()["backbone.classifier.0.bias"], state["classifier.0.bias"])


def under(prefix: str) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    return lambda state: {f"{prefix}{name}": value for name, value in state.items()}


WRAPPED: dict[str, Callable[[dict[str, Tensor]], dict[str, Tensor]]] = {
    **{prefix: under(prefix) for prefix in ("module.", "_orig_mod.", "model.", "net.", "backbone.", "a.b.c.")},
    **{
        prefix: under(prefix)
        for prefix in (
            "module._orig_mod.",
            "_orig_mod.module.",
            "model._orig_mod.module.",
            "net.model.",
            "module.module.",
        )
    },
    "averaged": lambda state: {"n_averaged": torch.tensor(3)} | under("module.")(state),
    "only the features in parallel": lambda state: {
        name.replace("features.", "features.module.").replace("layer", "layer."): value for name, value in state.items()
    },
    "a layer compiled": lambda state: {
        name.replace("classifier.3", "classifier.3._orig_mod"): value for name, value in state.items()
    },
}


@pytest.mark.parametrize("case", WRAPPED)
def test_the_same_network_under_a_prefix_is_the_same_network(tmp_path: Path, case: str) -> None:
    plain = read_checkpoint(save_research(tmp_path / "a.pt"), "mobilenet_v3_small", ORDER, "--arch").network
    path = save_research(tmp_path / "b.pt", WRAPPED[case](research_state()))
    found = read_checkpoint(path, "mobilenet_v3_small", ORDER, "--arch").network
    for name, value in plain.state_dict().items():
        assert torch.equal(found.state_dict()[name], value), name


@pytest.mark.parametrize("prefix", ["module.", "backbone.", "model.module."])
def test_weights_to_start_from_may_have_a_prefix_too(prefix: str) -> None:
    state = models.get_model("resnet18", weights=None).state_dict()
    assert list(match_backbone(under(prefix)(state), "resnet18", "x.pth")) == list(
        match_backbone(state, "resnet18", "x.pth")
    )


def test_two_networks_in_one_file_are_not_mixed(tmp_path: Path) -> None:
    state = research_state()
    path = save_research(tmp_path / "two.pt", state | under("module.")(state))
    with pytest.raises(ModelError, match=r"brings \d+ unknown ones \(module\."):
        read_checkpoint(path, "mobilenet_v3_small", ORDER, "--arch")


def test_another_order_of_classes_is_put_right(tmp_path: Path) -> None:
    plain = read_checkpoint(save_research(tmp_path / "a.pt"), "mobilenet_v3_small", ORDER, "--arch")
    turned = save_research(tmp_path / "b.pt", research_state(order=(2, 0, 1)))
    found = read_checkpoint(turned, "mobilenet_v3_small", ("deploy", "no_deploy", " CORAL"), "--arch")
    assert found.record.classes == ("Deploy", "No-Deploy", "Coral")
    for name, value in plain.network.state_dict().items():
        assert torch.equal(found.network.state_dict()[name], value), name


@pytest.mark.parametrize(
    "names", [("Coral", "Deploy"), ("Coral", "Coral", "Deploy"), ("Coral", "Deploy", "Sand"), (*ORDER, "Coral"), ()]
)
def test_classes_must_be_the_three(names: tuple[str, ...]) -> None:
    with pytest.raises(
        ModelError, match=r"classes of the checkpoint: got .*; allowed: No-Deploy, Coral, Deploy, each once"
    ):
        class_order(names)


def without_head(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value for name, value in state.items() if not name.startswith("classifier.3")}


def imagenet_head(state: dict[str, Tensor]) -> dict[str, Tensor]:
    head = {"classifier.3.weight": torch.zeros(1000, 1024), "classifier.3.bias": torch.zeros(1000)}
    return without_head(state) | head


def four_classes(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return state | {"classifier.3.3.weight": torch.zeros(4, 512), "classifier.3.3.bias": torch.zeros(4)}


def narrow(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return state | {"classifier.3.0.weight": torch.zeros(256, 1024), "classifier.3.0.bias": torch.zeros(256)}


def nan_in(name: str) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    def change(state: dict[str, Tensor]) -> dict[str, Tensor]:
        state[name].view(-1)[0] = float("nan")
        return state

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            without_head,
            r"its head is none; needed: classifier\.3 = Sequential\(Linear\(1024, 512\), ReLU, Dropout, Linear\(",
        ),
        (imagenet_head, r"its head is classifier\.3\.weight \(1000, 1024\), .*needed: .*Linear\(512, 3\)\)"),
        (four_classes, r"its head is .*classifier\.3\.3\.weight \(4, 512\).*; needed"),
        (narrow, r"its head is classifier\.3\.0\.weight \(256, 1024\).*; needed"),
        (nan_in("classifier.3.3.bias"), r"x\.pt: classifier\.3\.3\.bias holds values that are not finite"),
        (nan_in("features.0.1.running_var"), r"x\.pt: features\.0\.1\.running_var holds values that are not finite"),
        (
            lambda state: {"loss.weight": torch.ones(3)} | {f"model.{name}": value for name, value in state.items()},
            r"another architecture than --arch .*; tensors stand under the prefix model: save those alone",
        ),
        (
            lambda state: state | {"features.0.0.weight": torch.zeros(16, 1, 3, 3)},
            r"\(16, 1, 3, 3\), --arch mobilenet_v3",
        ),
        (
            lambda state: {"state_dict": state, "epoch": 3},
            r"holds keys state_dict, epoch; needed: a state_dict, tensors by",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit(
    tmp_path: Path, change: Callable[[dict[str, Tensor]], Any], message: str
) -> None:
    path = save_research(tmp_path / "x.pt", change(research_state()))
    with pytest.raises(ModelError, match=message):
        read_checkpoint(path, "mobilenet_v3_small", ORDER, "--arch")


def test_another_architecture(tmp_path: Path) -> None:
    path = save_research(tmp_path / "x.pt")
    with pytest.raises(ModelError, match=r"x\.pt: weights of another architecture than --arch resnet18: it lacks"):
        read_checkpoint(path, "resnet18", ORDER, "--arch")


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("pwned"),)


@pytest.mark.parametrize("kind", ["whole", "evil", "truncated", "text", "empty"])
def test_nothing_but_tensors_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x.pt"
    if kind == "whole":
        torch.save(lively("mobilenet_v3_small"), path)
    elif kind == "evil":
        torch.save({"a": Evil()}, path)
    else:
        data = save_research(path).read_bytes()
        path.write_bytes({"truncated": data[: len(data) // 2], "text": b"hello", "empty": b""}[kind])
    with pytest.raises(ModelError, match=r"x\.pt: not readable as plain weights .*not a whole model"):
        read_checkpoint(path, "mobilenet_v3_small", ORDER, "--arch")
    assert not Path("pwned").exists()


def test_a_checkpoint_of_half_precision_and_without_counters(tmp_path: Path) -> None:
    state = research_state()
    old = {name: value.half() for name, value in state.items() if not name.endswith("num_batches_tracked")}
    network = read_checkpoint(save_research(tmp_path / "x.pt", old), "mobilenet_v3_small", ORDER, "--arch").network
    assert {value.dtype for value in network.state_dict().values()} == {torch.float32, torch.int64}


def test_scores_of_a_network_that_was_taken_over(
    tmp_path: Path, reef: Reef, train_params: Callable[..., TrainParams], monkeypatch: pytest.MonkeyPatch
) -> None:
    save_research(tmp_path / "x.pt")
    monkeypatch.setenv("MODELS", str(tmp_path))
    params = train_params(checkpoint="$MODELS/x.pt")
    result = convert(reef.images, reef.labels, reef.train_rows, reef.val_rows, params)
    assert (result.history, result.best.epoch) == ((), 0)
    assert curve_rows(result.history) == []
    metrics = train_metrics(result)
    assert (metrics["best_epoch"], metrics["epochs"], metrics["train"]["loss"]) == (0, 0, "n/a")
    right = (
        network_logits(result.network, reef.images[reef.val_rows], 48, CPU).argmax(axis=1) == reef.labels[reef.val_rows]
    )
    assert metrics["val"]["accuracy"] == round(100 * right.mean(), 4)
    none = convert(reef.images, reef.labels, reef.train_rows, reef.val_rows[:0], params)
    assert train_metrics(none)["val"] == {"macro_f1": "n/a", "accuracy": "n/a", "loss": "n/a", "n": 0}


def test_stage_train_converts_and_the_rest_follows(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = workspace.parent / f"{workspace.name}-elsewhere"
    outside.mkdir()
    file = save_research(outside / "reef.pth")
    params = workspace / "params.yaml"
    params.write_text(params.read_text().replace("checkpoint: none", f"checkpoint: ../{outside.name}/reef.pth"))
    # In a queued experiment, a relative path starts at the repository and not at the temporary folder.
    monkeypatch.setenv("DVC_ROOT", str(workspace))
    for stage in (pretrained, train, predict):
        stage.main([])
    card = json.loads((workspace / "models/model.json").read_text())
    assert card["converted"] == {"file": "reef.pth", "sha256": digest_file(file), "classes": list(ORDER)}
    assert card["best_epoch"] == 0
    assert (workspace / "models/training.csv").read_text() == "epoch,lr,train_loss,val_loss,val_macro_f1,val_accuracy\n"
    state, kept = torch.load(workspace / "models/model.pt"), research_state()
    assert torch.equal(state["head.0.weight"], kept["classifier.3.0.weight"])
    params.write_text(params.read_text().replace("reef.pth", "gone.pth"))
    with pytest.raises(ModelError, match=r"gone\.pth: no such weights file; name the state_dict file"):
        train.main([])


def test_a_model_of_ours_under_the_names_of_research_code_gives_the_same_predictions(workspace: Path) -> None:
    for stage in (pretrained, train, predict):
        stage.main([])
    predictions = workspace / "data/predictions/patches.csv"
    first = predictions.read_bytes()
    state = torch.load(workspace / "models/model.pt", weights_only=True)
    names = {name: name.removeprefix("backbone.").replace("head.", "classifier.3.") for name in state}
    save_research(workspace / "x.pt", {names[name]: value for name, value in state.items()})
    params = workspace / "params.yaml"
    params.write_text(params.read_text().replace("checkpoint: none", "checkpoint: x.pt"))
    train.main([])
    predict.main([])
    assert predictions.read_bytes() == first


def test_a_reseed_model_is_no_research_checkpoint(tmp_path: Path) -> None:
    path = save_research(tmp_path / "model.pt", Network("mobilenet_v3_small").state_dict())
    with pytest.raises(ModelError, match="another architecture than --arch mobilenet_v3_small"):
        read_checkpoint(path, "mobilenet_v3_small", ORDER, "--arch")
