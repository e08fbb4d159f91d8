import argparse
import json
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from reseed.artifacts.raw import MACHINE_NOTICE, SYNTHETIC_NOTICE, WEAK_NOTICE
from reseed.base.errors import ReseedError
from reseed.cli import scores
from stages import aggregate, evaluate
from tests.unit.score.runs import write_run


def call(*argv: str) -> int:
    parser = argparse.ArgumentParser()
    scores.add_arguments(parser)
    return scores.run(parser.parse_args(argv))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path)
    return tmp_path


def test_scores_of_other_parameters_say_so(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    aggregate.main([])
    evaluate.main(["--no-figures"])
    recorded = {"cmd": "x", "params": {"params.yaml": {"aggregate.alpha": "auto"}}}
    (run / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": {"aggregate": recorded}}))
    values = yaml.safe_load((run / "params.yaml").read_text())
    assert values["aggregate"]["alpha"] == "auto"
    call()
    assert "have changed" not in capsys.readouterr().out
    values["aggregate"]["alpha"] = 0.5
    (run / "params.yaml").write_text(yaml.safe_dump(values))
    call()
    line = "The parameters have changed since the scores were made (aggregate.alpha was auto, is 0.5): run `dvc repro`."
    assert f"! {line}" in capsys.readouterr().out.splitlines()
    call("--json")
    assert json.loads(capsys.readouterr().out)["stale"] == [line]


def test_the_table_leads_with_patch_macro_f1(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    aggregate.main([])
    evaluate.main(["--no-figures"])
    assert call() == 0
    # Mean colour says Deploy, Coral, No-Deploy, No-Deploy of each frame. Deploy: tp 2, predicted 4, gold 4: F1 4/8;
    # Coral: tp 1, predicted 4, gold 5: 2/9; No-Deploy: tp 3, predicted 7, gold 6: 6/13. Mean 39.46 %.
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[-1] == f"*** {SYNTHETIC_NOTICE} ***"
    assert lines[2:8] == [
        "Test patches: 15 labelled",
        "  macro F1            79.19 %   95 % interval n/a: 2 clusters; an interval needs at least 5",
        "  over trainings     1 training: how much of it is luck is not known",
        "  best baseline       39.46 %   mean colour",
        "  annotator B         72.70 %   scored like the network, on 15 of these",
        "  accuracy            80.00 %",
    ]
    assert "  best baseline       40.00 %   largest class" in lines
    assert any(line.startswith("Patch macro F1 79.2 % is 39.7 points above the best baseline") for line in lines)
    assert any(line.startswith("Frame macro F1 25.0 % does NOT beat the best baseline") for line in lines)
    assert "Test frames: 3 labelled, alpha 0.37" in lines
    assert "Data      demo (demo, sha256 abababababab): 2 train frames, 4 test" in lines
    assert "Page      plots/report.html" in lines
    assert "Pictures  plots/figures" in lines
    assert call("--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"synthetic": True, "weak": False, "units": "scores in percent"} | json.loads(
        (run / "metrics/metrics.json").read_text()
    )


def test_a_real_run_elsewhere_without_frame_labels(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(run, synthetic=False, frame_labels=False, alpha="0.5")
    aggregate.main([])
    evaluate.main(["--no-figures"])
    monkeypatch.chdir(run.parent)
    assert call(run.name) == 0
    text = capsys.readouterr().out
    assert "SYNTHETIC" not in text
    assert "  Deploy recall           n/a" in text
    assert f"Pictures  {run.name}/plots/figures" in text


def test_scores_of_weak_labels_say_so(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(run, synthetic=False, kind="weak")
    aggregate.main([])
    evaluate.main(["--no-figures"])
    call()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[-1] == f"*** {WEAK_NOTICE} ***"
    details = json.loads((run / "metrics/details.json").read_text())
    assert details["patch"]["test"]["labels"] == details["patch"]["val"]["labels"] == "weak"
    assert details["data"]["patch_labels"]["test"] == {"weak": 15}
    write_run(run, synthetic=False)
    evaluate.main(["--no-figures"])
    call()
    assert "WEAK" not in capsys.readouterr().out
    assert json.loads((run / "metrics/details.json").read_text())["patch"]["test"]["labels"] == "annotated"


def change(path: Path, column: str, old: str, new: str) -> None:
    """Replace a value of one column in the rows of annotator A, or in all rows where the table has no annotator."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    mine = table["annotator"] == "A" if "annotator" in table else pd.Series(data=True, index=table.index)
    table.loc[mine & (table[column] == old), column] = new
    table.to_csv(path, index=False, lineterminator="\n")


def test_a_score_over_an_absent_class_says_so_beside_the_number(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    aggregate.main([])
    evaluate.main(["--no-figures"])
    call()
    assert "!" not in capsys.readouterr().out
    change(run / "data/predictions/patches.csv", "gold", "Coral", "No-Deploy")
    change(run / "data/patches/labels.csv", "label", "Coral", "No-Deploy")
    change(run / "data/catalog/frame_labels.csv", "label", "Deploy", "No-Deploy")
    aggregate.main([])
    evaluate.main(["--no-figures"])
    call()
    lines = capsys.readouterr().out.splitlines()
    patch = next(n for n, line in enumerate(lines) if line.startswith("Test patches"))
    frame = next(n for n, line in enumerate(lines) if line.startswith("Test frames"))
    assert lines[patch + 3] == "  ! no patch is Coral by reference: counts 0 in the macro F1"
    assert lines[frame + 3] == "  ! every frame is No-Deploy by reference: Deploy counts 0 in the macro F1"


def test_no_scores_yet(run: Path) -> None:
    with pytest.raises(ReseedError, match=r"metrics\.json: no scores here yet; run `make repro`"):
        call()


def test_it_starts_without_matplotlib() -> None:
    module = Path(scores.__file__).read_text()
    assert "figures.style" not in module
    assert "matplotlib" not in Path(sys.modules["reseed.artifacts.raw"].__file__ or "").read_text().replace(
        "apart from matplotlib", ""
    )


def test_the_spread_over_trainings_stands_below_the_score(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(run, repeats="DN")
    aggregate.main([])
    evaluate.main([])
    call()
    lines = capsys.readouterr().out.splitlines()
    assert "  over trainings     37.4 ± 36.3 (3 trainings)" in lines
    assert "  over trainings     30.0 ± 8.7 (3 trainings)" in lines


def test_scores_of_machine_labels_say_so(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(run, synthetic=False, kind="machine")
    aggregate.main([])
    evaluate.main(["--no-figures"])
    call()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[-1] == f"*** {MACHINE_NOTICE} ***"
    call("--json")
    assert json.loads(capsys.readouterr().out)["machine_labels"] is True


def test_one_frame_label_of_a_machine_marks_every_score(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(run, synthetic=False)
    labels = pd.read_csv(run / "data/catalog/frame_labels.csv", dtype=str, keep_default_na=False)
    labels.loc[(labels["gold"] == "1").idxmax(), "kind"] = "machine"
    labels.to_csv(run / "data/catalog/frame_labels.csv", index=False, lineterminator="\n")
    aggregate.main([])
    evaluate.main(["--no-figures"])
    assert json.loads((run / "metrics/details.json").read_text())["patch"]["test"]["labels"] == "machine"
