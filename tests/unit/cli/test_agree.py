"""`python -m reseed agree`, by hand and on the two annotators of real frames."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from reseed.base.files import write_text
from reseed.cli.main import main

FIELD = os.environ.get("RESEED_FIELD_DATA", "")
HEADER = "frame,row,col,label,annotator\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert main(["agree", *argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def write(name: str, labels: str, annotator: str, first: int = 0) -> None:
    names = {"N": "No-Deploy", "C": "Coral", "D": "Deploy"}
    rows = [f"f{i // 2}.jpg,0,{i % 2},{names[label]},{annotator}\n" for i, label in enumerate(labels, first)]
    write_text(Path(name), HEADER + "".join(rows))


def test_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = "NNNNCCCDDD", "NNNCCCDDDN"
    write("a.csv", a, "A")
    write("b.csv", b, "B")
    found = report(capsys, "a.csv", "b.csv")
    # agreeing 7 of 10; by chance (4*4 + 3*3 + 3*3) / 100 = 0.34; kappa (0.7 - 0.34) / (1 - 0.34) = 0.545455
    assert (found["n"], found["agreeing"], found["agreement"], found["kappa"]) == (10, 7, 70.0, 0.545455)
    assert found["kappa"] == round(cohen_kappa_score(list(a), list(b)), 6)
    assert found["confusion"]["counts"] == [[3, 1, 0], [0, 2, 1], [1, 0, 2]]
    assert found["intervals_over"] == "frame"
    assert found["agreement_interval"]["clusters"] == 5
    assert [look["item"] for look in found["second_look"]] == ["f3.jpg 0 0", "f4.jpg 0 1", "f1.jpg 0 1"]
    assert found["second_look"][0]["labels"] == ["Coral", "Deploy"]


def test_frames_as_clusters_are_said_to_hang_together(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.csv", "NNNNCCCDDD", "A")
    write("b.csv", "NNNCCCDDDN", "B")
    assert main(["agree", "a.csv", "b.csv"]) == 0
    hint = "cluster bootstrap over 5 frames; those of one site are not independent: --group COL names a column of sites"
    assert hint in capsys.readouterr().out
    for name in ("a.csv", "b.csv"):
        head, *rows = Path(name).read_text().splitlines()
        sites = [f"{row},s{number % 5}" for number, row in enumerate(rows)]
        write_text(Path(name), "\n".join([f"{head},site", *sites]) + "\n")
    assert main(["agree", "a.csv", "b.csv"]) == 0
    said = capsys.readouterr().out
    assert "over 5 sites" in said
    assert "not independent" not in said


def test_items_of_one_only_are_never_agreement(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.csv", "NNCC", "A")
    write("b.csv", "CCDDD", "B", first=2)
    found = report(capsys, "a.csv", "b.csv")
    assert (found["n"], found["agreeing"]) == (2, 2)
    assert found["only"] == [["f0.jpg 0 0", "f0.jpg 0 1"], ["f2.jpg 0 0", "f2.jpg 0 1", "f3.jpg 0 0"]]
    assert main(["agree", "a.csv", "b.csv"]) == 0
    out = capsys.readouterr().out
    assert "2 items in both, matched by frame, row, col; 2 with the same label" in out
    assert "only in b.csv: 3, counted neither way: f2.jpg 0 0, f2.jpg 0 1, f3.jpg 0 0" in out
    assert "Nothing to look at again" in out
    assert re.search(r"Cohen's kappa +n/a", out)  # both say Coral of everything: chance is 1
    assert "1 cluster; an interval needs at least 5" in out


def test_no_item_in_both(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.csv", "NN", "A")
    write("b.csv", "NN", "B", first=2)
    assert main(["agree", "a.csv", "b.csv"]) == 2
    assert "no item in both by frame, row, col; first: f0.jpg 0 0 and f1.jpg 0 0" in capsys.readouterr().err


def test_broken_labels_and_keys(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.csv", "NN", "A")
    write_text(Path("b.csv"), HEADER + "f0.jpg,0,0,Sand,B\nf0.jpg,0,0,Coral,B\nf0.jpg,0,1,,B\n")
    assert main(["agree", "a.csv", "b.csv"]) == 2
    said = capsys.readouterr().err
    assert "b.csv: unknown labels in label" in said
    assert "b.csv: rows without a label" in said
    assert "b.csv: keys (frame, row, col) more than once (1):\n  f0.jpg 0 0 (lines 2, 3)" in said


def test_whole_frames_are_two_decisions(capsys: pytest.CaptureFixture[str]) -> None:
    write_text(Path("a.csv"), "frame,label\na,Deploy\nb,Deploy\nc,No-Deploy\n")
    write_text(Path("b.csv"), "frame,label\na,Deploy\nb,No-Deploy\nc,No-Deploy\n")
    found = report(capsys, "a.csv", "b.csv")
    assert found["confusion"]["order"] == ["No-Deploy", "Deploy"]
    # both classes: tp 1 and one error: 2/3
    assert found["macro_f1"] == 66.6667
    assert found["intervals_over"] == "item"


@pytest.mark.field
@pytest.mark.skipif(not FIELD, reason="RESEED_FIELD_DATA is not set: no real annotations here")
def test_two_annotators_of_real_frames(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(FIELD) / "reefscan"
    found = report(capsys, str(folder / "annotations_A.csv"), str(folder / "annotations_B.csv"))
    assert (found["n"], found["only"], found["agreement"]) == (952, [[], []], 83.8235)
    assert round(found["kappa"], 3) == 0.748
    assert found["kappa_interval"]["low"] < 0.7
    assert found["kappa_interval"]["high"] > 0.8
    assert found["agreement_interval"]["clusters"] == 34
    # The frames of which the notes on the data say that people disagree on them.
    assert found["second_look"][0]["item"].startswith("erub_manta_81/")
    frames = report(capsys, str(folder / "frame_labels_A.csv"), str(folder / "frame_labels_B.csv"))
    assert (frames["n"], frames["agreeing"]) == (34, 31)
