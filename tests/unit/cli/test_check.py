import os
import shutil
from pathlib import Path

import pytest
import torch
from ruamel.yaml import YAML
from torch import nn
from torchvision import models

from reseed.cli.check import SECTIONS
from reseed.cli.main import main
from reseed.sources.folder import digest_folder
from stages import pull
from tests.unit.survey.folders import put
from tests.unit.survey.surveys import write_survey

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    (tmp_path / "repo").mkdir()
    monkeypatch.chdir(tmp_path / "repo")
    write_survey(tmp_path / "survey", ("drop_1", "tow_2", "tow_3", "tow_4"))
    table = tmp_path / "survey/annotations_A.csv"
    table.write_text(table.read_text().replace("_0001.jpg,1,2,0,1,No Deploy", "_0001.jpg,1,2,0,1,Deploy"))
    _write(sha256=None)
    return tmp_path / "survey"


def _write(sha256: str | None, uri: str = "../survey", **sections: dict[str, object]) -> None:
    values = YAML(typ="safe", pure=True).load(REPOSITORY / "params.yaml")
    entry = {"name": "reef", "kind": "folder", "uri": uri, "layout": "survey", "sha256": sha256, "licence": "unknown"}
    entry |= {"citation": "unknown", "split": None}
    values["pull"]["sources"] = [entry]
    values["extract"]["patch_size"] = 20  # frames are 70 x 40 px
    for name, changes in sections.items():
        values.setdefault(name, {}).update(changes)
    with Path("params.yaml").open("w") as file:
        YAML(typ="safe", pure=True).dump(values, file)


def test_the_committed_parameters_are_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--params", str(REPOSITORY / "params.yaml")]) == 0
    assert f"all {len(SECTIONS)} sections valid" in capsys.readouterr().out


