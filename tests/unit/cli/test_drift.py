"""`python -m reseed drift`, on revisions written by hand: what it cannot hold against anything."""

from pathlib import Path

import pytest

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.cli.main import main
from tests.unit.audit.history import History, reef
from tests.unit.audit.results import commit_result


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.chdir(tmp_path)
    return History(tmp_path).start()


def test_a_lock_file_that_does_not_fit_is_drift(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    commit_result(history, reef())
    # The fixture has a lock file and no dvc.yaml.
    assert main(["drift"]) == 1
    said = capsys.readouterr().out
    assert "chain  FAIL" in said
    assert "patch.macro_f1" in said
    assert "DRIFTED" not in said
    assert "SYNTHETIC" not in said


def test_scores_of_rendered_frames_are_marked(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    commit_result(history, reef().but(synthetic=True))
    assert main(["drift"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[-1] == f"*** {SYNTHETIC_NOTICE} ***"


def test_no_run_and_no_revision_are_errors(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    history.commit(reef())
    assert main(["drift"]) == 2
    assert "no run here to hold against HEAD" in capsys.readouterr().err
    commit_result(history, reef())
    assert main(["drift", "nowhere"]) == 2
    assert "nowhere: neither" in capsys.readouterr().err
    assert main(["drift", "HEAD~1"]) == 1
    assert "so there are no scores to hold the run against" in capsys.readouterr().out


@pytest.mark.parametrize("argv", [["--patch-points", "101"], ["--patch-points", "x"], ["--frames", "-1"]])
def test_tolerances_are_sane(argv: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(["drift", *argv])
