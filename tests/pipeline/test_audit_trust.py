"""An auditor with a checkout of his own, and a branch of somebody else in it: what he finds, and what it may not do."""

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from reseed.audit.trusted import DIFFERS, FAIL, NOT_CHECKED, PASS
from tests.pipeline.clone import Clone
from tests.pipeline.test_audit import FAST, METRICS, audit, forge, rewrite, told
from tests.unit.audit.test_sandbox import needs_sandbox

pytestmark = pytest.mark.slow

GOLD_IS_PREDICTED = """
import pandas as pd
_read = pd.read_csv
def _lie(*args, **keys):
    table = _read(*args, **keys)
    if "predicted" in table and "gold" in table:
        table["predicted"] = table["gold"].where(table["gold"] != "", table["predicted"])
    return table
pd.read_csv = _lie
"""


@pytest.fixture
def forged(clone: Clone) -> Clone:
    return clone


@pytest.fixture
def auditor(finished: Clone, tmp_path: Path) -> Clone:
    return finished.copy(tmp_path / "auditor")


def received(auditor: Clone, forged: Clone) -> None:
    """Bring the last commit and the objects of the forger to the auditor, as `git fetch` and `dvc fetch` do."""
    auditor.git("fetch", "--quiet", str(forged.root), "+HEAD:cheat")
    for path in (forged.root / ".dvc/cache/files").rglob("*"):
        goal = auditor.root / ".dvc/cache/files" / path.relative_to(forged.root / ".dvc/cache/files")
        if path.is_file() and not goal.exists():
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, goal)


def before(clone: Clone, path: str, code: str, mark: str = '\nif __name__ == "__main__":') -> None:
    text = (clone.root / path).read_text()
    assert mark in text
    (clone.root / path).write_text(text.replace(mark, f"\n{code}\n{mark}", 1))


def test_code_that_scores_otherwise(forged: Clone, auditor: Clone) -> None:
    before(forged, "stages/evaluate.py", GOLD_IS_PREDICTED)
    forged.run(sys.executable, "-m", "stages.evaluate")
    assert forged.json(METRICS)["patch"]["macro_f1"] == 100
    forge(forged)
    received(auditor, forged)
    exit_code, checks, report = audit(auditor, "cheat", "--rerun", "--skip", "re-derive", "--diff")
    assert (exit_code, checks["code"], checks["chain"], checks["recompute"]) == (1, DIFFERS, PASS, FAIL)
    assert "it can change the scores" in told(report, "code")
    assert "+pd.read_csv = _lie" in report["diff"]
    assert checks["rerun"] == NOT_CHECKED, "nothing trains once something is wrong"
    assert report["verdict"] == "FAILED: recompute"


@pytest.mark.parametrize("path", ["psutil.py", "pandas/__init__.py", "sitecustomize.py", "reseed/score/more.py"])
def test_code_beside_that_of_the_auditor_is_never_verified(forged: Clone, auditor: Clone, path: str) -> None:
    (forged.root / path).parent.mkdir(exist_ok=True)
    (forged.root / path).write_text("raise SystemExit('it ran')\n")
    forged.commit("Add a helper")
    received(auditor, forged)
    exit_code, checks, report = audit(auditor, "cheat", "--skip", "re-derive")
    assert checks["code"] == DIFFERS
    assert path in told(report, "code")
    assert exit_code == (1 if checks["chain"] == FAIL else 3)
    assert (checks["recompute"], report["passed"]) == (PASS, False)
    assert "it ran" not in json.dumps(report)


