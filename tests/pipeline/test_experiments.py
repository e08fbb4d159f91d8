"""Sweeps and comparison across commits, as researchers run them."""

import json
import sys
import time
from pathlib import Path

import pytest

from tests.pipeline.clone import Clone, stages_run

pytestmark = pytest.mark.slow


def experiments(clone: Clone) -> dict[str, dict]:
    """Name -> params and metrics of every experiment that `dvc exp show` lists below the current commit."""
    shown = json.loads(clone.dvc("exp", "show", "--json"))
    found = {}
    for entry in shown:
        for experiment in entry.get("experiments") or []:
            revision = experiment["revs"][0]
            data = revision["data"]
            found[revision["name"]] = {
                "metrics": data["metrics"]["metrics/metrics.json"]["data"],
                "params": data["params"]["params.yaml"]["data"],
            }
    return found


def run_queue(clone: Clone, jobs: int) -> str:
    clone.dvc("queue", "start", "-j", str(jobs))
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        status = clone.dvc("queue", "status")
        tasks = status.split("Worker status")[0]
        if "Running" not in tasks and "Queued" not in tasks:
            return tasks
        time.sleep(2)
    raise AssertionError(f"the queue did not end:\n{status}")


def test_alpha_alone_reruns_aggregate_and_evaluate_only(clone: Clone) -> None:
    before = clone.json("metrics/metrics.json")
    output = clone.dvc("exp", "run", "-S", "aggregate.alpha=0.3")
    assert stages_run(output) == ["aggregate", "evaluate"]
    after = clone.json("metrics/metrics.json")
    assert after["frame"]["alpha"] == 0.3
    assert after["patch"] == before["patch"]


def test_a_training_of_before_comes_back_from_the_run_cache(clone: Clone) -> None:
    model, curve = clone.read("models/model.pt"), clone.read("models/training.csv")
    for name in ("model.pt", "model.json", "train.json", "training.csv"):
        (clone.root / "models" / name).unlink()
    (clone.root / "dvc.lock").unlink()
    assert stages_run(clone.dvc("repro")) == ["evaluate"], "what is kept in git is written, not restored"
    assert (clone.read("models/model.pt"), clone.read("models/training.csv")) == (model, curve)
    assert clone.read("plots/training.csv") == curve


def test_a_queued_sweep_over_alpha_and_patch_size(clone: Clone) -> None:
    clone.dvc("exp", "run", "--queue", "-S", "aggregate.alpha=0.02,0.9", "-S", "extract.patch_size=100,200")
    tasks = run_queue(clone, jobs=1)
    assert tasks.count("Success") == 4, tasks
    found = experiments(clone)
    assert len(found) == 4
    trained = [
        run["params"]["extract"]["patch_size"]
        for name, run in found.items()
        if "train" in stages_run(clone.dvc("queue", "logs", name))
    ]
    assert trained == [200], "patches of 100 px were trained on before, and once is enough for 200"
    by_key = {
        (run["params"]["extract"]["patch_size"], run["params"]["aggregate"]["alpha"]): run["metrics"]
        for run in found.values()
    }
    assert len(by_key) == 4
    for alpha in (0.02, 0.9):
        assert by_key[100, alpha]["patch"] != by_key[200, alpha]["patch"]
        assert by_key[100, alpha]["patch"]["n"] > by_key[200, alpha]["patch"]["n"]
    for size in (100, 200):
        assert by_key[size, 0.02]["patch"] == by_key[size, 0.9]["patch"]
        assert by_key[size, 0.02]["frame"] != by_key[size, 0.9]["frame"]
    table = clone.dvc("exp", "show", "--csv", "--only-changed")
    assert "macro_f1" in table
    sweep = json.loads(clone.run(sys.executable, "-m", "reseed", "sweep", "--json"))
    assert set(sweep["params"]) == {"aggregate.alpha", "extract.patch_size"}
    assert sweep["synthetic"] is True
    shown = {
        (trial["params"]["extract.patch_size"], trial["params"]["aggregate.alpha"]): trial["scores"]["frame.macro_f1"]
        for trial in sweep["trials"]
        if trial["name"] in found
    }
    assert shown == {key: metrics["frame"]["macro_f1"] for key, metrics in by_key.items()}


def test_a_queued_experiment_runs_the_library_code_that_it_records(clone: Clone) -> None:
    """The workspace is put back before the queue starts: only the experiment's own copy holds the edit."""
    clone.edit("reseed/base/classes.py", "CLASSES: Final = (", "print('edited library')\nCLASSES: Final = (")
    clone.dvc("exp", "run", "--queue", "--name", "edited", "-S", "aggregate.alpha=0.4")
    clone.git("checkout", "reseed/base/classes.py")
    assert "Success" in run_queue(clone, jobs=1)
    assert "edited library" in clone.dvc("queue", "logs", "edited")
    assert "edited library" in clone.git("show", "refs/exps/" + exp_ref(clone, "edited") + ":reseed/base/classes.py")


def exp_ref(clone: Clone, name: str) -> str:
    refs = clone.git("for-each-ref", "--format=%(refname)", "refs/exps").split()
    return next(ref for ref in refs if ref.endswith(f"/{name}")).removeprefix("refs/exps/")


def test_metrics_diff_shows_the_change_in_a_clone_without_data(clone: Clone, tmp_path: Path) -> None:
    before = clone.json("metrics/metrics.json")["patch"]["macro_f1"]
    clone.set_params(train__seed=1)
    clone.dvc("repro")
    clone.commit("Train from another seed")
    after = clone.json("metrics/metrics.json")["patch"]["macro_f1"]
    assert before != after
    bare = clone.clone(tmp_path / "bare")
    diff = json.loads(bare.dvc("metrics", "diff", "--json", "HEAD~1"))
    change = diff["metrics/metrics.json"]["patch.macro_f1"]
    assert (change["old"], change["new"]) == (before, after)
    assert "patch.macro_f1" in bare.dvc("metrics", "diff", "--all", "HEAD~1")
    assert not (bare.root / ".dvc/cache").exists()


def test_push_clone_pull_is_clean(clone: Clone, tmp_path: Path) -> None:
    clone.dvc("remote", "add", "--default", "storage", str(tmp_path / "storage"))
    clone.commit("Add a remote")
    clone.dvc("push")
    fresh = clone.clone(tmp_path / "fresh")
    fresh.dvc("pull")
    assert "up to date" in fresh.dvc("status")
    assert stages_run(fresh.dvc("repro")) == []
    for name in ("models/model.pt", "data/patches/patches.npy", "plots/figures/alpha_curve.png"):
        assert fresh.read(name) == clone.read(name)


def test_experiments_travel_by_git_remote(clone: Clone, tmp_path: Path) -> None:
    clone.run("git", "clone", "--quiet", "--bare", str(clone.root), str(tmp_path / "server.git"))
    clone.git("remote", "add", "origin", str(tmp_path / "server.git"))
    clone.dvc("remote", "add", "--default", "storage", str(tmp_path / "storage"))
    clone.commit("Add a remote")
    clone.git("push", "--quiet", "origin", "main")
    clone.dvc("exp", "run", "--name", "low-alpha", "-S", "aggregate.alpha=0.1")
    clone.dvc("exp", "push", "origin", "low-alpha")
    other = Clone(tmp_path / "other")
    clone.run("git", "clone", "--quiet", str(tmp_path / "server.git"), str(other.root))
    other.dvc("exp", "pull", "origin", "low-alpha")
    other.dvc("exp", "apply", "low-alpha")
    assert other.json("metrics/metrics.json")["frame"]["alpha"] == 0.1
