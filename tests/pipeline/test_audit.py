"""Forgeries, each in a throw-away clone: the audit names the check that catches it; an honest run passes."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML

from reseed.audit.trusted import FAIL, NOT_CHECKED, PASS
from tests.pipeline.clone import Clone

pytestmark = pytest.mark.slow

PATCHES, FRAMES, METRICS = "data/predictions/patches.csv", "data/predictions/frames.csv", "metrics/metrics.json"
CHECKS = ("claim", "code", "chain", "objects", "recompute", "re-derive", "leakage")
# Checks that start stages take seconds; a test that is about another check leaves them out.
FAST = ("--skip", "recompute", "--skip", "re-derive")

SWAP_THE_MODEL = """
import hashlib, json, torch
from pathlib import Path
pt, card = Path("models/model.pt"), Path("models/model.json")
state = torch.load(pt, weights_only=True)
pt.unlink()
torch.save({name: value * 1.5 if value.is_floating_point() else value for name, value in state.items()}, pt)
said = json.loads(card.read_text()) | {"sha256": hashlib.sha256(pt.read_bytes()).hexdigest()}
card.unlink()
card.write_text(json.dumps(said, indent=2) + "\\n")
"""


def audit(clone: Clone, *arguments: str) -> tuple[int, dict[str, str], Any]:
    """Return exit code, status of each check, and the whole report."""
    code = "import sys; from reseed.cli.main import main; print('\\n' + str(main(sys.argv[1:])))"
    report, _, exit_code = clone.run(sys.executable, "-c", code, "audit", "--json", *arguments).strip().rpartition("\n")
    found = json.loads(report)
    return int(exit_code), {check["check"]: check["status"] for check in found["checks"]}, found


def told(report: Any, check: str) -> str:
    entry = next(entry for entry in report["checks"] if entry["check"] == check)
    return "\n".join([entry["reason"], *entry["findings"]])


def rewrite(clone: Clone, path: str, text: str) -> None:
    """Replace a file that may be a link into the cache."""
    (clone.root / path).unlink()
    (clone.root / path).write_text(text)


def change_table(clone: Clone, path: str, change: Any) -> None:
    table = pd.read_csv(clone.root / path, dtype=str, keep_default_na=False)
    change(table)
    rewrite(clone, path, table.to_csv(index=False, lineterminator="\n"))


def object_of(clone: Clone, path: str) -> Path:
    line = next(x for x in clone.read("dvc.lock").decode().split(f"path: {path}\n")[-1].splitlines() if "md5:" in x)
    digest = line.split()[1]
    return clone.root / ".dvc/cache/files/md5" / digest[:2] / digest[2:]


def forge(clone: Clone) -> None:
    clone.dvc("commit", "--force")
    clone.commit("A better score")
    assert "up to date" in clone.dvc("status"), "DVC itself sees the forgery"


def test_an_honest_run_passes_every_check(finished: Clone, tmp_path: Path) -> None:
    score = finished.json(METRICS)["patch"]["macro_f1"]
    out, crate, in_toto = str(tmp_path / "files.csv"), tmp_path / "crate", tmp_path / "in-toto.json"
    exports = ("--files", out, "--crate", str(crate), "--statement", str(in_toto))
    exit_code, checks, report = audit(finished, "HEAD", "--claim", f"patch.macro_f1={score:.1f}", *exports)
    assert (exit_code, checks) == (0, dict.fromkeys(CHECKS, PASS) | {"rerun": NOT_CHECKED}), report["checks"]
    assert (report["passed"], report["verdict"]) == (False, "VERIFIED EXCEPT rerun (not asked for)")
    splits = pd.read_csv(finished.root / "data/catalog/splits.csv")
    frames = pd.read_csv(finished.root / "data/catalog/frames.csv")
    files = pd.read_csv(out)
    assert dict(zip(files["frame_id"], files["split"], strict=True)) == dict(
        zip(splits["frame_id"], splits["split"], strict=True)
    )
    assert set(files["sha256"]) == set(frames["sha256"])
    statement = report["statement"]
    assert sum(row["n"] for row in statement["frames"]) == len(frames)
    test_patches = [row for row in statement["patches"] if row["split"] == "test" and row["class"] != "unlabelled"]
    assert sum(row["n"] for row in test_patches) == finished.json(METRICS)["patch"]["n"]
    assert statement["annotator"] == "A"
    assert statement["sources"][0]["sha256"] == finished.json("data/raw.json")[0]["sha256"]
    assert statement["training"]["versions"] == finished.json("models/model.json")["versions"]
    assert report["synthetic"] is True
    assert len(report["exported"]) == 2
    entities = {
        entity["@id"]: entity for entity in json.loads((crate / "ro-crate-metadata.json").read_text())["@graph"]
    }
    assert entities["dvc.yaml"]["version"] == report["commit"]
    assert entities["#score/patch.macro_f1"]["value"] == str(score)
    assert entities["#audit/re-derive"]["value"] == PASS
    recorded = [e for stage in lock(finished).values() for kind in ("deps", "outs") for e in stage[kind]]
    described = {entity["name"]: entity for entity in entities.values() if "md5" in entity}
    assert all(described[e["path"]]["md5"] == e["md5"].removesuffix(".dir") for e in recorded)
    assert all(described[e["path"]]["contentSize"] == str(e["size"]) for e in recorded)
    assert all("sha256" in described[e["path"]] for e in recorded if not e["md5"].endswith(".dir")), (
        "all is stored here"
    )
    assert (crate / "models/model.pt").read_bytes() == finished.read("models/model.pt")
    assert not list(crate.rglob("*.jpg")), "no imagery"
    subjects = {subject["name"]: subject["digest"] for subject in json.loads(in_toto.read_text())["subject"]}
    assert subjects["models/model.pt"]["sha256"] == hashlib.sha256(finished.read("models/model.pt")).hexdigest()


def lock(clone: Clone) -> dict[str, Any]:
    return dict(YAML(typ="safe", pure=True).load(clone.root / "dvc.lock")["stages"])


def test_what_one_frame_did_to_the_score(finished: Clone) -> None:
    table = pd.read_csv(finished.root / PATCHES, keep_default_na=False)
    name = table.loc[table["split"] == "test", "frame_id"].min()
    found = audit(finished, "HEAD", "--frame", name.split("/", 1)[1], *FAST)[2]["frame"]
    assert found["frame_id"] == name
    rest = table[(table["split"] == "test") & (table["gold"] != "") & (table["frame_id"] != name)]
    recorded = finished.json(METRICS)
    scores = {row["score"]: (row["with"], row["without"]) for row in found["scores"]}
    assert scores["patch.accuracy"][0] == recorded["patch"]["accuracy"]
    assert scores["patch.accuracy"][1] == round(100 * (rest["gold"] == rest["predicted"]).mean(), 4)
    assert scores["frame.macro_f1"][0] == recorded["frame"]["macro_f1"]
    assert sum(row["n"] for row in found["patches"]) == (table["frame_id"] == name).sum()


def test_the_workspace_and_a_fresh_clone_pass_too(clone: Clone, tmp_path: Path) -> None:
    exit_code, checks, report = audit(clone, *FAST)
    assert (exit_code, report["commit"], checks["chain"], checks["objects"]) == (0, "", PASS, PASS)
    clone.dvc("remote", "add", "--default", "storage", str(tmp_path / "storage"))
    clone.commit("Add a remote")
    clone.dvc("push")
    fresh = clone.clone(tmp_path / "fresh")
    assert audit(fresh, "HEAD", *FAST)[1]["objects"] == NOT_CHECKED
    fresh.dvc("pull")
    exit_code, checks, report = audit(fresh, "HEAD", "--skip", "re-derive")
    assert exit_code == 0
    assert {checks[name] for name in CHECKS if name != "re-derive"} == {PASS}, report["checks"]
    fetching = clone.clone(tmp_path / "fetching")
    digest = object_of(clone, PATCHES)
    kept = tmp_path / "storage/files/md5" / digest.parent.name / digest.name
    kept.chmod(0o644)
    kept.write_text("damaged")
    exit_code, checks, report = audit(fetching, "HEAD", "--fetch", *FAST)
    assert (exit_code, checks["objects"]) == (1, FAIL)
    assert "does not hash to its name" in told(report, "objects")
    kept.write_bytes(digest.read_bytes())
    assert audit(fetching, "HEAD", "--fetch", *FAST)[1]["objects"] == PASS


def test_an_experiment_that_was_never_applied_passes(clone: Clone) -> None:
    clone.dvc("exp", "run", "--temp", "--name", "by-hand", "-S", "aggregate.alpha=0.9")
    exit_code, checks, report = audit(clone, "by-hand", "--skip", "re-derive", "--claim", "frame.alpha=0.9")
    assert exit_code == 0
    assert {checks[name] for name in CHECKS if name != "re-derive"} == {PASS}, report["checks"]
    assert "alpha 0.9 was set by hand" in json.dumps(report["checks"])


def test_no_such_revision(finished: Clone) -> None:
    assert "neither a git revision" in finished.run(sys.executable, "-m", "reseed", "audit", "nowhere", fails=True)


def test_1_edited_score(clone: Clone) -> None:
    score = clone.json(METRICS)["patch"]["macro_f1"]
    clone.edit(METRICS, f'"macro_f1": {score}', '"macro_f1": 99.1')
    forge(clone)
    exit_code, checks, report = audit(clone, "HEAD", "--skip", "re-derive")
    assert (exit_code, checks["claim"], checks["chain"]) == (1, PASS, PASS)
    assert checks["recompute"] == FAIL
    assert METRICS in told(report, "recompute")


def test_2_edited_predictions_with_a_score_that_fits(clone: Clone) -> None:
    def right(table: pd.DataFrame) -> None:
        known = table["gold"] != ""
        table.loc[known, "predicted"] = table.loc[known, "gold"]

    change_table(clone, PATCHES, right)
    for stage in ("aggregate", "evaluate"):
        clone.run(sys.executable, "-m", f"stages.{stage}")
    assert clone.json(METRICS)["patch"]["macro_f1"] == 100.0
    forge(clone)
    exit_code, checks, report = audit(clone, "HEAD")
    assert (exit_code, checks["chain"], checks["recompute"], checks["leakage"]) == (1, PASS, PASS, PASS)
    assert checks["re-derive"] == FAIL
    assert PATCHES in told(report, "re-derive")


def test_3_a_relabelled_annotation(clone: Clone) -> None:
    def relabel(table: pd.DataFrame) -> None:
        table.loc[0, "label"] = "Coral" if table.loc[0, "label"] != "Coral" else "Deploy"

    change_table(clone, "data/catalog/annotations.csv", relabel)
    forge(clone)
    _, checks, report = audit(clone, "HEAD", "--skip", "recompute")
    assert (checks["chain"], checks["re-derive"]) == (PASS, FAIL)
    assert "data/catalog/annotations.csv: stage catalog" in told(report, "re-derive")


def test_4_a_byte_of_a_raw_frame_in_the_cache(clone: Clone) -> None:
    frame = clone.root / "data/raw" / pd.read_csv(clone.root / FRAMES)["frame_id"][0]
    digest = next(
        entry["md5"]
        for entry in json.loads(object_of(clone, "data/raw").read_bytes())
        if frame.as_posix().endswith(entry["relpath"])
    )
    cached = clone.root / ".dvc/cache/files/md5" / digest[:2] / digest[2:]
    content = bytearray(cached.read_bytes())
    content[-100] ^= 1
    cached.unlink()
    cached.write_bytes(content)
    exit_code, checks, report = audit(clone, "HEAD", *FAST)
    assert (exit_code, checks["chain"], checks["objects"]) == (1, PASS, FAIL)
    assert frame.name in told(report, "objects")


def test_5_a_test_frame_in_train_under_another_name(clone: Clone) -> None:
    """All the way down: the source itself holds the copy, and the pipeline ran on it."""
    raw, source = clone.root / "data/raw/demo", clone.root.parent / "survey"
    clone.run("cp", "-rL", str(raw), str(source))
    files = pd.read_csv(clone.root / "data/catalog/splits.csv").sort_values("frame_id")
    victim, place = (files.loc[files["split"] == split, "frame_id"].iloc[0] for split in ("test", "train"))
    copied = source / Path(place.removeprefix("demo/"))
    copied.chmod(0o644)
    copied.write_bytes((clone.root / "data/raw" / victim).read_bytes())
    clone.edit("params.yaml", "kind: demo", "kind: folder")
    clone.edit("params.yaml", 'uri: ""', f"uri: {source}")
    clone.set_params(train__epochs=1)
    clone.dvc("repro")
    clone.commit("Train on more")
    exit_code, checks, report = audit(clone, "HEAD", *FAST)
    assert (exit_code, checks["chain"], checks["objects"]) == (1, PASS, PASS)
    assert checks["leakage"] == FAIL
    assert victim in told(report, "leakage")


def test_6_parameters_edited_after_the_run(clone: Clone) -> None:
    clone.set_params(train__seed=7)
    clone.commit("Try another seed")
    exit_code, checks, report = audit(clone, "HEAD", *FAST, "--crate", "crate", "--statement", "statement.json")
    assert (exit_code, checks["chain"]) == (1, FAIL)
    assert report["exported"] == ["nothing: check chain failed, and only a run without failure is handed on"]
    assert not (clone.root / "crate").exists()
    assert not (clone.root / "statement.json").exists()
    assert "stage train used train.seed: 0, params.yaml has 7" in told(report, "chain")


def test_7_library_code_edited_after_the_run(clone: Clone) -> None:
    clone.edit("reseed/score/alpha.py", "_TIE = 1e-12", "_TIE = 1e-2")
    clone.commit("Tidy")
    exit_code, checks, report = audit(clone, "HEAD", *FAST)
    assert (exit_code, checks["chain"]) == (1, FAIL)
    assert "stage aggregate read reseed/score as" in told(report, "chain")


def test_8_an_import_that_is_not_in_deps(clone: Clone) -> None:
    clone.edit("reseed/score/alpha.py", "import numpy as np", "import numpy as np\nimport reseed.network.baselines")
    forge(clone)
    exit_code, checks, report = audit(clone, "HEAD", *FAST)
    assert (exit_code, checks["chain"]) == (1, FAIL)
    assert "stage aggregate imports reseed/network/baselines.py, which is not among its deps" in told(report, "chain")


def test_9_a_swapped_model(clone: Clone) -> None:
    clone.run(sys.executable, "-c", SWAP_THE_MODEL)
    forge(clone)
    _, checks, report = audit(clone, "HEAD", "--skip", "recompute")
    assert (checks["chain"], checks["objects"], checks["re-derive"]) == (PASS, PASS, FAIL)
    assert PATCHES in told(report, "re-derive")


def test_9_a_swapped_model_with_everything_after_it_made_to_fit(clone: Clone) -> None:
    """Only training it again tells."""
    clone.run(sys.executable, "-c", SWAP_THE_MODEL)
    for stage in ("predict", "aggregate", "evaluate"):
        clone.run(sys.executable, "-m", f"stages.{stage}")
    forge(clone)
    exit_code, checks, report = audit(clone, "HEAD", "--rerun", "--skip", "recompute")
    assert (checks["chain"], checks["objects"], checks["re-derive"]) == (PASS, PASS, PASS)
    assert (exit_code, checks["rerun"]) == (1, FAIL)
    assert "models/model.pt: stage train, run with the trusted code from the start, gives another file" in told(
        report, "rerun"
    )
    assert "data/patches" not in told(report, "rerun")


def test_10_a_digest_in_the_lock_file_edited_by_hand(clone: Clone) -> None:
    digest = object_of(clone, PATCHES)
    name = digest.parent.name + digest.name
    lock = clone.read("dvc.lock").decode()
    before, after = lock.rsplit(name, 1)
    rewrite(clone, "dvc.lock", f"{before}{name[::-1]}{after}")
    clone.commit("Edit the lock file")
    exit_code, checks, report = audit(clone, "HEAD", *FAST)
    assert (exit_code, checks["chain"]) == (1, FAIL)
    assert f"read {PATCHES} as {name[::-1]}, its producer made {name}" in told(report, "chain")


def test_11_a_missing_object_is_not_checked(clone: Clone) -> None:
    object_of(clone, PATCHES).unlink()
    exit_code, checks, report = audit(clone, "HEAD", "--skip", "re-derive")
    assert exit_code == 3
    assert [checks[name] for name in ("objects", "recompute", "leakage")] == [NOT_CHECKED] * 3
    assert PATCHES in told(report, "objects")


def test_12_an_auto_alpha_replaced(clone: Clone) -> None:
    assert clone.json(METRICS)["frame"]["alpha"] != 0.02
    clone.set_params(aggregate__alpha=0.02)
    for stage in ("aggregate", "evaluate"):
        clone.run(sys.executable, "-m", f"stages.{stage}")
    clone.set_params(aggregate__alpha="auto")
    forge(clone)
    exit_code, checks, report = audit(clone, "HEAD", "--skip", "re-derive")
    assert (exit_code, checks["chain"], checks["objects"]) == (1, PASS, PASS)
    assert (checks["recompute"], checks["leakage"]) == (FAIL, FAIL)
    assert "aggregate.alpha is auto, 0.02 was used, but" in told(report, "leakage")
