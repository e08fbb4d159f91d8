import argparse
import sys
from pathlib import Path

import pytest

from reseed.cli import scores
from reseed.errors import ReseedError
from reseed.figures.notice import SYNTHETIC_NOTICE
from stages import aggregate, evaluate
from tests.unit.evaluate.runs import write_run


def call(*argv: str) -> int:
    parser = argparse.ArgumentParser()
    scores.add_arguments(parser)
    return scores.run(parser.parse_args(argv))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evaluate, "PICTURES", {})
    write_run(tmp_path)
    return tmp_path


def test_the_table_leads_with_patch_macro_f1(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    aggregate.main([])
    evaluate.main([])
    assert call() == 0
    # Mean colour says Deploy, Coral, No-Deploy, No-Deploy of each frame. Deploy: tp 2, predicted 4, gold 4: F1 4/8;
    # Coral: tp 1, predicted 4, gold 5: 2/9; No-Deploy: tp 3, predicted 7, gold 6: 6/13. Mean 39.46 %.
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[-1] == f"*** {SYNTHETIC_NOTICE} ***"
    assert lines[2:6] == [
        "Test patches: 15 labelled",
        "  macro F1            79.19 %   95 % interval n/a: 2 clusters; an interval needs at least 5",
        "  best baseline       39.46 %   mean colour",
        "  accuracy            80.00 %",
    ]
    assert "  best baseline       40.00 %   largest class" in lines
    assert any(line.startswith("Patch macro F1 79.2 % is 39.7 points above the best baseline") for line in lines)
    assert any(line.startswith("Frame macro F1 25.0 % does NOT beat the best baseline") for line in lines)
    assert "Test frames: 3 labelled, alpha 0.49" in lines
    assert "Data      demo (demo, sha256 abababababab): 2 train frames, 4 test" in lines
    assert "Pictures  plots/figures" in lines


def test_a_real_run_elsewhere_without_frame_labels(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(run, synthetic=False, frame_labels=False, alpha="0.5")
    aggregate.main([])
    evaluate.main([])
    monkeypatch.chdir(run.parent)
    assert call(run.name) == 0
    text = capsys.readouterr().out
    assert "SYNTHETIC" not in text
    assert "  Deploy recall           n/a" in text
    assert f"Pictures  {run.name}/plots/figures" in text


def test_no_scores_yet(run: Path) -> None:
    with pytest.raises(ReseedError, match=r"metrics\.json: no scores here yet; run `make repro`"):
        call()


def test_it_starts_without_matplotlib() -> None:
    module = Path(scores.__file__).read_text()
    assert "figures.style" not in module
    assert "matplotlib" not in Path(sys.modules["reseed.figures.notice"].__file__ or "").read_text().replace(
        "apart from matplotlib", ""
    )