@pytest.mark.parametrize("keys", ["epochs|lr|seed", "loss|gamma", "flip"])
def test_parameters_that_nobody_recorded(forged: Clone, auditor: Clone, keys: str) -> None:
    for file, pattern in (
        ("dvc.yaml", rf"\n      - train\.({keys})(?=\n)"),
        ("dvc.lock", rf"\n        train\.({keys}): .*"),
    ):
        text = (forged.root / file).read_text()
        assert re.search(pattern, text)
        text = re.sub(pattern, "", text)
        # Other stages list theirs in one line.
        rewrite(forged, file, re.sub(rf"train\.({keys})\b,?\s*", "", text) if file == "dvc.yaml" else text)
    forged.commit("Tidy")
    received(auditor, forged)
    exit_code, checks, report = audit(auditor, "cheat", *FAST)
    assert (exit_code, checks["chain"]) == (1, FAIL)
    first = keys.split("|", maxsplit=1)[0]
    assert f"stage train reads the parameter train.{first}, which is not among its params" in told(report, "chain")
    assert f"train.{first} is among the params of no stage" in told(report, "chain")


@pytest.mark.parametrize(
    "change",
    [
        {"synthetic": False},
        {"kind": "url", "uri": "https://example.org/reef.zip"},
        {"licence": "CC-BY-4.0"},
        {"citation": "doi:10.5555/reef"},
        {"pinned": True},
        {"layout": "frame_folders"},
        {"files": 3},
        {"bytes": 1},
    ],
)
def test_raw_json_says_what_params_and_files_say(forged: Clone, auditor: Clone, change: dict[str, Any]) -> None:
    entries = forged.json("data/raw.json")
    entries[0] |= change
    rewrite(forged, "data/raw.json", json.dumps(entries, indent=2, ensure_ascii=False) + "\n")
    forge(forged)
    received(auditor, forged)
    exit_code, checks, report = audit(auditor, "cheat", *FAST)
    assert (exit_code, checks["objects"]) == (1, FAIL)
    assert "raw.json" in told(report, "objects")
    assert report["synthetic"] is True, "params.yaml renders the source, whatever raw.json says"


