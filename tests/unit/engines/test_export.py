import functools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError
from reseed.base.probabilities import predicted_classes, softmax
from reseed.engines.export import FRAME_OUTPUTS, PATCH_OUTPUTS, drawn_patches, export_network, require_parity
from reseed.engines.onnx_engine import OnnxEngine
from reseed.engines.predictions import load_folder
from reseed.network.model import LAST_LAYER, Network, network_logits
from reseed.score.alpha import decisions
from tests.unit.network.lively import PATCHES, lively, save

CPU = torch.device("cpu")


def session(data: bytes) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(lively("mobilenet_v3_small"), "mobilenet_v3_small", tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def exported(folder: Path) -> bytes:
    return export_network(*load_folder(folder))


@pytest.mark.parametrize("backbone", LAST_LAYER)
def test_every_backbone_says_the_same_as_onnx(backbone: str, tmp_path: Path) -> None:
    network = lively(backbone)
    folder = save(network, backbone, tmp_path)
    data = export_network(network, load_folder(folder)[1])
    found = session(data).run(["probabilities"], {"images": PATCHES})[0]
    expected = softmax(network_logits(network, PATCHES, 60, CPU))
    assert np.abs(found - expected).max() <= 1e-4
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all()
    assert require_parity(data, network, PATCHES, "x.onnx").n == 60


def test_what_the_file_says_of_itself(exported: bytes, folder: Path) -> None:
    model = onnx.load_from_string(exported)
    onnx.checker.check_model(model, full_check=True)
    said = {entry.key: entry.value for entry in model.metadata_props}
    assert said == {
        "classes": "No-Deploy, Coral, Deploy",
        "patch_size_px": "200",
        "input_size_px": "32",
        "resize": "a rule",
        "decode": "another rule",
        "input": "images: uint8, (patches, 32, 32, 3), RGB as stored; normalisation is inside",
        "backbone": "mobilenet_v3_small",
        "model_sha256": load_folder(folder)[1].sha256,
        "flips": "1",
        "alpha": "0.3",
    }
    assert b"site-packages" not in exported, "a path of the machine that exported"
    taken = model.graph.input[0]
    assert [dim.dim_param or dim.dim_value for dim in taken.type.tensor_type.shape.dim] == ["patches", 32, 32, 3]
    assert taken.type.tensor_type.elem_type == onnx.TensorProto.UINT8
    assert [output.name for output in model.graph.output] == [*PATCH_OUTPUTS, *FRAME_OUTPUTS]


def test_a_frame_is_decided_as_the_pipeline_decides_it(exported: bytes) -> None:
    run = session(exported)
    for n in (1, 2, 28, 60):
        classes, *frame = run.run(["classes", *FRAME_OUTPUTS], {"images": PATCHES[:n]})
        total, deploy, coral, ratio, decided = frame
        counted = np.bincount(classes, minlength=3)
        assert (total, deploy, coral) == (n, counted[2], counted[1])
        assert ratio == pytest.approx(counted[2] / n)
        assert decided == decisions(np.array([deploy]), np.array([total]), Fraction("0.3"))[0]


class Answers(nn.Module):
    """Says what the first pixels of a patch say."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images[:, :, 0, 0]


@pytest.fixture(scope="module")
def plain() -> Network:
    """Backbone: one convolution that hands the corner pixel on; head: nothing."""
    network = Network("mobilenet_v3_small")
    convolution = nn.Conv2d(3, 3, 1)
    with torch.no_grad():
        convolution.weight.copy_(torch.eye(3)[:, :, None, None] * network.std.view(3, 1, 1, 1) * 255)
        convolution.bias.copy_(255 * network.mean.flatten())  # type: ignore[union-attr]
    network.backbone = nn.Sequential(convolution, Answers())
    network.head = nn.Sequential(nn.Identity())
    return network.eval()


def frame_of(n: int, deploy: int, coral: int) -> np.ndarray:
    images = np.zeros((n, 8, 8, 3), np.uint8)
    images[:deploy, 0, 0, 2] = 9
    images[deploy : deploy + coral, 0, 0, 1] = 9
    images[deploy + coral :, 0, 0, 0] = 9
    return images


Sessions = Callable[[str], onnxruntime.InferenceSession]


@pytest.fixture(scope="module")
def deciding(plain: Network, folder: Path) -> Sessions:
    """The plain network, exported with an alpha."""
    facts = load_folder(folder)[1]

    @functools.cache
    def exported_with(alpha: str) -> onnxruntime.InferenceSession:
        return session(export_network(plain, replace(facts, alpha=alpha, input_size_px=8)))

    return exported_with


def decided(run: onnxruntime.InferenceSession, n: int, deploy: int, coral: int) -> bool:
    outputs = ["n_patches", "deploy_count", "coral_count", "deploy"]
    found = run.run(outputs, {"images": frame_of(n, deploy, coral)})
    assert [int(value) for value in found[:3]] == [n, deploy, coral]
    return bool(found[3])


@pytest.mark.parametrize(
    ("alpha", "n", "deploy", "expected"),
    [
        ("0.5", 28, 14, False),  # 14 of 28 is not above 0.5
        ("0.5", 28, 15, True),
        ("0.3", 10, 3, False),  # 3 x 10 = 3 x 10, though 0.3 in binary is below 3/10
        ("0.7", 10, 7, False),  # 0.7 in binary is below 7/10: a float would deploy
        ("0.29", 100, 29, False),
        ("0.0", 28, 0, False),
        ("0.0", 28, 1, True),
        ("1.0", 28, 28, False),
        ("0.333333", 3, 1, True),  # 1 x 1000000 > 333333 x 3
    ],
)
def test_alpha_is_exact(deciding: Sessions, alpha: str, n: int, deploy: int, expected: bool) -> None:
    assert decided(deciding(alpha), n, deploy, (n - deploy) // 2) is expected


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 60), data=st.data())
def test_any_frame_is_decided_as_by_fractions(deciding: Sessions, n: int, data: st.DataObject) -> None:
    deploy = data.draw(st.integers(0, n))
    coral = data.draw(st.integers(0, n - deploy))
    assert decided(deciding("0.39"), n, deploy, coral) is (Fraction(deploy, n) > Fraction(39, 100))


def test_equal_probabilities_go_to_no_deploy_first(deciding: Sessions) -> None:
    images = np.zeros((3, 8, 8, 3), np.uint8)
    images[1, 0, 0, 1:] = 9  # Coral and Deploy are equal
    images[2, 0, 0, ::2] = 9  # No-Deploy and Deploy are equal
    classes = deciding("0.5").run(["classes"], {"images": images})[0]
    assert [CLASSES[index] for index in classes] == ["No-Deploy", "Coral", "No-Deploy"]


def test_without_alpha_there_is_no_decision(folder: Path) -> None:
    network, facts = load_folder(folder)
    data = export_network(network, replace(facts, alpha=None))
    model = onnx.load_from_string(data)
    assert [output.name for output in model.graph.output] == list(PATCH_OUTPUTS)
    assert "alpha" not in {entry.key for entry in model.metadata_props}


def test_exporting_leaves_the_network_as_it_was(folder: Path) -> None:
    network, facts = load_folder(folder)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    export_network(network, facts)
    assert all(torch.equal(before[name], tensor) for name, tensor in network.state_dict().items())


def test_an_export_that_says_something_else_is_refused(exported: bytes, folder: Path) -> None:
    other, _ = load_folder(folder)
    with torch.no_grad():
        other.head[3].bias[0] += 0.01  # type: ignore[index, operator]
    with pytest.raises(
        ModelError, match=r"x\.onnx: not written, the exported network gives other probabilities \(by 0"
    ):
        require_parity(exported, other, PATCHES, "x.onnx")


def test_an_export_that_counts_otherwise_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reseed.engines.export.CLASS_INDEX", {"Deploy": 1, "Coral": 1})
    network, facts = load_folder(folder)
    data = export_network(network, facts)
    monkeypatch.undo()
    with pytest.raises(ModelError, match="gives other classes to 0 of 60 patches or counts them otherwise"):
        require_parity(data, network, PATCHES, "x.onnx")


def test_drawn_patches_are_the_same_and_varied() -> None:
    patches = drawn_patches(32)
    np.testing.assert_array_equal(patches, drawn_patches(32))
    assert (patches[0].max(), patches[1].min()) == (0, 255)
    assert patches[2:].std(axis=(1, 2, 3)).max() > 40
    classes = predicted_classes(softmax(network_logits(lively("mobilenet_v3_small"), patches, 28, CPU)))
    assert len(set(classes)) > 1


@pytest.mark.parametrize("flips", [2, 4])
def test_an_exported_file_carries_the_flips(folder: Path, flips: int) -> None:
    network, facts = load_folder(folder)
    data = export_network(network, replace(facts, flips=flips))
    assert require_parity(data, network, PATCHES, "x.onnx").n == 60
    engine = OnnxEngine.open(data, "x.onnx", threads=1)
    assert engine.facts.flips == flips
    axes = [(), (2,), (1,), (1, 2)][:flips]
    expected = np.mean([network_logits(network, np.flip(PATCHES, axis), 60, CPU) for axis in axes], axis=0)
    np.testing.assert_allclose(engine.logits(PATCHES), expected, atol=1e-3)
    assert np.abs(engine.logits(PATCHES) - network_logits(network, PATCHES, 60, CPU)).max() > 1e-2