def test_every_problem_of_every_section_in_one_message(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(None, split={"val_fraction": 2.0, "shuffle": True}, catalog={"max_pixels": "many"}, baselines_={"x": 1})
    assert main(["check"]) == 2
    said = capsys.readouterr().err
    for key in ("split.val_fraction", "split.shuffle", "catalog.max_pixels", "baselines_: unknown section"):
        assert key in said
    assert "4 problems" in said


def test_a_demo_is_not_pinned(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write("0" * 64, uri="")
    text = Path("params.yaml").read_text().replace("kind: folder", "kind: demo")
    Path("params.yaml").write_text(text)
    assert main(["check"]) == 2
    assert "sha256 null for kind demo" in capsys.readouterr().err


def test_before_and_after_pull(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sha256 = digest_folder(survey).sha256
    assert main(["check"]) == 0
    assert f"reef: unpinned, not pulled yet, sha256 {sha256}" in capsys.readouterr().out
    pull.main([])
    assert main(["check"]) == 0
    assert f"reef: unpinned, unchanged since it was pulled, sha256 {sha256}" in capsys.readouterr().out


def test_a_changed_source_is_noticed(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pull.main([])
    before = digest_folder(survey).sha256
    (survey / "notes.txt").write_text("x")
    capsys.readouterr()
    assert main(["check"]) == 0
    said = capsys.readouterr().out
    assert "CHANGED since it was pulled: run `dvc repro -f pull`" in said
    assert before in said
    assert digest_folder(survey).sha256 in said


def test_a_pin_that_does_not_hold_is_an_error(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sha256 = digest_folder(survey).sha256
    _write(sha256)
    assert main(["check"]) == 0
    assert "reef: pinned, ok" in capsys.readouterr().out
    (survey / "notes.txt").write_text("x")
    assert main(["check"]) == 2
    said = capsys.readouterr().err
    assert sha256 in said
    assert digest_folder(survey).sha256 in said


def test_a_source_that_is_gone(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pulled_from = survey.with_name("moved")
    pull.main([])
    shutil.move(survey, pulled_from)
    capsys.readouterr()
    assert main(["check"]) == 0  # what was pulled still stands: a clone works without the source
    assert "as pulled before" in capsys.readouterr().out
    _write(None, uri="../never")
    assert main(["check"]) == 2
    assert "pull.sources reef" in capsys.readouterr().err


def test_nothing_is_written(survey: Path) -> None:
    main(["check"])
    assert os.listdir(".") == ["params.yaml"]  # noqa: PTH208 - names only


def test_weights_that_are_not_there_are_said_before_a_run(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(None, train={"weights": "../weights/net.pth"})
    assert main(["check"]) == 2
    assert "net.pth: no such file; give the path of a state_dict" in capsys.readouterr().err
    Path("../weights").mkdir()
    Path("../weights/net.pth").write_bytes(b"weights")
    assert main(["check"]) == 2
    assert "net.pth: not readable as plain weights" in capsys.readouterr().err
    torch.save(models.resnet18().state_dict(), "../weights/net.pth")
    assert main(["check"]) == 2  # of another architecture
    assert "train.backbone" in capsys.readouterr().err
    torch.save(models.mobilenet_v3_small().state_dict(), "../weights/net.pth")
    assert main(["check"]) == 0
    _write(None, train={"weights": "$NO_SUCH_VARIABLE/net.pth"})
    assert main(["check"]) == 2
    assert "train.weights: " in capsys.readouterr().err
    _write(None, train={"weights": "imagenet"})
    assert main(["check"]) == 0


def test_a_checkpoint_that_is_not_there_is_said_before_a_run(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(None, train={"checkpoint": "../models/reef.pth", "weights": "gone.pth"})
    assert main(["check"]) == 2
    said = capsys.readouterr().err
    assert "train.checkpoint: " in said
    assert "train.weights: " in said
    Path("../models").mkdir()
    Path("../models/reef.pth").write_bytes(b"checkpoint")
    _write(None, train={"checkpoint": "../models/reef.pth"})
    assert main(["check"]) == 2
    assert "reef.pth: not readable as plain weights" in capsys.readouterr().err
    network = models.mobilenet_v3_small()
    network.classifier[3] = nn.Sequential(nn.Linear(1024, 512), nn.ReLU(), nn.Dropout(), nn.Linear(512, 3))
    torch.save(network.state_dict(), "../models/reef.pth")
    assert main(["check"]) == 0


def test_the_classes_of_a_label_map_are_classes(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(None, catalog={"label_map": {"CCA": "Deploi"}})
    assert main(["check"]) == 2
    assert "catalog.label_map, code 'CCA'" in capsys.readouterr().err
    _write(None, catalog={"label_map": {"CCA": "Deploy", "Shadow": None}})
    assert main(["check"]) == 0
    (survey / "label_map.yaml").write_text("CCA: Rock\n")
    _write(None, catalog={"label_map": "label_map.yaml"})
    assert main(["check"]) == 2
    assert "label_map.yaml, code 'CCA'" in capsys.readouterr().err
    (survey / "label_map.yaml").write_text("CCA: Deploy\n")
    assert main(["check"]) == 0


def test_what_is_in_the_data_is_said(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    said = capsys.readouterr().out
    assert "reef: read as survey (set by layout: survey in pull.sources)" in said
    # 4 sequences of 2 frames; of each frame 2 cells by A and 1 rectangle by B; a decision each by A.
    assert "  8 frames at 4 sites, 0 unusable images; 24 labels on patches, 8 on frames, by A, B" in said
    assert "labelled frames: No-Deploy 8, Deploy 0" in said
    assert "split test: 2 frames of 1 groups" in said


def _patches(root: Path, n_frames: int = 6, classes: tuple[str, ...] = ("Deploy", "Coral", "No-Deploy")) -> None:
    for frame in range(n_frames):
        for index in range(28):
            label = classes[(frame + index) % len(classes)]
            put(root, f"{label}/reef{frame}_{index}.png", 28 * frame + index)


def test_a_folder_of_patches_is_told_everything_at_once(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _patches(survey.with_name("patches"))
    _write(None, "../patches", train={"device": "cuda", "weights": "gone.pth"})
    text = Path("params.yaml").read_text().replace("layout: survey", "layout: auto")
    Path("params.yaml").write_text(text)
    assert main(["check"]) == 2
    out, err = capsys.readouterr()
    assert "read as patch-folders" in out
    assert "6 frames at 1 sites, 0 unusable images; 168 labels on patches, 0 on frames, by folders" in out
    assert "split.group_by: site gives 1 group(s)" in err
    assert "aggregate.alpha is auto, but no frame has a frame label" in err
    assert "gone.pth: no such file" in err
    assert ("train.device: got 'cuda'" in err) != torch.cuda.is_available()
    # With these mended, every later stage can run.
    _write(None, "../patches", split={"group_by": "frame"}, aggregate={"alpha": 0.3})
    Path("params.yaml").write_text(Path("params.yaml").read_text().replace("layout: survey", "layout: patch-folders"))
    assert main(["check"]) == 0


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"catalog": {"annotator": "C"}}, "catalog.annotator: 'C' has no labels; annotators found: A, B"),
        ({"catalog": {"annotator": "B"}}, "no patch is labelled No-Deploy or Coral"),
        ({"extract": {"patch_size": 500}}, "smaller than one patch"),
        ({"split": {"group_by": "block"}}, "block_frames"),
        ({"aggregate": {"rule": "logistic"}}, "needs validation frames of both decisions"),
    ],
)
def test_what_would_stop_a_later_stage_is_said_now(
    survey: Path, capsys: pytest.CaptureFixture[str], sections: dict[str, dict[str, object]], message: str
) -> None:
    _write(None, **sections)
    assert main(["check"]) == 2
    assert message in capsys.readouterr().err


def test_another_layout_than_the_data_has(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _patches(survey.with_name("patches"))
    _write(None, "../patches", catalog={"annotator": "auto"})
    assert main(["check"]) == 2
    assert "layout: survey, but it looks like patch-folders" in capsys.readouterr().err


def test_a_broken_table_is_named_beside_the_rest(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (survey / "annotations_B.csv").write_text("frame,x0,y0,x1,y1,label,annotator\nno.jpg,0,0,1,1,Coral,B\n")
    _write(None, train={"weights": "gone.pth"})
    assert main(["check"]) == 2
    said = capsys.readouterr().err
    assert "2 problems" in said
    assert "no.jpg" in said
    assert "gone.pth" in said