def test_nothing_of_a_revision_runs_unasked(forged: Clone, auditor: Clone, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = f"import os\nopen({str(mark)!r}, 'a').write(os.environ.get('AUDITOR_TOKEN', ''))"
    for path in ("stages/split.py", "stages/evaluate.py", "stages/predict.py"):
        before(forged, path, code)
    (forged.root / "conftest.py").write_text(code)
    (forged.root / "sitecustomize.py").write_text(code)
    forged.edit("dvc.yaml", "cmd: python -m stages.pull", f"cmd: touch {mark}; python -m stages.pull")
    forged.commit("Tidy")
    received(auditor, forged)
    found = audit(auditor, "cheat")
    assert found[0] == 1
    assert not mark.exists()


@needs_sandbox
def test_code_of_a_revision_runs_in_a_sandbox_if_asked_for(forged: Clone, auditor: Clone, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    before(forged, "stages/split.py", f"try:\n    open({str(mark)!r}, 'w')\nexcept OSError:\n    pass")
    forged.dvc("repro")
    forged.commit("Tidy")
    received(auditor, forged)
    mark.unlink()
    exit_code, checks, report = audit(auditor, "cheat", "--run-revision-code", "--skip", "re-derive")
    assert checks["revision-code"] == PASS, report["checks"]
    assert (exit_code, checks["code"], mark.exists()) == (3, DIFFERS, False)


def test_a_path_outside_is_refused_and_nothing_outside_is_touched(
    forged: Clone, auditor: Clone, tmp_path: Path
) -> None:
    victim = tmp_path / "notes.txt"
    victim.write_text("precious")
    lock = (forged.root / "dvc.lock").read_text()
    entry = f"    - path: {victim}\n      hash: md5\n      md5: d41d8cd98f00b204e9800998ecf8427e\n      size: 0\n"
    rewrite(forged, "dvc.lock", lock.replace("    outs:\n", f"    outs:\n{entry}", 1))
    forged.commit("Path")
    received(auditor, forged)
    exit_code, _, report = audit(auditor, "cheat", "--crate", str(tmp_path / "crate"))
    assert exit_code == 1
    assert f"the path '{victim}' does not lie inside the project" in told(report, "chain")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "crate").exists()


def test_a_private_file_behind_a_link_is_not_handed_on(forged: Clone, auditor: Clone, tmp_path: Path) -> None:
    (tmp_path / "id_rsa").write_text("private")
    digest = hashlib.sha256(b"private").hexdigest()
    (forged.root / "LICENSE").unlink()
    (forged.root / "LICENSE").symlink_to(tmp_path / "id_rsa")
    forged.commit("Link the licence")
    received(auditor, forged)
    crate, statement = tmp_path / "crate", tmp_path / "statement.json"
    text = auditor.run(
        *(sys.executable, "-m", "reseed", "audit", "cheat", *FAST),
        *("--crate", str(crate), "--statement", str(statement)),
        fails=True,
    )
    assert "LICENSE is a link in git, and not followed" in text
    assert not crate.exists()
    assert not statement.exists()
    assert digest not in text


def test_a_rerun_takes_nothing_from_a_cache_or_a_configuration(forged: Clone, auditor: Clone, tmp_path: Path) -> None:
    """The forged model is in the run cache that the user's and the committed configuration name."""
    card = forged.json("models/model.json")
    code = """
import hashlib, torch
from pathlib import Path
pt = Path("models/model.pt")
state = torch.load(pt, weights_only=True)
pt.unlink()
torch.save({name: value * 1.01 if value.is_floating_point() else value for name, value in state.items()}, pt)
print(hashlib.sha256(pt.read_bytes()).hexdigest())
"""
    digest = forged.run(sys.executable, "-c", code).strip()
    rewrite(forged, "models/model.json", json.dumps(card | {"sha256": digest}, indent=2) + "\n")
    for stage in ("predict", "aggregate", "evaluate"):
        forged.run(sys.executable, "-m", f"stages.{stage}")
    shutil.copytree(forged.root / ".dvc/cache", tmp_path / "cache")
    forged.dvc("config", "cache.dir", str(tmp_path / "cache"))
    forge(forged)
    received(auditor, forged)
    for path in (tmp_path / "cache/files").rglob("*"):
        goal = auditor.root / ".dvc/cache/files" / path.relative_to(tmp_path / "cache/files")
        if path.is_file() and not goal.exists():
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, goal)
    exit_code, checks, report = audit(auditor, "cheat", "--rerun", "--skip", "re-derive")
    assert (exit_code, checks["rerun"]) == (1, FAIL)
    assert "models/model.pt: stage train, run with the trusted code" in told(report, "rerun")


def test_a_table_that_the_auditor_does_not_know_is_not_verified(forged: Clone, auditor: Clone) -> None:
    text = (forged.root / "data/catalog/splits.csv").read_text().splitlines()
    rows = [f"{text[0]},note", *(f"{line}," for line in text[1:])]
    rewrite(forged, "data/catalog/splits.csv", "\n".join(rows) + "\n")
    forge(forged)
    received(auditor, forged)
    exit_code, checks, report = audit(auditor, "cheat", *FAST)
    assert (exit_code, checks["leakage"], report["passed"]) == (3, NOT_CHECKED, False)
    assert "leakage (not checked)" in report["verdict"]


def test_another_training_is_set_beside_the_claim(finished: Clone, auditor: Clone) -> None:
    exit_code, checks, report = audit(auditor, "HEAD", "--retrain", *FAST)
    assert (exit_code, checks["retrain"]) == (0, PASS)
    assert told(report, "retrain") == "trained again from the stored labels: the same network byte by byte"
    assert "Not proven: that this network was trained as the parameters say." in report["conclusions"]
    exit_code, checks, report = audit(auditor, "HEAD", "--trusted", "HEAD", "--skip", "re-derive")
    assert (exit_code, checks["code"], checks["recompute"]) == (0, PASS, PASS)
    assert report["trusted"].startswith("HEAD (")
