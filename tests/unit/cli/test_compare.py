"""`python -m reseed compare`, on revisions written by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.cli.main import main
from tests.unit.audit.history import History, every, reef


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.chdir(tmp_path)
    return History(tmp_path).start()


def report(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert main(["compare", *argv, "--json", "--resamples", "2000"]) == 0
    return json.loads(capsys.readouterr().out)


def text(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["compare", *argv, "--resamples", "2000"]) == 0
    return capsys.readouterr().out


def row(found: Any, name: str) -> Any:
    return next(row for row in found["scores"] if row["score"] == name)


def test_the_same_predictions_differ_by_nothing(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    run = run.but(wrong=every(run.gold, 3))
    history.commit(run)
    history.commit(run, reseed__new_file_py="x = 1\n")
    found = report(capsys, "HEAD~1", "HEAD")
    for name in ("patch.macro_f1", "frame.accuracy"):
        assert [row(found, name)[key] for key in ("difference", "low", "high", "p")] == [0.0, 0.0, 0.0, 1.0]
    assert found["same_test_set"] is True
    assert found["mcnemar"] == {"both_right": 24, "only_a_right": 0, "only_b_right": 0, "neither_right": 0, "p": 1.0}
    assert found["flips"] == found["params"] == []
    assert not any(found["data"].values())
    assert found["code"]["files"] == [{"path": "reseed/new_file_py", "added": 1, "removed": 0}]
    assert found["code"]["other_files"] == []


def test_a_planted_improvement_is_found(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    history.commit(run.but(wrong=every(run.gold, 5) | every(run.gold, 7), wrong_frames=every(run.frames, 2)))
    history.git("tag", "old")
    better = run.but(wrong=every(run.gold, 7), wrong_frames=every(run.frames, 12), params="train:\n  lr: 0.01\n")
    history.commit(better, reseed__learn__loss_py="one\ntwo\n", docs__note_md="x\n")
    found = report(capsys, "old", "HEAD")
    assert found["synthetic"] is False
    patch = row(found, "patch.macro_f1")
    assert patch["low"] > 0
    assert patch["p"] < 0.02  # as small as 2000 resamples of 8 clusters can say
    assert patch["clusters"] == 8
    assert patch["difference"] == round(patch["b"]["mean"] - patch["a"]["mean"], 4)
    frame = row(found, "frame.accuracy")
    # 24 test frames: 12 wrong before, 2 after, and both of these were wrong before
    assert (frame["a"]["mean"], frame["b"]["mean"], frame["difference"]) == (50.0, 91.6667, 41.6667)
    # 10 of 10 the same way: 2 * (1/2)^10
    assert found["mcnemar"] == {
        "both_right": 12,
        "only_a_right": 0,
        "only_b_right": 10,
        "neither_right": 2,
        "p": round(2 / 1024, 6),
    }
    assert len(found["flips"]) == 10
    assert found["flips"][0] == {"frame_id": "reef/g0/f2.jpg", "gold": "No-Deploy", "first": 1, "second": 0}
    assert found["params"] == [
        {"key": "aggregate.alpha", "old": "0.5", "new": "(absent)", "same_on_both": False},
        {"key": "train.lr", "old": "0.001", "new": "0.01", "same_on_both": False},
        {"key": "train.seed", "old": "0", "new": "(absent)", "same_on_both": False},
    ]
    assert found["code"] == {
        "files": [{"path": "reseed/learn/loss_py", "added": 2, "removed": 0}],
        "other_files": ["docs/note_md"],
    }
    back = report(capsys, "HEAD", "old")
    assert row(back, "patch.macro_f1")["difference"] == -patch["difference"]
    assert row(back, "patch.macro_f1")["high"] == pytest.approx(-patch["low"], abs=0.5)


def test_the_text_says_what_is_better(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef().but(synthetic=True)
    history.commit(run.but(wrong=every(run.gold, 5)))
    history.commit(run)
    lines = text(capsys, "HEAD~1", "HEAD").splitlines()
    assert lines[0] == lines[-1] == f"*** {SYNTHETIC_NOTICE} ***"
    assert any(
        line.startswith("  Patch macro F1: B is better by 20.")
        and line.endswith(", p 0.018). The confidence interval excludes zero.")
        for line in lines
    )
    assert "  Frame accuracy: no difference at all." in lines
    markdown = text(capsys, "HEAD~1", "HEAD", "--md")
    assert f"> **{SYNTHETIC_NOTICE}**" in markdown.splitlines()
    assert "|  | A | B | B - A | 95 % interval | p |" in markdown
    assert "### Parameters" in markdown


def test_each_side_says_whether_it_beats_the_baselines(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    details = {
        "baselines": {
            "verdict": {"patch": "Patch macro F1 60.0 % does NOT beat the best baseline (mean colour, 61.0 %)."}
        },
        "human_ceiling": {"patch": [{"annotator": "B", "n": 288, "human": {"macro_f1": 85.25}}]},
    }
    history.commit(reef())
    history.commit(reef(), **{"metrics__details.json": json.dumps(details)})
    nothing = {"baselines": [], "people": []}
    beside = {
        "baselines": [details["baselines"]["verdict"]["patch"]],
        "people": [{"task": "patch", "annotator": "B", "n": 288, "macro_f1": 85.25}],
    }
    assert report(capsys, "HEAD~1", "HEAD")["verdicts"] == {"a": nothing, "b": beside}
    lines = text(capsys, "HEAD~1", "HEAD").splitlines()
    assert not any("Beside the scores of A" in line for line in lines)
    at = next(number for number, line in enumerate(lines) if "Beside the scores of B" in line)
    shown = " ".join(lines[at : at + 6])
    assert "does NOT beat the best baseline (mean colour, 61.0 %)." in shown
    assert "scored like the network on 288 of the patches: macro F1 85.2" in shown


def test_a_changed_test_set_is_not_tested(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    history.commit(run)
    frames = dict(run.frames) | {"reef/g0/f0.jpg": ("g0", "train"), "reef/t/f0.jpg": ("t", "test")}
    history.commit(run.but(frames=frames))
    found = report(capsys, "HEAD~1", "HEAD")
    assert found["same_test_set"] is False
    assert found["test_set_differences"]["test_frames_of_a_only"] == ["reef/g0/f0.jpg"]
    assert found["test_set_differences"]["test_frames_of_b_only"] == ["reef/t/f0.jpg"]
    assert row(found, "patch.macro_f1")["p"] == row(found, "patch.macro_f1")["difference"] == "n/a"
    assert found["mcnemar"]["p"] == "n/a"
    assert {item["frame"]: (item["old"], item["new"]) for item in found["data"]["frames_in_another_split"]} == {
        "reef/g0/f0.jpg": ("test", "train"),
        "reef/t/f0.jpg": ("train", "test"),
    }
    said = text(capsys, "HEAD~1", "HEAD")
    assert "The test sets differ: the scores below are not of the same items, and nothing is tested." in said
    assert "  Test frames of A only: 1\n    reef/g0/f0.jpg" in said


def test_relabelled_patches_and_frames_are_named(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    history.commit(run)
    patch, frame = "reef/g1/f1.jpg#r001c002", "reef/g2/f0.jpg"
    gold, frame_gold = dict(run.gold), dict(run.frame_gold)
    gold[patch], frame_gold[frame] = (
        1 if gold[patch] != 1 else 2,
        "Deploy" if frame_gold[frame] != "Deploy" else "No-Deploy",
    )
    history.commit(run.but(gold=gold, frame_gold=frame_gold, sha256={frame: "1" * 64}, digest="cd" * 32))
    found = report(capsys, "HEAD~1", "HEAD")
    differences = found["test_set_differences"]
    assert found["same_test_set"] is False
    assert [item["item"] for item in differences["patches_with_another_reference"]] == [patch]
    assert [item["item"] for item in differences["frames_with_another_reference"]] == [frame]
    assert differences["frames_with_another_image"] == [frame]
    assert found["data"]["frames_relabelled"][0]["frame"] == frame
    assert found["data"]["frames_with_other_annotations"] == [
        {"frame": "reef/g1/f1.jpg", "added": 0, "removed": 0, "relabelled": 1}
    ]
    assert found["data"]["sources"] == [{"name": "reef", "old": "ab" * 32, "new": "cd" * 32}]


def test_training_data_may_grow_without_touching_the_test(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    history.commit(run.but(wrong=every(run.gold, 3)))
    new = "reef/t/f1.jpg"
    more = run.but(
        frames=dict(run.frames) | {new: ("t", "train")},
        gold=dict(run.gold) | {f"{new}#r000c000": 2},
        frame_gold=dict(run.frame_gold) | {new: "Deploy"},
    )
    history.commit(more)
    found = report(capsys, "HEAD~1", "HEAD")
    assert found["same_test_set"] is True
    assert found["data"]["frames_added"] == [new]
    assert row(found, "patch.macro_f1")["p"] < 0.05


def test_several_runs_show_their_spread(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    names = []
    for seed, wrong in enumerate([every(run.gold, 5), every(run.gold, 5, 1), every(run.gold, 6), every(run.gold, 50)]):
        names.append(history.commit(run.but(wrong=wrong, params=f"train:\n  seed: {seed % 2}\n  lr: {seed // 2}\n")))
    found = report(capsys, "--a", names[0], names[1], "--b", names[2], names[3])
    patch = row(found, "patch.macro_f1")
    assert patch["a"]["runs"] == patch["b"]["runs"] == 2
    values = patch["b"]["values"]
    # of two values the standard deviation is their distance / sqrt(2)
    assert patch["b"]["sd"] == pytest.approx(abs(values[0] - values[1]) / 2**0.5, abs=1e-3)
    assert patch["b"]["mean"] == pytest.approx(sum(values) / 2, abs=1e-3)
    assert found["mcnemar"]["reason"] == "it compares two runs; here a side has several"
    assert found["params"] == [
        {"key": "train.lr", "old": "0", "new": "1", "same_on_both": False},
        {"key": "train.seed", "old": "0, 1", "new": "0, 1", "same_on_both": True},
    ]
    out = text(capsys, "--a", names[0], names[1], "--b", names[2])
    assert "Mean over trainings +- standard deviation (2 of A, 1 of B)" in out
    assert names[0][:7] in out


def test_runs_of_one_side_need_one_test_set(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    history.commit(run)
    history.commit(run.but(frames=dict(run.frames) | {"reef/g0/f0.jpg": ("g0", "val")}))
    assert main(["compare", "--a", "HEAD", "HEAD~1", "--b", "HEAD"]) == 2
    said = capsys.readouterr().err
    assert "the runs of the first side have different test sets" in said
    assert "test frames of b only (1): reef/g0/f0.jpg" in said


@pytest.mark.parametrize("argv", [[], ["HEAD"], ["HEAD", "HEAD", "HEAD"], ["HEAD", "--a", "HEAD"], ["--a", "HEAD"]])
def test_what_is_compared_with_what_must_be_said(
    history: History, capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    assert main(["compare", *argv]) == 2
    assert "name two (`compare main HEAD`)" in capsys.readouterr().err


def test_with_one_training_each_only_the_networks_are_compared(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    run = reef()
    history.commit(run.but(wrong=every(run.gold, 5)))
    history.commit(run)
    assert report(capsys, "HEAD~1", "HEAD")["trainings"] == {"a": 1, "b": 1}
    out = text(capsys, "HEAD~1", "HEAD")
    assert "One training on A and B: where the interval excludes zero, these two networks differ; whether" in out


def test_the_interval_spans_the_trainings_of_both_sides(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    # Trainings of A miss a fifth, a quarter and a fifth of the patches, those of B a seventh, a half and an eighth.
    a, b = ([every(run.gold, step) for step in steps] for steps in ((5, 4, 5), (7, 2, 8)))
    history.commit(run.but(wrong=a[0], repeats=tuple(a[1:])))
    history.commit(run.but(wrong=b[0], repeats=tuple(b[1:])))
    found = report(capsys, "HEAD~1", "HEAD")
    assert found["trainings"] == {"a": 3, "b": 3}
    patch = row(found, "patch.macro_f1")
    assert patch["a"]["values"] == pytest.approx([80.0, 75.0, 80.0], abs=1.5)
    assert patch["difference"] == pytest.approx(patch["b"]["mean"] - patch["a"]["mean"], abs=1e-3)
    # One training of B is 33 points worse than the others: no luck of the first three tells the recipes apart.
    assert patch["low"] < -20 < 20 < patch["high"]
    assert patch["p"] > 0.3
    history.commit(run.but(wrong=b[0]))
    alone = row(report(capsys, "HEAD~2", "HEAD"), "patch.macro_f1")
    assert alone["high"] - alone["low"] < (patch["high"] - patch["low"]) / 3
    out = text(capsys, "HEAD~2", "HEAD~1")
    assert "Mean over trainings +- standard deviation (3 of A, 3 of B)" in out
    assert "One training" not in out
    assert "includes zero, over groups and trainings" in out


def test_decisions_are_compared_where_only_patches_differ(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    history.commit(run.but(wrong_frames=every(run.frames, 2)))
    fewer = {patch: index for patch, index in run.gold.items() if not patch.endswith("c003")}
    history.commit(run.but(gold=fewer))
    found = report(capsys, "HEAD~1", "HEAD")
    assert (found["same_test_set"], found["same_frames"]) == (False, True)
    assert row(found, "patch.macro_f1")["difference"] == row(found, "patch.macro_f1")["p"] == "n/a"
    assert row(found, "frame.accuracy")["difference"] == 50.0
    assert row(found, "frame.accuracy")["p"] < 0.05
    assert found["mcnemar"]["only_b_right"] == len(found["flips"]) == 12
    out = text(capsys, "HEAD~1", "HEAD")
    assert "The test sets differ in their patches alone" in out
    assert "  Labelled patches of A only: " in out


def test_two_patch_sizes_of_one_grid_are_named(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    run = reef()
    for size in (760, 800):
        history.commit(run.but(params=f"extract:\n  patch_size: {size}\n"))
    assert report(capsys, "HEAD~1", "HEAD")["notes"] == [
        "extract.patch_size 760 and 800 give one grid: the same patches are cut from every test frame"
    ]
    assert "Extract.patch_size" not in text(capsys, "HEAD~1", "HEAD")
    assert report(capsys, "HEAD", "HEAD")["notes"] == []
