import os
from pathlib import Path
from urllib.error import URLError

import pytest
import torch
from torchvision import models

from reseed.base.errors import ModelError
from reseed.network.model import LAST_LAYER, Network, digest_file, read_state, state_bytes
from reseed.network.pretrained import expand_path, find_weights, imagenet_file, load_start, match_backbone

IMAGENET_SHA256 = "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889"


def test_no_weights_are_an_empty_state() -> None:
    start = find_weights("resnet18", "none")
    assert start.state == {}
    assert start.record == {
        "backbone": "resnet18",
        "weights": "none",
        "file": None,
        "sha256": None,
        "tensors": 0,
        "torchvision": start.record["torchvision"],
    }


def test_a_file_gives_the_backbone_without_its_last_layer(weights_file: Path) -> None:
    start = find_weights("mobilenet_v3_small", str(weights_file))
    network = Network("mobilenet_v3_small")
    network.backbone.load_state_dict(start.state)  # strict: nothing missing, nothing over
    assert list(start.state) == list(network.backbone.state_dict())
    assert not [name for name in start.state if name.startswith("classifier.3")]
    original = torch.load(weights_file, weights_only=True)
    assert torch.equal(start.state["features.4.block.0.0.weight"], original["features.4.block.0.0.weight"])
    assert start.record["weights"] == "file"
    assert start.record["file"] == "small.pth"
    assert start.record["sha256"] == digest_file(weights_file)
    assert start.record["tensors"] == len(start.state)


def test_weights_of_another_architecture_name_both_sides(weights_file: Path) -> None:
    message = (
        r"small\.pth: weights of another architecture than train\.backbone resnet18: it lacks \d+ of 120 tensors "
        r"\(conv1\.weight, bn1\.weight, bn1\.bias, \.\.\. \d+ more\) and brings \d+ unknown ones \(features\.0\.0\.we"
    )
    with pytest.raises(ModelError, match=message):
        find_weights("resnet18", str(weights_file))


def test_a_tensor_of_another_shape_names_both_sides(weights_file: Path) -> None:
    state = read_state(weights_file) | {"features.0.0.weight": torch.zeros(16, 1, 3, 3)}
    with pytest.raises(ModelError, match=r"features\.0\.0\.weight is \(16, 1, 3, 3\), .* needs \(16, 3, 3, 3\)"):
        match_backbone(state, "mobilenet_v3_small", "x.pth")


def test_a_value_that_is_no_number_is_an_error(weights_file: Path) -> None:
    state = read_state(weights_file)
    state["features.0.1.bias"][3] = float("inf")
    with pytest.raises(ModelError, match=r"features\.0\.1\.bias holds values that are not finite"):
        match_backbone(state, "mobilenet_v3_small", "x.pth")


def test_batch_counters_may_be_absent(weights_file: Path) -> None:
    state = {
        name: value for name, value in read_state(weights_file).items() if not name.endswith("num_batches_tracked")
    }
    matched = match_backbone(state, "mobilenet_v3_small", "x.pth")
    Network("mobilenet_v3_small").backbone.load_state_dict(matched)


def test_stored_weights_come_back_for_their_backbone_alone(tmp_path: Path, weights_file: Path) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(state_bytes({}))
    assert load_start(path, "resnet18") == {}
    start = find_weights("mobilenet_v3_small", str(weights_file))
    path.write_bytes(state_bytes(start.state))
    loaded = load_start(path, "mobilenet_v3_small")
    assert all(torch.equal(loaded[name], tensor) for name, tensor in start.state.items())
    with pytest.raises(ModelError, match=r"weights\.pt: weights of another architecture than train\.backbone resnet18"):
        load_start(path, "resnet18")


def test_a_missing_file_says_what_may_be_given(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"gone\.pth: no such weights file; set train\.weights to none, imagenet or"):
        find_weights("resnet18", str(tmp_path / "gone.pth"))


def test_paths_are_expanded_and_start_at_the_root_of_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/diver")
    monkeypatch.setenv("STORE", "/store")
    monkeypatch.delenv("DVC_ROOT", raising=False)
    assert expand_path("~/w.pth") == Path("/home/diver/w.pth")
    assert expand_path("$STORE/w.pth") == Path("/store/w.pth")
    assert expand_path("../w.pth") == Path("../w.pth")
    assert expand_path("~no_such_diver/w.pth") == Path("~no_such_diver/w.pth")
    monkeypatch.setenv("DVC_ROOT", "/repo")
    assert expand_path("../w.pth") == Path("/repo/../w.pth")
    assert expand_path("${STORE}/w.pth") == Path("/store/w.pth")


def test_imagenet_out_of_reach_says_how_to_pass_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str, *args: object, **kwargs: object) -> None:
        raise URLError("Name or service not known")

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(torch.hub, "download_url_to_file", refuse)
    with pytest.raises(ModelError) as caught:
        find_weights("mobilenet_v2", "imagenet")
    for part in (
        "https://download.pytorch.org/models/mobilenet_v2-b0353104.pth",
        str(tmp_path / "hub/checkpoints/mobilenet_v2-b0353104.pth"),
        "set train.weights to the path of the file",
        "Name or service not known",
    ):
        assert part in str(caught.value)


def test_a_damaged_imagenet_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    path = tmp_path / "hub/checkpoints/mobilenet_v2-b0353104.pth"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"half a download")
    with pytest.raises(ModelError, match=r"sha256 is [0-9a-f]{64}, but its name promises b0353104"):
        imagenet_file("mobilenet_v2")


@pytest.mark.field
def test_imagenet_weights_of_torchvision_are_taken_from_either_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = os.environ.get("RESEED_FIELD_WEIGHTS")
    if not folder:
        pytest.skip("RESEED_FIELD_WEIGHTS names no folder with ImageNet weights")
    path = Path(folder, "mobilenet_v2-b0353104.pth")
    by_path = find_weights("mobilenet_v2", "$RESEED_FIELD_WEIGHTS/mobilenet_v2-b0353104.pth")
    assert by_path.record["sha256"] == IMAGENET_SHA256
    assert by_path.record["tensors"] == 312
    checkpoints = tmp_path / "hub/checkpoints"
    checkpoints.mkdir(parents=True)
    (checkpoints / path.name).symlink_to(path)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    by_name = find_weights("mobilenet_v2", "imagenet")
    assert by_name.record == by_path.record | {"weights": "imagenet"}
    assert all(torch.equal(by_name.state[name], by_path.state[name]) for name in by_path.state)
    with pytest.raises(ModelError, match="another architecture"):
        find_weights("mobilenet_v3_small", str(path))


@pytest.mark.parametrize("backbone", LAST_LAYER)
def test_stored_weights_of_every_backbone_are_read_back(tmp_path: Path, backbone: str) -> None:
    """All names of a backbone alone may begin with one word, such as `features`, which is no wrapper."""
    torch.manual_seed(0)
    whole = models.get_model(backbone, weights=None).state_dict()
    stored = match_backbone(whole, backbone, "file")
    for number, prefix in enumerate(("", "module.", "model.backbone.")):
        path = tmp_path / f"{number}.pt"
        path.write_bytes(state_bytes({f"{prefix}{name}": value for name, value in stored.items()}))
        assert list(load_start(path, backbone)) == list(stored)
