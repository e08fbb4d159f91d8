"""`dvc repro` from nothing: what it leaves, that it is repeatable, and that each stage reads only what it declares."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest
import yaml

from tests.pipeline.clone import STAGES, Clone, stages_run

pytestmark = pytest.mark.slow


def outputs(clone: Clone, stage: str) -> list[str]:
    entry = yaml.safe_load((clone.root / "dvc.yaml").read_text())["stages"][stage]
    return [name for kind in ("outs", "metrics") for out in entry.get(kind, []) for name in out]


def digest(path: Path) -> dict[str, str]:
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {
        str(file.relative_to(path.parent)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.is_file()
    }


def test_every_declared_output_is_there_and_git_sees_only_the_small_ones(finished: Clone) -> None:
    for stage in STAGES:
        for name in outputs(finished, stage):
            assert (finished.root / name).exists(), name
    tracked = set(finished.git("ls-files", "metrics", "plots", "models", "data").split())
    assert {"metrics/metrics.json", "metrics/details.json", "plots/alpha_curve.csv", "metrics/by_site.csv"} <= tracked
    assert not any(name.endswith((".npy", ".pt", ".jpg", ".png")) for name in tracked)
    assert finished.git("status", "--porcelain") == ""


def test_metrics_hold_the_documented_keys_as_plain_values(finished: Clone) -> None:
    metrics = finished.json("metrics/metrics.json")
    spread, class_scores = ["macro_f1", "macro_f1_mean", "macro_f1_sd"], ["no_deploy_f1", "coral_f1", "deploy_f1"]
    assert {section: sorted(values) for section, values in metrics.items()} == {
        "patch": sorted([*spread, "macro_f1_low", "macro_f1_high", "accuracy", "n", *class_scores]),
        "frame": sorted([*spread, "alpha", "accuracy", "deploy_precision", "deploy_recall", "deploy_f1", "n"]),
        "data": ["synthetic"],
    }
    assert sum(map(len, metrics.values())) <= 20
    # null and lists vanish from `dvc metrics show`; what cannot be given is said
    values = [value for section in metrics.values() for value in section.values()]
    assert all(isinstance(value, int | float) or value == "n/a" for value in values)
    shown = finished.dvc("metrics", "show", "--json")
    assert '"macro_f1"' in shown


def test_a_second_forced_run_leaves_the_lock_file_unchanged(clone: Clone) -> None:
    before = clone.read("dvc.lock")
    assert stages_run(clone.dvc("repro", "--force")) == list(STAGES)
    assert clone.read("dvc.lock") == before
    assert clone.git("status", "--porcelain") == ""


def test_a_repeated_run_does_nothing(clone: Clone) -> None:
    assert stages_run(clone.dvc("repro")) == []
    assert "up to date" in clone.dvc("status")


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_alone_with_its_declared_inputs_gives_the_same_bytes(
    stage: str, finished: Clone, tmp_path: Path
) -> None:
    """A folder that holds only the listed deps and params: anything else that the stage read would be missing."""
    entry = yaml.safe_load((finished.root / "dvc.yaml").read_text())["stages"][stage]
    for dep in entry["deps"]:
        source, target = finished.root / dep, tmp_path / dep
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)
    values = yaml.safe_load((finished.root / "params.yaml").read_text())
    declared: dict[str, dict[str, object]] = {}
    for key in entry["params"]:
        section, name = key.split(".")
        declared.setdefault(section, {})[name] = values[section][name]
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(declared))
    Clone(tmp_path).run("python", "-m", f"stages.{stage}", env={"PYTHONPATH": ""})
    for name in outputs(finished, stage):
        assert digest(tmp_path / name) == digest(finished.root / name), name


def test_another_locale_hash_seed_and_listing_order_give_the_same_bytes(clone: Clone) -> None:
    before = clone.read("dvc.lock")
    clone.dvc("repro", "--force", "catalog", env={"PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Pacific/Auckland"})
    assert clone.read("dvc.lock") == before


@pytest.mark.parametrize("cache", ["copy", "hardlink,copy", None])
def test_source_files_stay_as_they_are(cache: str | None, finished: Clone, tmp_path: Path) -> None:
    """Mode, times, inode and link count of the user's own files, under several ways DVC links its cache."""
    clone = finished.clone(tmp_path / "clone")
    source = tmp_path / "survey"
    shutil.copytree(finished.root / "data/raw/demo", source)
    for file in source.rglob("*"):
        file.chmod(0o755 if file.is_dir() else 0o640)
    if cache:
        clone.dvc("config", "cache.type", cache)
    use_folder(clone, str(source))
    before = facts(source)
    clone.dvc("repro", "catalog")
    assert facts(source) == before
    if cache is None:  # a second time, over outputs that are links into the cache
        clone.dvc("repro", "--force", "catalog")
        assert facts(source) == before


def use_folder(clone: Clone, uri: str, **changes: object) -> None:
    entry = {"name": "survey", "kind": "folder", "uri": uri, "layout": "survey", "sha256": None}
    entry |= {"licence": "unknown", "citation": "unknown", "split": None}
    clone.set_params(pull__sources=[entry | changes])


def facts(folder: Path) -> dict[str, tuple[int, ...]]:
    return {
        str(path): (info.st_mode, info.st_mtime_ns, info.st_ino, info.st_nlink, info.st_size)
        for path in sorted(folder.rglob("*"))
        for info in [os.lstat(path)]
    }
