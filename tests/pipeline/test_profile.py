"""A profile runs beside the workspace, and its results are its own."""

from pathlib import Path

from tests.pipeline.clone import Clone, new_clone


def prepare(clone: Clone) -> Path:
    clone.run("sh", ".ci/profile", "params/tiny.yaml", "runs/tiny")
    return clone.root / "runs/tiny"


def test_a_profile_starts_without_the_results_of_the_commit_and_keeps_its_own(tmp_path: Path) -> None:
    clone = new_clone(tmp_path / "clone")
    (clone.root / "metrics").mkdir(exist_ok=True)
    (clone.root / "metrics/metrics.json").write_text('{"of": "the demo"}')
    (clone.root / "dvc.lock").write_text("stages: {}\n")
    clone.commit("Record a result")
    run = prepare(clone)
    assert not (run / "metrics").exists()
    assert not (run / "dvc.lock").exists()
    assert (run / "params.yaml").read_bytes() == clone.read("params/tiny.yaml")
    (run / "metrics").mkdir()
    (run / "metrics/metrics.json").write_text('{"of": "the profile"}')
    clone.edit("reseed/base/errors.py", "Errors a user can act on", "Errors that a user can act on")
    clone.commit("Change the code")
    assert prepare(clone) == run
    assert (run / "metrics/metrics.json").read_text() == '{"of": "the profile"}'
    assert "Errors that a user can act on" in (run / "reseed/base/errors.py").read_text()
    assert clone.git("status", "--porcelain") == ""


def test_uncommitted_code_is_said_not_to_run(tmp_path: Path) -> None:
    clone = new_clone(tmp_path / "clone")
    clone.edit("reseed/base/errors.py", "Errors a user can act on", "Errors that a user can act on")
    assert "uncommitted changes" in clone.run("sh", ".ci/profile", "params/tiny.yaml", "runs/tiny")
