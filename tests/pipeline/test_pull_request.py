"""What the workflow of a pull request runs, between two commits of a throw-away clone."""

import base64
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.pipeline.clone import Clone

pytestmark = pytest.mark.slow

METRICS = "metrics/metrics.json"


@dataclass(frozen=True)
class Published:
    """What a run of the script left behind: its report, and the same in the summary and the output of the job."""

    report: str
    log: str


def pull_request(clone: Clone, base: str, *, fails: bool = False) -> Published:
    """Run the script as the workflow does, with requirements that count as installed."""
    (clone.root / ".venv").mkdir(exist_ok=True)
    for stamp in (".created", ".installed"):
        (clone.root / ".venv" / stamp).touch()
    folder = clone.root.parent
    summary, output, report = (folder / f"{clone.root.name}-{name}" for name in ("summary", "output", "report.md"))
    env = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output)}
    log = clone.run("bash", ".ci/pull-request", base, str(report), fails=fails, env=env)
    text = report.read_text()
    if "No result" not in text:
        assert report.with_suffix(".html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert summary.read_text() == text
    lines = output.read_text().splitlines()
    assert [line.split("=")[0] for line in lines] == ["report"]
    assert base64.b64decode(lines[0].removeprefix("report=")).decode() == text
    assert len(text) < 65_536
    return Published(text, log)


def beside(clone: Clone, target: Path) -> Clone:
    """A fresh clone, as a workflow gets it, with the outputs of another, so that only the scores are computed."""
    fresh = clone.clone(target)
    (fresh.root / ".dvc/config.local").write_text(f"[cache]\n    dir = {clone.root}/.dvc/cache\n")
    fresh.dvc("checkout")
    return fresh


def test_without_a_remote_both_sides_are_run_again(clone: Clone, tmp_path: Path) -> None:
    base = clone.git("rev-parse", "HEAD").strip()
    clone.git("checkout", "--quiet", "-b", "high-alpha")
    clone.set_params(aggregate__alpha=0.9)
    clone.dvc("repro")
    head = clone.commit("Decide by hand")
    clone.git("checkout", "--quiet", "main")
    clone.edit("CONTRIBUTING.md", "# Contributing", "# How to contribute")
    main = clone.commit("The base moves on")
    clone.git("checkout", "--quiet", "high-alpha")

    fresh = beside(clone, tmp_path / "fresh")
    found = pull_request(fresh, main).report
    # Compared with where the branch left the base, not with what the base has become.
    assert f"What the workspace does to the result of `rerun-of/{base[:7]}`" in found
    assert "CONTRIBUTING" not in found
    assert "| `aggregate.alpha` | `auto` | `0.9` |" in found
    assert "**Code**: none that shapes a result" in found
    assert "SYNTHETIC" in found
    assert "alpha 0.9, set by hand" in found
    assert "**Patch macro F1" in found
    assert "every answer is the same" in found
    assert f"### Is the committed result that of `{head[:7]}`? ✅ Yes" in found
    assert "✅ PASS" in found
    assert "❌" not in found.replace("❌ now wrong", "")
    assert not (fresh.root / "runs/base").exists()
    assert fresh.git("branch", "--list").split() == ["*", "high-alpha"]

    # A score that was edited and called up to date: only the run tells.
    score = clone.json(METRICS)["patch"]["accuracy"]
    clone.edit(METRICS, f'"accuracy": {score}', f'"accuracy": {score + 6}')
    clone.dvc("commit", "--force")
    clone.commit("A better score")
    forged = pull_request(beside(clone, tmp_path / "forged"), main, fails=True).report
    assert "? ❌ No" in forged
    drifted = [line.split() for line in forged.splitlines() if line.endswith("DRIFTED")]
    assert drifted == [["patch.accuracy", str(score + 6), str(score), "5", "points", "DRIFTED"]]


def test_code_and_parameters_that_the_result_is_not_of(clone: Clone) -> None:
    clone.set_params(train__seed=7)
    clone.commit("Try another seed")
    said = clone.run("python", "-m", "reseed", "drift", fails=True)
    assert "stage train used train.seed: 0, params.yaml has 7" in said
    clone.git("reset", "--quiet", "--hard", "HEAD~1")
    clone.edit("reseed/score/alpha.py", "_TIE = 1e-12", "_TIE = 1e-2")
    clone.commit("Tidy")
    said = clone.run("python", "-m", "reseed", "drift", fails=True)
    assert "read reseed/score as" in said
    # Not committed: the commit itself is fine.
    clone.git("reset", "--quiet", "--soft", "HEAD~1")
    assert "DRIFTED" not in clone.run("python", "-m", "reseed", "drift")


def test_with_a_remote_the_pushed_result_is_audited(clone: Clone, tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    clone.dvc("remote", "add", "--default", "storage", str(storage))
    head = clone.commit("Add a remote")
    clone.dvc("push")
    found = pull_request(clone.clone(tmp_path / "fresh"), "HEAD~1").report
    assert f"What `HEAD` (`{head[:7]}`) does to the result of `{clone.git('rev-parse', 'HEAD~1')[:7]}`" in found
    assert f"### Is the committed result that of `{head[:7]}`? ✅ Yes" in found
    assert "re-derive  PASS" in found
    assert "**Parameters**: none" in found

    # Somebody forgot to push.
    digest = clone.read("dvc.lock").decode().split("path: data/predictions/patches.csv\n")[-1].split("md5: ")[1][:32]
    (storage / "files/md5" / digest[:2] / digest[2:]).unlink()
    missing = pull_request(clone.clone(tmp_path / "missing"), "HEAD~1", fails=True).report
    assert "dvc push" in missing
    assert "? ❌ No" in missing
    assert "data/predictions/patches.csv" in missing
    # The scores in git are reported all the same.
    assert "| patch macro F1 |" in missing
