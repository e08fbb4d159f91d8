from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from reseed.cli.main import main
from reseed.engines import export as parity
from reseed.engines.engine import open_engine
from reseed.patches.resize import RESIZE_RULE
from reseed.patches.store import Geometry
from reseed.survey.imagery import DECODE_RULE
from tests.unit.network.lively import PATCHES, lively, save, save_research


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save(lively("mobilenet_v3_small"), "mobilenet_v3_small", tmp_path / "run", alpha="0.39", synthetic=True)


def metadata(path: Path) -> dict[str, str]:
    return {entry.key: entry.value for entry in onnx.load(path).metadata_props}


def test_a_model_becomes_one_file(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "boat/reef.onnx"
    assert main(["export", "--out", str(out), "--model", str(model)]) == 0
    said = capsys.readouterr().out
    assert "SYNTHETIC" in said
    assert f"{out}: mobilenet_v3_small, patches of 200 px seen at 32 px, alpha 0.39\n" in said
    assert "0 patches of the survey and 28 drawn ones" in said
    assert (metadata(out)["alpha"], metadata(out)["trained_on"][:15]) == ("0.39", "rendered frames")
    assert open_engine(out, "auto", 1).facts.trained_on_rendered
    exported, network = open_engine(out, "auto", 1).facts, open_engine(model, "torch", 1).facts
    assert exported == replace(network, sha256=exported.sha256)  # each is of its own file
    assert [path.name for path in out.parent.iterdir()] == ["reef.onnx"]


def test_patches_of_the_survey_are_compared_too(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = model.parent / "data/patches/patches.npy"
    packed.parent.mkdir(parents=True)
    np.save(packed, PATCHES)
    assert main(["export", "--out", str(tmp_path / "a.onnx"), "--model", str(model)]) == 0
    assert "56 patches of the survey and 28 drawn ones" in capsys.readouterr().out
    np.save(packed, np.zeros((9, 48, 48, 3), np.uint8))  # of a later extract, with another input size
    assert main(["export", "--out", str(tmp_path / "a.onnx"), "--model", str(model)]) == 0
    assert "0 patches of the survey and 28 drawn ones" in capsys.readouterr().out


def test_alpha_can_be_said(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "reef.onnx"
    assert main(["export", "--out", str(out), "--model", str(model), "--alpha", "0.50"]) == 0
    assert metadata(out)["alpha"] == "0.5"


@pytest.mark.parametrize("alpha", ["0.6.1", "1.01", "-0.1", "nan", "1/3", "0.3333333", ""])
def test_an_alpha_that_is_none(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], alpha: str) -> None:
    out = tmp_path / "reef.onnx"
    assert main(["export", "--out", str(out), "--model", str(model), f"--alpha={alpha}"]) == 2
    assert f"--alpha: got '{alpha}'; allowed: a number from 0 to 1 with at most 6 decimals" in capsys.readouterr().err
    assert not out.exists()


def test_without_any_alpha(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = save(lively("mobilenet_v3_small"), "mobilenet_v3_small", tmp_path / "run", alpha=None)
    assert main(["export", "--out", str(tmp_path / "reef.onnx"), "--model", str(folder)]) == 2
    said = capsys.readouterr().err
    assert "no alpha is recorded beside it" in said
    assert "give it with --alpha" in said
    assert main(["export", "--out", str(tmp_path / "reef.onnx"), "--model", str(folder), "--alpha", "0.5"]) == 0


def test_nothing_appears_where_the_file_would_say_something_else(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "reef.onnx"
    out.write_text("an earlier one")
    monkeypatch.setattr(parity, "TOLERANCE", -1.0)
    assert main(["export", "--out", str(out), "--model", str(model)]) == 2
    assert "not written, the exported network gives other probabilities" in capsys.readouterr().err
    assert out.read_text() == "an earlier one"
    assert [path.name for path in tmp_path.glob("reef*")] == ["reef.onnx"]


@pytest.mark.parametrize(
    ("out", "message"), [("reef.pt", "other ending; needed: a file name ending in .onnx"), ("x.onnx", "a folder")]
)
def test_a_name_that_is_no_onnx_file(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], out: str, message: str
) -> None:
    (tmp_path / "x.onnx").mkdir()
    assert main(["export", "--out", str(tmp_path / out), "--model", str(model)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["auto", "torch", "onnx"])
def test_a_file_in_place_of_the_model_folder(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    """What people try first: the weights themselves; and any other file."""
    text = tmp_path / "README.md"
    text.write_text("no model")
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames/1.jpg").write_bytes(b"")
    for file in (model / "model.pt", text):
        assert main(["export", "--out", str(tmp_path / "reef.onnx"), "--model", str(file)]) == 2
        wanted = f"{file}: is a file; give the folder that holds model.pt and model.json"
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert wanted in said
        assert ".onnx" not in said
        arguments = ["infer", str(tmp_path / "frames"), "--out", str(tmp_path / "out"), "--model", str(file)]
        assert main([*arguments, "--engine", engine]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert f"{wanted}, or an .onnx file" in said
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["export", "--out", str(tmp_path / "file/reef.onnx"), "--model", str(model)]) == 2
    assert "cannot be written" in capsys.readouterr().err


def imported(file: Path, out: Path, *more: str) -> int:
    sizes = ["--patch-size", "800", "--input-size", "256"]
    arch = [] if "--arch" in more else ["--arch", "mobilenet_v3_small"]
    classes = [] if "--classes" in more else ["--classes", "No-Deploy,Coral,Deploy"]
    return main(["import-checkpoint", str(file), *arch, *classes, *sizes, "--out", str(out), *more])


def test_a_research_checkpoint_becomes_a_model_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "reef"
    assert imported(save_research(tmp_path / "reef.pth"), out) == 0
    assert capsys.readouterr().out.startswith(f"{out}: mobilenet_v3_small of reef.pth, sha256 ")
    assert sorted(path.name for path in out.iterdir()) == ["model.json", "model.pt"]
    facts = open_engine(out, "torch", 1).facts
    assert (facts.patch_size_px, facts.input_size_px, facts.alpha) == (800, 256, None)
    file = tmp_path / "boat.onnx"
    assert main(["export", "--model", str(out), "--alpha", "0.5", "--out", str(file)]) == 0
    images = PATCHES.repeat(8, 1).repeat(8, 2)[:4]
    by_file, by_folder = (open_engine(path, "auto", 1).logits(images) for path in (file, out))
    np.testing.assert_allclose(by_file, by_folder, atol=1e-5)


def test_an_import_is_what_the_extract_of_today_cuts(tmp_path: Path) -> None:
    """The geometry of the folder is the one that stage extract would write."""
    assert imported(save_research(tmp_path / "reef.pth"), tmp_path / "reef") == 0
    facts = open_engine(tmp_path / "reef", "torch", 1).facts
    assert facts.geometry() == asdict(Geometry(800, 256, RESIZE_RULE, DECODE_RULE))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ("--classes", "Coral,Deploy"),
            "classes of the checkpoint: got Coral, Deploy; allowed: No-Deploy, Coral, Deploy",
        ),
        (("--arch", "resnet18"), "weights of another architecture than --arch resnet18"),
        (("--patch-size", "0"), "--patch-size: got 0; allowed: greater than or equal to 8"),
        (("--input-size", "16"), "--input-size: got 16; allowed: greater than or equal to 32"),
    ],
)
def test_arguments_that_do_not_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], message: str
) -> None:
    out = tmp_path / "reef"
    assert imported(save_research(tmp_path / "reef.pth"), out, *more) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not out.exists()


def test_a_folder_that_holds_something_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "reef"
    out.mkdir()
    file = save_research(tmp_path / "reef.pth")
    assert imported(file, out) == 0  # an empty folder is as good as none
    before = (out / "model.pt").read_bytes()
    assert imported(file, out) == 2
    assert "is a folder that holds something; name a new folder" in capsys.readouterr().err
    assert (out / "model.pt").read_bytes() == before
    assert imported(file, file) == 2
    assert "is a file; name a new folder" in capsys.readouterr().err


def test_a_file_that_is_not_there_or_not_tensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert imported(tmp_path / "gone.pth", tmp_path / "reef") == 2
    assert "gone.pth: no such weights file; name the state_dict file" in capsys.readouterr().err
    whole = tmp_path / "whole.pth"
    torch.save(lively("mobilenet_v3_small"), whole)
    assert imported(whole, tmp_path / "reef") == 2
    assert "not readable as plain weights" in capsys.readouterr().err
    assert not (tmp_path / "reef").exists()
