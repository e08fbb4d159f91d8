import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import numpy as np
import onnx
import pytest
import torch
from torch import nn

from reseed.artifacts.table import FLOAT_DECIMALS
from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError, ParamsError
from reseed.base.grid import grid_of
from reseed.base.probabilities import PROBABILITY_DECIMALS, softmax
from reseed.engines.engine import Engine, choose_engine, open_engine
from reseed.engines.export import export_network
from reseed.engines.facts import recorded_alpha, require_geometry
from reseed.engines.onnx_engine import step_patches
from reseed.engines.predictions import TorchEngine, load_folder, most_alike
from reseed.network.model import Network, network_logits
from reseed.network.pretrained import find_weights
from reseed.patches.resize import grid_patches
from reseed.survey.imagery import decode_rgb
from tests.unit.network.lively import GEOMETRY, PATCHES, lively, save, spread

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def network() -> Network:
    return lively("mobilenet_v3_small")


@pytest.fixture(scope="module")
def folder(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(network, "mobilenet_v3_small", tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def exported(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("boat") / "reef.onnx"
    path.write_bytes(export_network(*load_folder(folder)))
    return path


@pytest.fixture(scope="module", params=["torch", "onnx", "openvino", "file onnx", "file openvino"])
def engine(request: pytest.FixtureRequest, folder: Path, exported: Path) -> Engine:
    name = request.param.split()[-1]
    if name == "openvino":
        pytest.importorskip("openvino", reason="the optional extra is not installed")
    return open_engine(exported if "file" in request.param else folder, name, threads=1)


def test_engines_agree_with_the_network(engine: Engine, network: Network) -> None:
    expected = softmax(network_logits(network, PATCHES, 64, torch.device("cpu")))
    assert len(set(expected.argmax(axis=1))) == 3, "a network that says one thing shows nothing"
    found = softmax(engine.logits(PATCHES))
    assert (found.dtype, found.shape) == (np.float64, (60, 3))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all()
    assert (np.round(found, 6) == found).all()


def test_engines_know_the_model(engine: Engine, folder: Path, exported: Path) -> None:
    facts = engine.facts
    assert (facts.classes, facts.backbone, facts.alpha) == (CLASSES, "mobilenet_v3_small", "0.3")
    assert facts.geometry() == GEOMETRY
    opened = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / "model.pt", exported)}
    assert facts.sha256 in opened  # never what a file says of itself
    assert engine.device == "cpu"
    assert engine.version[0].isdigit()


def test_one_engine_serves_threads_at_the_same_time(engine: Engine) -> None:
    expected = [softmax(engine.logits(PATCHES[i : i + 9])) for i in range(40)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda i: softmax(engine.logits(PATCHES[i : i + 9])), range(40)))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_any_number_of_patches(engine: Engine) -> None:
    for n in (0, 1, 28, 60):
        assert softmax(engine.logits(PATCHES[:n])).shape == (n, 3)
    whole = engine.logits(PATCHES)
    np.testing.assert_allclose(engine.logits(PATCHES, 7), whole, atol=1e-4)
    chosen = np.array([59, 3, 3, 0])
    np.testing.assert_allclose(engine.logits(PATCHES, 3, chosen), whole[chosen], atol=1e-4)


def test_the_same_bytes_every_time(folder: Path) -> None:
    assert export_network(*load_folder(folder)) == export_network(*load_folder(folder))


def test_steps_fit_the_cache() -> None:
    # 4 x 256 x 256 pixels at once.
    shapes = ((9, 256, 256, 3), (2, 1024, 1024, 3), (9, 128, 128, 3))
    assert [step_patches(np.empty(shape, np.uint8)) for shape in shapes] == [4, 1, 16]


def test_as_many_decimals_as_the_tables() -> None:
    assert PROBABILITY_DECIMALS == FLOAT_DECIMALS


@pytest.mark.parametrize(
    ("engine", "device", "chosen"),
    [
        ("auto", "cpu", "onnx"),
        ("torch", "cpu", "torch"),
        ("torch", "cuda", "torch"),
        ("onnx", "auto", "onnx"),
        ("openvino", "cpu", "openvino"),
    ],
)
def test_choice(engine: str, device: str, chosen: str) -> None:
    assert choose_engine(engine, device) == chosen


