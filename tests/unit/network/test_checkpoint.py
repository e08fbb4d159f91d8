import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from reseed.base.errors import ModelError
from reseed.network.checkpoint import describe_model, load_model, save_model
from reseed.network.model import Network, read_state, state_bytes
from tests.unit.network.conftest import GEOMETRY


@pytest.fixture(scope="module")
def network() -> Network:
    torch.manual_seed(0)
    return Network("mobilenet_v3_small", 0.1).eval()


@pytest.fixture
def saved(tmp_path: Path, network: Network) -> tuple[Path, Path]:
    pt, card = tmp_path / "models/model.pt", tmp_path / "models/model.json"
    record = {"weights": "none", "sha256": None}
    save_model(network, describe_model("mobilenet_v3_small", 3, 0, 1, "cpu", (32, 32), GEOMETRY, record), pt, card)
    return pt, card


def edit(card: Path, **changes: Any) -> None:
    values = json.loads(card.read_text(encoding="utf-8")) | changes
    card.write_text(json.dumps(values), encoding="utf-8")


def test_what_is_loaded_is_what_was_saved(saved: tuple[Path, Path], network: Network) -> None:
    loaded, card = load_model(*saved, GEOMETRY)
    assert not loaded.training
    assert (card.classes, card.best_epoch, card.input_px) == (("No-Deploy", "Coral", "Deploy"), 3, (32, 32))
    assert (card.device, card.threads, card.seed, card.pretrained["weights"]) == ("cpu", 1, 0, "none")
    assert set(card.versions) == {"torch", "torchvision", "numpy"}
    for name, tensor in network.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name


def test_a_network_of_several_heads_is_loaded_as_one(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = Network("mobilenet_v3_small", heads=3).eval()
    pt, card = tmp_path / "model.pt", tmp_path / "model.json"
    record = {"weights": "none", "sha256": None}
    save_model(network, describe_model("mobilenet_v3_small", 3, 0, 1, "cpu", (32, 32), GEOMETRY, record), pt, card)
    images = torch.rand(2, 3, 32, 32)
    with torch.inference_mode():
        assert torch.equal(load_model(pt, card, GEOMETRY)[0](images), network(images))


def test_names_for_any_number_of_heads_take_no_memory(tmp_path: Path) -> None:
    pt, card = tmp_path / "model.pt", tmp_path / "model.json"
    data = state_bytes({f"head.{number}.0.weight": torch.zeros(1) for number in range(5000)})
    described = describe_model("mobilenet_v3_small", 3, 0, 1, "cpu", (32, 32), GEOMETRY, {"weights": "none"})
    pt.write_bytes(data)
    card.write_text(described.model_copy(update={"sha256": hashlib.sha256(data).hexdigest()}).model_dump_json())
    with pytest.raises(ModelError, match="is absent"):
        load_model(pt, card, GEOMETRY)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"classes": ["Coral", "Deploy", "No-Deploy"]},
            r'classes of the model is \["Coral", "Deploy", "No-Deploy"\], but here it is \["No-Deploy", "Coral", "Dep',
        ),
        ({"head": {"width": 256, "dropout": 0.15}}, r'head of the model is .*"width": 256.* here it is .*"width": 512'),
        ({"normalisation": {"mean": [0, 0, 0], "std": [1, 1, 1]}}, r"normalisation of the model is .*0\.485"),
        ({"backbone": "vgg16"}, r"backbone is 'vgg16'; this code has mobilenet_v3_small"),
        (
            {"backbone": "resnet18"},
            r"tensor backbone\.conv1\.weight is absent, but backbone resnet18 .* \(64, 3, 7, 7\)",
        ),
        ({"sha256": "0" * 64}, r"sha256 is [0-9a-f]{64}, but .*model\.json describes 0{64}"),
        ({"threads": "many"}, r"not a description of a model: .*threads"),
        ({"extra": 1}, r"not a description of a model: .*extra"),
    ],
)
def test_a_description_that_does_not_fit_names_both_sides(
    saved: tuple[Path, Path], changes: dict[str, Any], message: str
) -> None:
    edit(saved[1], **changes)
    with pytest.raises(ModelError, match=message):
        load_model(*saved, GEOMETRY)


def test_patches_cut_by_another_rule_name_both_sides(saved: tuple[Path, Path]) -> None:
    with pytest.raises(ModelError, match=r'geometry of the model is .*"a rule".*, but here it is .*"nearest"'):
        load_model(*saved, GEOMETRY | {"resize": "nearest"})


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (torch.zeros(4, 512), r"tensor head\.3\.weight is \(4, 512\), but .* needs \(3, 512\)"),
        (None, r"tensor head\.3\.weight is absent"),
    ],
)
def test_a_head_of_another_width_names_both_sides(
    saved: tuple[Path, Path], network: Network, tensor: torch.Tensor | None, message: str
) -> None:
    import hashlib  # noqa: PLC0415  # this test alone forges a file with its digest

    state = dict(network.state_dict())
    del state["head.3.weight"]
    if tensor is not None:
        state["head.3.weight"] = tensor
    data = state_bytes(state)
    saved[0].write_bytes(data)
    edit(saved[1], sha256=hashlib.sha256(data).hexdigest())
    with pytest.raises(ModelError, match=message):
        load_model(*saved, GEOMETRY)


@pytest.mark.parametrize("absent", [0, 1])
def test_a_missing_file_is_named(saved: tuple[Path, Path], absent: int) -> None:
    saved[absent].unlink()
    with pytest.raises(ModelError, match=rf"{saved[absent].name}: no such .*file; run `dvc repro"):
        load_model(*saved, GEOMETRY)


def test_a_file_of_any_size_is_refused_at_once_and_nothing_unsafe_is_recommended(tmp_path: Path) -> None:
    huge = tmp_path / "huge.pt"
    huge.touch()
    os.truncate(huge, 200 << 30)  # sparse: it takes no room
    with pytest.raises(ModelError, match=r"214,748,364,800 bytes; no state_dict of these networks has more than"):
        read_state(huge)
    os.truncate(huge, 1 << 20)
    with pytest.raises(ModelError, match="not readable as plain weights") as caught:
        read_state(huge)
    assert "False" not in str(caught.value)
