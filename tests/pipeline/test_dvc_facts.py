"""What reseed relies on in DVC, or guards against: if an update of DVC changes it, these say so."""

import json
from pathlib import Path

import pytest
import yaml

from reseed.params.load import read_yaml
from tests.pipeline.clone import ROOT, Clone, stages_run

pytestmark = pytest.mark.slow


@pytest.fixture
def small(tmp_path: Path) -> Clone:
    """A repository with one stage that copies params.yaml to an output."""
    made = Clone(tmp_path / "small")
    made.root.mkdir()
    made.git("init", "--quiet", "--initial-branch", "main")
    made.dvc("init", "--quiet")
    (made.root / "copy.py").write_text("import shutil; shutil.copy('params.yaml', 'out.yaml')\n")
    (made.root / "params.yaml").write_text("train: {lr: 0.1, size: 1, width: 1}\n")
    (made.root / "dvc.yaml").write_text(
        "stages:\n  copy:\n    cmd: python copy.py\n    params: [train]\n    outs: [out.yaml]\n"
    )
    made.commit("Start")
    return made


def test_a_parameter_named_size_is_invisible_to_the_run_cache(small: Clone) -> None:
    """Why such names are banned: the second run silently gives the result of the first (treeverse/dvc#10296)."""
    small.dvc("repro")
    small.set_params(train__size=2)
    small.dvc("repro")
    assert read_yaml(small.root / "out.yaml")["train"]["size"] == 1
    small.set_params(train__width=2)
    small.dvc("repro")
    assert read_yaml(small.root / "out.yaml")["train"]["width"] == 2


def test_a_number_set_on_the_command_line_is_a_number_to_us_and_text_to_yaml_1_1(small: Clone) -> None:
    small.dvc("exp", "run", "-S", "train.lr=1e-5")
    assert read_yaml(small.root / "params.yaml")["train"]["lr"] == 1e-5
    assert yaml.safe_load((small.root / "params.yaml").read_text())["train"]["lr"] == "1e-05"


def test_an_experiment_in_a_shallow_clone_is_lost(small: Clone, tmp_path: Path) -> None:
    small.dvc("repro")
    small.commit("Run")
    (small.root / "note").touch()
    small.commit("Second commit, so that a depth of 1 cuts something off")
    small.run("git", "clone", "--quiet", "--depth", "1", f"file://{small.root}", str(tmp_path / "shallow"))
    shallow = Clone(tmp_path / "shallow")
    shallow.dvc("exp", "run", "--temp", "--name", "lost", "-S", "train.lr=0.2")
    assert "lost" not in shallow.dvc("exp", "list", "--all-commits")


def test_every_workflow_that_runs_dvc_checks_out_the_full_history() -> None:
    workflows = sorted((ROOT / ".github/workflows").glob("*.yml"))
    assert workflows
    jobs = [job for path in workflows for job in yaml.safe_load(path.read_text())["jobs"].values()]
    # The one that only puts the report on its pull request runs no DVC.
    jobs = [job for job in jobs if not any(step.get("run") == "bash .ci/comment" for step in job["steps"])]
    assert len(jobs) == len(workflows)
    for job in jobs:
        checkouts = [step for step in job["steps"] if "actions/checkout" in step.get("uses", "")]
        assert checkouts
        assert all(step["with"]["fetch-depth"] == 0 for step in checkouts)


def test_dvc_commit_makes_an_edited_score_look_up_to_date_and_recomputing_does_not(clone: Clone) -> None:
    honest = clone.read("metrics/metrics.json")
    metrics = clone.json("metrics/metrics.json")
    metrics["patch"]["macro_f1"] = 99.9
    (clone.root / "metrics/metrics.json").write_text(json.dumps(metrics))
    clone.dvc("commit", "--force")
    assert "up to date" in clone.dvc("status")
    clone.dvc("repro", "--force", "--single-item", "evaluate")
    assert clone.read("metrics/metrics.json") == honest


def test_a_failed_run_leaves_gitignore_as_it_is(clone: Clone) -> None:
    before = clone.read(".gitignore")
    clone.edit("stages/split.py", "def main", "raise RuntimeError\n\n\ndef main")
    clone.dvc("repro", fails=True)
    assert clone.read(".gitignore") == before
    assert ".gitignore" not in clone.git("status", "--porcelain").split()


def test_a_null_and_a_list_vanish_from_metrics_and_a_csv_is_none(small: Clone) -> None:
    (small.root / "m.json").write_text('{"kept": 1, "nothing": null, "several": [1, 2]}')
    (small.root / "m.csv").write_text("f1\n1\n")
    (small.root / "dvc.yaml").write_text("metrics: [m.json]\n")
    shown = small.dvc("metrics", "show", "--json")
    assert '"kept"' in shown
    assert "several" not in small.dvc("metrics", "show")
    (small.root / "dvc.yaml").write_text("metrics: [m.csv]\n")
    assert json.loads(small.dvc("metrics", "show", "--json"))[""]["data"]["m.csv"]["data"] == "f1 1"  # text, no number


def test_a_changed_source_is_seen_by_check_and_taken_by_a_forced_pull(clone: Clone, tmp_path: Path) -> None:
    source = tmp_path / "survey"
    clone.run("cp", "-r", "data/raw/demo", str(source))
    clone.run("chmod", "-R", "u+w", str(source))
    entry = {
        "name": "survey", "kind": "folder", "uri": str(source), "layout": "survey", "sha256": None, "licence": "mine",
        "citation": "unknown", "split": None,
    }  # fmt: skip
    clone.set_params(pull__sources=[entry])
    clone.dvc("repro", "split")
    assert stages_run(clone.dvc("repro", "split")) == []
    (source / "notes.txt").write_text("new")
    assert stages_run(clone.dvc("repro", "split")) == []  # DVC does not look there
    assert "dvc repro -f pull" in clone.run("python", "-m", "reseed", "check")
    output = clone.dvc("repro", "--force", "--single-item", "pull")
    assert stages_run(output) == ["pull"]
    assert (clone.root / "data/raw/survey/notes.txt").exists()
    assert "dvc repro -f pull" not in clone.run("python", "-m", "reseed", "check")


def test_a_relative_source_is_found_from_an_experiment_that_runs_elsewhere(clone: Clone) -> None:
    clone.run("cp", "-r", "data/raw/demo", "../survey")
    clone.run("chmod", "-R", "u+w", "../survey")
    entry = {
        "name": "demo", "kind": "folder", "uri": "../survey", "layout": "survey", "sha256": None, "licence": "mine",
        "citation": "unknown", "split": None,
    }  # fmt: skip
    clone.set_params(pull__sources=[entry])
    clone.dvc("repro", "split")
    clone.commit("Use a folder")
    clone.set_params(pull__sources=[entry | {"licence": "other"}])
    output = clone.dvc("exp", "run", "--temp", "--name", "elsewhere", "split")
    assert "pull" in stages_run(output)
    assert "elsewhere" in clone.dvc("exp", "list")