@pytest.mark.parametrize(("cuda", "chosen"), [(True, "torch"), (False, "onnx")])
def test_auto_takes_the_accelerator_by_torch(monkeypatch: pytest.MonkeyPatch, cuda: bool, chosen: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_engine("auto", "auto") == chosen


@pytest.mark.parametrize(
    ("engine", "device", "message"),
    [
        ("tensorrt", "cpu", r"predict\.engine: got 'tensorrt'; allowed: auto, torch, onnx, openvino"),
        (
            "onnx",
            "cuda",
            r"predict\.engine onnx runs on the CPU only, but predict\.device is cuda; set predict\.device to",
        ),
    ],
)
def test_what_does_not_go_together(folder: Path, engine: str, device: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        open_engine(folder, engine, 1, device, section="predict.")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has what the test says it lacks")
def test_a_device_that_is_not_there_names_the_parameter(folder: Path) -> None:
    with pytest.raises(ParamsError, match=r"predict\.device: got 'cuda', which this machine does not have"):
        open_engine(folder, "auto", 1, "cuda", section="predict.")


def test_an_exported_file_runs_without_torch(exported: Path) -> None:
    code = (
        "import sys, numpy as np; from pathlib import Path; from reseed.engines.engine import open_engine\n"
        f"engine = open_engine(Path({str(exported)!r}), 'auto', 1)\n"
        "print(engine.name, engine.logits(np.zeros((2, 32, 32, 3), np.uint8)).shape)\n"
        "print(sorted({'torch', 'torchvision', 'pandas', 'sklearn', 'openvino'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "onnx (2, 3)\n[]\n"


def broken_header(data: bytes) -> bytes:
    return data[: len(data) // 2]


def strange(data: bytes) -> bytes:
    model = onnx.load_from_string(data)
    del model.metadata_props[:]
    return bytes(model.SerializeToString())


def other_classes(data: bytes) -> bytes:
    model = onnx.load_from_string(data)
    for entry in model.metadata_props:
        if entry.key == "classes":
            entry.value = "Coral, Deploy, No-Deploy"
    return bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (broken_header, r"reef\.onnx: not readable as ONNX"),
        (lambda _: b"", r"reef\.onnx: not readable as ONNX"),
        (strange, r"reef\.onnx: no file of `python -m reseed export` \(KeyError: 'classes' in its metadata\)"),
        (other_classes, r"reef\.onnx: classes are Coral, Deploy, No-Deploy; here they are No-Deploy, Coral, Deploy"),
    ],
)
@pytest.mark.parametrize("engine", ["onnx", "openvino"])
def test_a_file_that_is_none_of_ours(
    tmp_path: Path, exported: Path, engine: str, change: Callable[[bytes], bytes], message: str
) -> None:
    path = tmp_path / "reef.onnx"
    path.write_bytes(change(exported.read_bytes()))
    with pytest.raises(ModelError, match=message):
        open_engine(path, engine, 1)


def test_files_and_engines_that_do_not_fit(tmp_path: Path, exported: Path) -> None:
    with pytest.raises(ModelError, match=r"no\.onnx: not readable \(No such file .*reseed export --out no\.onnx"):
        open_engine(tmp_path / "no.onnx", "auto", 1)
    with pytest.raises(ModelError, match="engine torch cannot run an exported file; give the model's folder"):
        open_engine(exported, "torch", 1)
    with pytest.raises(ModelError, match="device cuda cannot run an exported file"):
        open_engine(exported, "auto", 1, "cuda")
    with pytest.raises(ModelError, match=r"models/model\.json: no such file"):
        open_engine(tmp_path / "models", "auto", 1)


@pytest.mark.parametrize(
    ("engine", "library", "message"),
    [
        ("openvino", "openvino", r"engine openvino needs OpenVINO .*pip install -r requirements-extras\.txt"),
        ("onnx", "onnxruntime", r"engine onnx needs ONNX Runtime .*pip install -r requirements\.txt"),
    ],
)
def test_a_missing_library_is_named(
    exported: Path, monkeypatch: pytest.MonkeyPatch, engine: str, library: str, message: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModelError, match=message):
        open_engine(exported, engine, 1)


def test_bfloat16_is_faster_arithmetic_and_says_so(exported: Path) -> None:
    openvino = pytest.importorskip("openvino", reason="the optional extra is not installed")
    if "BF16" not in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        with pytest.raises(ModelError, match="this processor has no bfloat16; use engine openvino or onnx"):
            open_engine(exported, "openvino-bf16", 1)
        return
    engine = open_engine(exported, "openvino-bf16", 1)
    exact = softmax(open_engine(exported, "openvino", 1).logits(PATCHES))
    apart = np.abs(softmax(engine.logits(PATCHES)) - exact).max()
    assert 1e-4 < apart < 0.3
    assert engine.name == "openvino-bf16"


def test_patches_cut_otherwise_are_refused(folder: Path) -> None:
    facts = open_engine(folder, "torch", 1).facts
    require_geometry(facts, dict(GEOMETRY), "models")
    with pytest.raises(ModelError, match=r'models: geometry of the model is .*"a rule".*, but here it is .*"nearest"'):
        require_geometry(facts, GEOMETRY | {"resize": "nearest"}, "models")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"frame": 3}', '{"frame": {}}'])
def test_metrics_without_an_alpha_give_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics/metrics.json").write_text(text)
    assert recorded_alpha(tmp_path / "models") is None


def test_alpha_keeps_its_decimal_text(tmp_path: Path) -> None:
    assert recorded_alpha(tmp_path / "models") is None
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics/metrics.json").write_text('{"frame": {"alpha": 0.30}}')
    assert recorded_alpha(tmp_path / "models") == "0.30"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_cuda_agrees_with_the_cpu(folder: Path) -> None:
    engine = open_engine(folder, "auto", 1, "auto")
    assert isinstance(engine, TorchEngine)
    assert engine.device == "cuda"
    np.testing.assert_allclose(
        softmax(engine.logits(PATCHES)), softmax(open_engine(folder, "onnx", 1).logits(PATCHES)), atol=1e-4
    )


FIELD = os.environ.get("RESEED_FIELD_DATA", "")
WEIGHTS = os.environ.get("RESEED_FIELD_WEIGHTS", "")


@pytest.mark.field
@pytest.mark.skipif(
    not (FIELD and WEIGHTS), reason="RESEED_FIELD_DATA, RESEED_FIELD_WEIGHTS are not set: no real frames"
)
def test_engines_agree_on_real_patches(tmp_path: Path) -> None:
    frames = sorted(Path(FIELD, "reefscan").glob("*/*.jpg"))[::12]
    patches = np.concatenate(
        [grid_patches(decode_rgb(path, 20_000_000), grid_of(5312, 3040, 800), 96) for path in frames]
    )
    network = lively("mobilenet_v2")
    start = find_weights("mobilenet_v2", str(Path(WEIGHTS, "mobilenet_v2-b0353104.pth")))
    network.backbone.load_state_dict(start.state)
    spread(network, patches)
    folder = save(network, "mobilenet_v2", tmp_path, edge_px=96)
    engines = [open_engine(folder, name, 1) for name in ("torch", "onnx", "openvino")]
    torchs, *others = (softmax(engine.logits(patches)) for engine in engines)
    assert len(patches) == 84
    assert np.bincount(torchs.argmax(axis=1), minlength=3).min() > 5, "a network that says one thing shows nothing"
    for found in others:
        assert np.abs(found - torchs).max() <= 1e-4
        assert (found.argmax(axis=1) == torchs.argmax(axis=1)).all()


def test_what_looks_most_alike_by_hand() -> None:
    class Colours(nn.Module):
        """Features are the mean levels of red, green and blue."""

        def features(self, images: torch.Tensor) -> torch.Tensor:
            return images.mean(dim=(2, 3))

    images = np.zeros((5, 4, 4, 3), np.uint8)
    images[0] = [200, 0, 0]
    images[1] = [0, 200, 0]
    images[2] = [90, 10, 0]  # red, if darker: a direction, not a distance
    images[3] = [100, 100, 0]
    images[4] = [0, 0, 50]
    found = most_alike(cast("Network", Colours()), images, [0, 1], [1, 2, 3, 4], 2)
    # places among [1, 2, 3, 4]: for red 2 then 3, for green 1 then 3
    assert found.tolist() == [[1, 2], [0, 2]]
