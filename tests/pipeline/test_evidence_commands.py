"""The commands about evidence, on runs that DVC made."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML

from tests.pipeline.clone import Clone, stages_run

pytestmark = pytest.mark.slow

PATCHES, FRAMES = "data/predictions/patches.csv", "data/predictions/frames.csv"


# What `stages.predict` does instead of ending: every labelled patch is right.
ORACLE = """
    main()
    table = PATCH_PREDICTIONS.read(PREDICTIONS)
    known = table["gold"] != ""
    table.loc[known, "predicted"] = table.loc[known, "gold"]
    PATCH_PREDICTIONS.write(table, PREDICTIONS)
"""


def reseed(clone: Clone, *arguments: str, fails: bool = False) -> str:
    return clone.run(sys.executable, "-m", "reseed", *arguments, fails=fails)


def report(clone: Clone, *arguments: str) -> Any:
    return json.loads(reseed(clone, *arguments, "--json"))


def row(found: Any, name: str) -> Any:
    return next(row for row in found["scores"] if row["score"] == name)


def test_score_on_the_output_of_predict_reproduces_the_metrics(finished: Clone) -> None:
    metrics = finished.json("metrics/metrics.json")
    patch = report(finished, "score", PATCHES, PATCHES, "--where", "split=test")
    assert patch["patch"] == {name: metrics["patch"][name] for name in patch["patch"]}
    assert {"macro_f1", "accuracy", "n", "deploy_f1"} <= patch["patch"].keys()
    frame = report(finished, "score", FRAMES, FRAMES, "--task", "frame", "--where", "split=test")
    assert frame["frame"] == {name: metrics["frame"][name] for name in frame["frame"]}
    assert {"macro_f1", "accuracy", "n", "deploy_precision"} <= frame["frame"].keys()
    assert patch["synthetic"] is frame["synthetic"] is True


def test_the_page_of_a_revision_has_its_audit_and_the_pictures_of_the_pipeline(finished: Clone, tmp_path: Path) -> None:
    made = (finished.root / "plots/report.html").read_text(encoding="utf-8")
    reseed(finished, "report", "--html", "HEAD", "--out", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    macro_f1 = finished.json("metrics/metrics.json")["patch"]["macro_f1"]
    assert f"Patch macro F1 {macro_f1:.1f} %" in made
    assert f"Patch macro F1 {macro_f1:.1f} %" in page
    assert "Audit: <strong>VERIFIED EXCEPT" in page
    assert hashlib.md5(finished.read("models/model.pt"), usedforsecurity=False).hexdigest() in page
    data = [text.split('id="data">')[1].split("</script>")[0] for text in (made, page)]
    made, shown = (json.loads(text) for text in data)
    assert {"frames": made["frames"], "csv": made["csv"]} == {"frames": shown["frames"], "csv": shown["csv"]}
    assert all(len(mistake["alike"]) == 3 for mistake in shown["surest"])
    assert {alike["gold"] for mistake in shown["surest"] for alike in mistake["alike"]} <= {
        "No-Deploy",
        "Coral",
        "Deploy",
    }
    assert not any("alike" in mistake for mistake in made["surest"])
    reseed(finished, "report", "--html", "--out", "-", "--figures", "x", fails=True)


def test_compare_commits_and_experiments(clone: Clone) -> None:
    # By frame the tiny reef has the five test groups that an interval needs.
    clone.set_params(split__group_by="frame", train__epochs=2)
    clone.dvc("repro")
    first = clone.commit("Split by frame")
    grouped_scores_are_those_of_the_metrics(clone)
    clone.edit("CONTRIBUTING.md", "# Contributing", "# How to contribute")
    clone.commit("Note")
    same = report(clone, "compare", first[:9], "main")
    for name in ("patch.macro_f1", "frame.accuracy"):
        assert [row(same, name)[key] for key in ("difference", "p")] == [0.0, 1.0]
    assert same["same_test_set"] is True
    assert same["flips"] == same["params"] == same["code"]["files"] == []
    assert same["code"]["other_files"] == ["CONTRIBUTING.md"]

    # An oracle instead of the network: a planted improvement, as an experiment.
    clone.edit("stages/predict.py", "    run_stage(main)", ORACLE)
    ran = clone.dvc("exp", "run", "--name", "oracle", "-S", "predict.batch_size=64", "aggregate")
    assert stages_run(ran) == ["predict", "repeats", "aggregate"]
    clone.git("checkout", "stages/predict.py", "params.yaml")
    better = report(clone, "compare", "HEAD", "oracle")
    patch = row(better, "patch.macro_f1")
    assert patch["b"]["mean"] == 100.0
    assert patch["clusters"] >= 5
    assert patch["low"] > 0
    assert patch["p"] < 0.05
    assert better["params"] == [{"key": "predict.batch_size", "old": "128", "new": "64", "same_on_both": False}]
    assert [file["path"] for file in better["code"]["files"]] == ["stages/predict.py"]
    assert "Patch macro F1: B is better by" in reseed(clone, "compare", "HEAD", "oracle", "--md")

    # Other frames in the test split.
    clone.dvc("exp", "run", "--name", "other-test", "-S", "split.seed=1", "-S", "train.epochs=1", "aggregate")
    other = report(clone, "compare", "HEAD", "other-test")
    assert other["same_test_set"] is False
    assert other["test_set_differences"]["test_frames_of_a_only"]
    assert row(other, "patch.macro_f1")["p"] == other["mcnemar"]["p"] == "n/a"
    assert {change["key"] for change in other["params"]} == {"split.seed", "train.epochs"}


def grouped_scores_are_those_of_the_metrics(clone: Clone) -> None:
    groups = pd.read_csv(clone.root / "data/catalog/splits.csv")[["frame_id", "group"]]
    patches = pd.read_csv(clone.root / PATCHES, keep_default_na=False).merge(groups, on="frame_id")
    patches.to_csv(clone.root.parent / "grouped.csv", index=False)
    params = YAML(typ="safe").load(clone.root / "params.yaml")["evaluate"]
    settings = ["--resamples", str(params["resamples"]), "--seed", str(params["seed"]), "--where", "split=test"]
    found = report(clone, "score", PATCHES, str(clone.root.parent / "grouped.csv"), *settings)
    interval = found["intervals"]["macro_f1"]
    metrics = clone.json("metrics/metrics.json")["patch"]
    assert (interval["low"], interval["high"]) == (metrics["macro_f1_low"], metrics["macro_f1_high"])
    assert interval["clusters"] >= 5


def test_compare_fetches_from_the_remote_and_names_what_is_nowhere(clone: Clone) -> None:
    clone.dvc("remote", "add", "--default", "storage", str(clone.root.parent / "storage"))
    clone.commit("Add a remote")
    clone.dvc("push", "predict", "repeats", "aggregate", "catalog", "split", "pull")
    fresh = clone.clone(clone.root.parent / "fresh")
    assert row(report(fresh, "compare", "HEAD~1", "HEAD"), "patch.macro_f1")["p"] == 1.0
    assert not (fresh.root / "data/predictions").exists()
    digest = next(
        line.split()[1] for line in fresh.read("dvc.lock").decode().split(PATCHES)[-1].splitlines() if "md5:" in line
    )
    (clone.root.parent / "storage/files/md5" / digest[:2] / digest[2:]).unlink()
    said = reseed(fresh, "compare", "HEAD~1", "HEAD", fails=True)
    assert said.startswith(f"error: {PATCHES} of HEAD~1")
    assert digest in said
    assert "dvc push" in said
