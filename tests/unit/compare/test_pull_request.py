"""Base and head side by side, on revisions written by hand."""

from pathlib import Path
from typing import Any

import pytest

from reseed.audit.trusted import FAIL, PASS, Check
from reseed.base.errors import ReseedError
from reseed.base.files import write_text
from reseed.compare.pull_request import pull_request
from reseed.history.repository import HERE, Repository, Revision
from reseed.history.run import Run
from tests.unit.audit.history import History, every, reef
from tests.unit.audit.results import commit_result, result_files

PATCHES = "data/predictions/patches.csv"


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path).start()


def report(history: History, base: str = "HEAD~1", head: str | None = "HEAD") -> Any:
    repository = Repository(history.root)
    proposed = HERE if head is None else repository.resolve(head)
    rungs = {"claim": Check(PASS, "fine")}
    return pull_request(repository, repository.resolve(base), proposed, rungs, 2000, 0)


def row(found: Any, name: str) -> Any:
    return next(row for row in found["scores"] if row["score"] == name)


def test_a_planted_improvement_stands_on_both_sides_of_every_table(history: History) -> None:
    run = reef()
    # Every fifth patch wrong, 2 of 24 frames; then no patch and no frame.
    commit_result(history, run.but(wrong=every(run.gold, 5), wrong_frames=every(run.frames, 12)))
    commit_result(history, run.but(params="aggregate:\n  alpha: 0.4\n"), reseed__learn__loss_py="one\ntwo\n")
    found = report(history)
    assert (found["same_test_set"], found["alone"], found["not_compared"], found["passed"]) == (True, "", "", True)
    patch, frame = row(found, "patch.macro_f1"), row(found, "frame.accuracy")
    assert patch["base"] == Run(Repository(history.root), Revision("x", "HEAD~1")).metrics["patch"]["macro_f1"]
    assert (patch["head"], patch["difference"]) == (100.0, round(100 - patch["base"], 4))
    assert patch["low"] > 0
    # 22 of 24 right
    assert (frame["base"], frame["head"], frame["difference"]) == (91.6667, 100.0, 8.3333)
    assert [entry["class"] for entry in found["classes"]] == ["No-Deploy", "Coral", "Deploy"]
    for entry in found["classes"]:
        # 24 test frames of 12 patches, a third of each class
        assert entry["head"]["support"] == 96
        assert entry["difference"] == round(100.0 - entry["base"]["f1"], 4) > 0
    assert {entry["site"]: entry["head"]["macro_f1"] for entry in found["sites"]} == {"Ugar": 100.0, "Mer": 100.0}
    assert all(entry["difference"] > 0 for entry in found["sites"])
    base, head = found["operating_point"]["base"], found["operating_point"]["head"]
    assert (base["false_deploy"] + base["missed_deploy"], head["false_deploy"] + head["missed_deploy"]) == (2, 0)
    assert len(found["flips"]) == 2
    assert found["params"][0] == {"key": "aggregate.alpha", "old": "0.5", "new": "0.4", "same_on_both": False}
    assert found["code"]["files"] == [{"path": "reseed/learn/loss_py", "added": 2, "removed": 0}]


def test_the_site_that_falls_deepest_comes_first(history: History) -> None:
    run = reef()
    commit_result(history, run)
    fallen = frozenset(patch for patch in every(run.gold, 2) if run.frames[patch.split("#")[0]][0] > "g3")
    commit_result(history, run.but(wrong=fallen))
    assert [(entry["site"], entry["difference"] < 0) for entry in report(history)["sites"]] == [
        ("Mer", True),
        ("Ugar", False),
    ]


def test_without_a_result_of_base_head_stands_alone(history: History) -> None:
    history.commit(reef())
    commit_result(history, reef())
    found = report(history)
    assert "HEAD~1" in found["alone"]
    assert "metrics/by_site.csv" in found["alone"]
    assert (found["same_test_set"], found["flips"], found["params"]) == (None, None, [])
    assert row(found, "patch.macro_f1") == {
        "score": "patch.macro_f1",
        "base": None,
        "head": 100.0,
        "difference": "n/a",
        "base_sd": "n/a",
        "head_sd": "n/a",
    }
    with pytest.raises(ReseedError, match=r"metrics/by_site\.csv"):
        report(history, "HEAD", "HEAD~1")


