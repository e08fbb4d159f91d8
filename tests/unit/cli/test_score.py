"""`python -m reseed score`, on the output of the pipeline and on tables of other people's making."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.metrics import f1_score

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.base.files import read_json, write_text
from reseed.cli.main import main
from stages import aggregate, evaluate
from tests.unit.score.runs import write_run

PATCHES, FRAMES = "data/predictions/patches.csv", "data/predictions/frames.csv"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert main(["score", *argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def fails(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["score", *argv]) == 2
    return capsys.readouterr().err


def test_the_output_of_predict_gives_the_scores_of_the_pipeline(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(run)
    aggregate.main([])
    evaluate.main(["--no-figures"])
    metrics = read_json(run / "metrics/metrics.json")
    patch = report(capsys, PATCHES, PATCHES, "--where", "split=test")
    assert patch["patch"].items() <= metrics["patch"].items()
    assert patch["patch"]["macro_f1"] == 79.1919  # N 12 of 13, ... as the evaluate stage computes it by hand
    assert patch["unlabelled"] == 1
    assert patch["synthetic"] is True
    frame = report(capsys, FRAMES, FRAMES, "--task", "frame", "--where", "split=test")
    assert frame["frame"].items() <= metrics["frame"].items()
    assert frame["frame"]["n"] == 3


def test_the_text_is_marked_where_frames_were_rendered(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(run)
    assert main(["score", PATCHES, PATCHES, "--where", "split=test"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[-1] == f"*** {SYNTHETIC_NOTICE} ***"
    assert "15 patches, 1 without a reference left out" in lines
    assert any(line.split() == ["macro", "F1", "79.19", "%", "n/a"] for line in lines)
    assert any("over 2 groups of `data/catalog/splits.csv`; n/a: 2 clusters" in line for line in lines)
    Path("data/catalog/splits.csv").rename("elsewhere.csv")
    assert main(["score", PATCHES, PATCHES, "--where", "split=test"]) == 0
    none = "Intervals  none: neither table has a column group or site or sequence, and no splits.csv near them"
    assert none in capsys.readouterr().out


def by_hand(folder: Path, groups: int = 6) -> None:
    """8 cells in each of some frames; gold N N N C C C D D; predicted N N C C C D D D: a macro F1 of 73.3 %."""
    gold, predicted = "NNNCCCDD", "NNCCCDDD"
    names = {"N": "No Deploy", "C": "coral", "D": "DEPLOY"}
    rows = [(f, c) for f in range(groups) for c in range(8)]
    write_text(
        folder / "gold.csv",
        "\ufeffframe;row;col;label;site\r\n"
        + "".join(f"f{f}.jpg;{c // 4};{c % 4};{names[gold[c]]};reef {f}\r\n" for f, c in rows),
    )
    write_text(
        folder / "mine.csv",
        "frame,row,col,prediction\n"
        + "".join(f"f{f}.jpg,{c // 4}.0,{c % 4}.0,{names[predicted[c]]}\n" for f, c in reversed(rows)),
    )


def test_somebody_elses_tables(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_hand(run)
    found = report(capsys, "mine.csv", "gold.csv")
    # N tp 2 fn 1 -> 4/5; C tp 2 fp 1 fn 1 -> 2/3; D tp 2 fp 1 -> 4/5; mean 34/45 = 75.5556 %
    assert found["patch"] == {
        "macro_f1": 75.5556,
        "accuracy": 75.0,
        "no_deploy_f1": 80.0,
        "coral_f1": 66.6667,
        "deploy_f1": 80.0,
        "n": 48,
    }
    expected = f1_score(list("NNNCCCDD"), list("NNCCCDDD"), average="macro")
    assert found["patch"]["macro_f1"] == round(100 * expected, 4)
    assert (found["key"], found["group"], found["synthetic"]) == (["frame", "row", "col"], "site", None)
    # Six sites with the same table: resampling them says nothing of how sites differ.
    assert found["intervals"]["macro_f1"]["low"] == "n/a"
    assert "the same in every resample of the 6 clusters" in found["intervals"]["macro_f1"]["reason"]


def test_an_interval_where_groups_differ_and_none_for_few(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_hand(run)
    text = (run / "mine.csv").read_text().replace("f3.jpg,0.0,0.0,No Deploy", "f3.jpg,0.0,0.0,Deploy")
    (run / "mine.csv").write_text(text)
    interval = report(capsys, "mine.csv", "gold.csv")["intervals"]["macro_f1"]
    assert 65 < interval["low"] < 75 < interval["high"] < 85
    assert interval["clusters"] == 6
    by_hand(run, groups=4)
    assert main(["score", "mine.csv", "gold.csv"]) == 0
    out = capsys.readouterr().out
    assert "cluster bootstrap over 4 values of `site`; n/a: 4 clusters; an interval needs at least 5" in out
    assert "  macro F1      75.56 %            n/a" in out.splitlines()


def test_every_misfit_in_one_message(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_hand(run)
    text = (run / "mine.csv").read_text()
    text = text.replace("f5.jpg,0.0,1.0,", "f9.jpg,0.0,1.0,").replace("f5.jpg,1.0,3.0,DEPLOY", "f5.jpg,1.0,3.0,sand")
    (run / "mine.csv").write_text(text + "f0.jpg,0,0,Coral\n")
    said = fails(capsys, "mine.csv", "gold.csv")
    assert (
        "mine.csv: unknown labels in prediction, allowed are No-Deploy, Coral, Deploy (1):\n  'sand' (line 2)" in said
    )
    assert "mine.csv: keys (frame, row, col) more than once (1):\n  f0.jpg 0 0 (lines 49, 50)" in said
    assert "gold.csv: keys without a prediction in mine.csv (1):\n  f5.jpg 0 1" in said
    assert "mine.csv: extra keys, not in gold.csv (1):\n  f9.jpg 0 1" in said


def test_columns_can_be_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_text(run / "m.csv", "shot,said,truth\na,Deploy,Deploy\nb,No-Deploy,Deploy\n")
    argv = ["m.csv", "m.csv", "--task", "frame", "--key", "shot", "--predicted", "said", "--gold", "truth"]
    assert report(capsys, *argv)["frame"]["accuracy"] == 50.0
    assert "no columns identify an item in both tables" in fails(capsys, "m.csv", "m.csv")
    assert "m.csv: no column reef" in fails(capsys, *argv, "--key", "reef")
    assert "no table has the column split" in fails(capsys, *argv, "--where", "split=test")
    assert "COL=VALUE is needed" in fails(capsys, *argv, "--where", "split")
    assert "none of 2 rows is left where shot=c" in fails(capsys, *argv, "--where", "shot=c")


def test_nothing_to_score(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_text(run / "m.csv", "frame,predicted,gold\na,Deploy,\n")
    assert "no row has a label in gold" in fails(capsys, "m.csv", "m.csv")
    assert "gone.csv: no such table" in fails(capsys, "m.csv", "gone.csv")
    write_text(run / "g.csv", "frame,label,site\na,Deploy,\n")
    assert "g.csv: items with nothing in site (1):\n  a" in fails(capsys, "m.csv", "g.csv")


def test_the_order_of_rows_does_not_matter(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(run)
    df = pd.read_csv(PATCHES, dtype=str, keep_default_na=False)
    df["group"] = df["frame_id"]
    df.to_csv("grouped.csv", index=False)
    df.sample(frac=1, random_state=1).to_csv("shuffled.csv", index=False)
    assert report(capsys, "shuffled.csv", "grouped.csv") == report(capsys, "grouped.csv", "shuffled.csv")


def test_the_groups_of_the_pipeline_are_found_beside_its_tables(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(run)
    aggregate.main([])
    found = report(capsys, PATCHES, "data/patches/labels.csv", "--where", "annotator=A")
    assert found["group"] == "group of data/catalog/splits.csv"
    frame = report(capsys, FRAMES, FRAMES, "--task", "frame", "--where", "split=test")
    assert frame["group"] == "group of data/catalog/splits.csv"
    assert frame["intervals"]["macro_f1"]["clusters"] == 2
    splits = Path("data/catalog/splits.csv")
    splits.write_text(splits.read_text().replace("demo/Coil", "other/Coil"))
    assert report(capsys, PATCHES, PATCHES, "--where", "split=test")["group"] is None, (
        "of other frames: not these groups"
    )


def test_tables_of_whole_frames_are_scored_as_decisions(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_text(run / "decisions.csv", "frame_id,decision\na,Deploy\nb,Deploy\nc,No-Deploy\nd,No-Deploy\n")
    write_text(run / "frame_labels_A.csv", "frame_id,label\na,Deploy\nb,No Deploy\nc,No Deploy\nd,No Deploy\n")
    tables = ["decisions.csv", "frame_labels_A.csv"]
    found = report(capsys, *tables)
    # Deploy tp 1 fp 1: 2/3; No-Deploy tp 2 fn 1: 4/5; mean of the two 73.3333 %, of three with Coral at 0 48.8889 %.
    assert (found["task"], found["frame"]["macro_f1"]) == ("frame", 73.3333)
    assert found["task_because"] == "frame_id names no place on a frame and neither table has the label Coral"
    asked = report(capsys, *tables, "--task", "patch")
    assert (asked["patch"]["macro_f1"], asked["task_because"]) == (48.8889, "set by --task")
    assert main(["score", *tables]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "4 frames",
        "scored as frames: frame_id names no place on a frame and neither table has the label Coral",
    ]


def test_a_place_or_coral_makes_it_patches(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_text(run / "cells.csv", "frame,row,col,label\na,0,0,Deploy\na,0,1,No-Deploy\n")
    found = report(capsys, "cells.csv", "cells.csv")
    assert (found["task"], found["task_because"]) == ("patch", "the key names a place on a frame (row, col)")
    write_text(run / "mine.csv", "file,label\na_1.png,Deploy\n")
    write_text(run / "gold.csv", "file,label\na_1.png,coral\n")
    found = report(capsys, "mine.csv", "gold.csv")
    assert (found["task"], found["task_because"]) == ("patch", "gold.csv has the label Coral in column label")