def test_another_test_set_gives_no_difference_anywhere(history: History) -> None:
    run = reef()
    commit_result(history, run)
    gold = dict(run.gold)
    gold["reef/g0/f0.jpg#r000c000"] = 1
    commit_result(history, run.but(gold=gold))
    found = report(history)
    assert found["same_test_set"] is False
    assert found["test_set"]["differences"] == {"patches with another reference": 1}
    assert found["same_frames"] is True
    for entry in (*found["scores"], *found["classes"], *found["sites"]):
        # The frames are the same, so their decisions can be compared.
        assert entry["difference"] == (0.0 if entry.get("score", "").startswith("frame.") else "n/a")


@pytest.mark.parametrize("same", [True, False])
def test_without_stored_answers_the_digests_say_whether_the_test_set_is_the_same(history: History, same: bool) -> None:
    run = reef()
    commit_result(history, run.but(wrong=every(run.gold, 5)))
    digest = history.digest(PATCHES)
    commit_result(history, run if same else run.but(sha256={"reef/g0/f0.jpg": "1" * 64}))
    history.object(digest).unlink()
    # The lock file of the fixture knows no index and no labels of the patches: without them nothing is known.
    assert report(history)["same_test_set"] is None
    commits = [history.git("rev-parse", name) for name in ("HEAD~1", "HEAD")]
    found = report(history, *(_with_patch_tables(history, commit) for commit in commits))
    assert PATCHES in found["not_compared"]
    assert found["lacking"] == ["base"]
    assert found["same_test_set"] is (True if same else None)
    patch = row(found, "patch.macro_f1")
    assert patch["difference"] == (round(100 - patch["base"], 4) if same else "n/a")
    assert "p" not in patch
    assert found["inputs"] == ([] if same else ["data/catalog/frames.csv"])
    assert found["data"] is None


def _with_patch_tables(history: History, commit: str) -> str:
    history.git("checkout", "--quiet", "--force", "--detach", commit)
    lock = (history.root / "dvc.lock").read_text()
    lines = "".join(
        f"    - path: data/patches/{name}.csv\n      hash: md5\n      md5: '{'0' * 32}'\n      size: 1\n"
        for name in ("index", "labels")
    )
    write_text(history.root / "dvc.lock", lock + lines)
    history.git("commit", "--quiet", "-am", "Know the patches")
    return history.git("rev-parse", "HEAD")


def test_the_workspace_is_a_head_too(history: History) -> None:
    run = reef()
    commit_result(history, run.but(wrong=every(run.gold, 5)))
    better = result_files(run)
    commit_result(history, run, reseed__kept_py="x = 1\n")
    history.git("reset", "--quiet", "--soft", "HEAD~1")
    write_text(history.root / "reseed/new.py", "a\nb\nc\n")
    found = report(history, "HEAD", None)
    assert better["metrics/metrics.json"] == (history.root / "metrics/metrics.json").read_text()
    assert found["head"] == {"name": "workspace", "commit": ""}
    assert row(found, "patch.macro_f1")["head"] == 100.0
    assert [(file["path"], file["added"]) for file in found["code"]["files"]] == [
        ("reseed/kept_py", 1),
        ("reseed/new.py", 3),
    ]


def test_a_failed_check_is_in_the_report(history: History) -> None:
    commit_result(history, reef())
    commit_result(history, reef())
    repository = Repository(history.root)
    base, head = repository.resolve("HEAD~1"), repository.resolve("HEAD")
    found = pull_request(repository, base, head, {"chain": Check(FAIL, "broken", ("broken", "too"))}, 2000, 0)
    assert found["passed"] is False
    assert found["checks"][0]["findings"] == ("broken", "too")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("metrics/metrics.json", "{"),
        ("metrics/metrics.json", "[]"),
        ("metrics/details.json", '{"patch": {"test": {"n": 1, "classes": {}}}, "frame": {"test": {"n": 1}}}'),
        ("metrics/by_site.csv", "split,site\ntest,Mer\n"),
        ("dvc.lock", "stages: ["),
    ],
)
def test_a_result_of_another_form_is_named_by_its_revision(history: History, path: str, text: str) -> None:
    commit_result(history, reef())
    write_text(history.root / path, text)
    history.git("commit", "--quiet", "-am", "Break")
    repository = Repository(history.root)
    with pytest.raises(ReseedError, match=r"HEAD \([0-9a-f]{7}\)"):
        Run(repository, repository.resolve("HEAD")).with_result()
