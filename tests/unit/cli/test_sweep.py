import argparse
import csv
import json
from pathlib import Path

import pytest

from reseed.cli import sweep
from reseed.compare.sweep import sweep_of
from tests.unit.compare.test_sweep import base, row


def test_table_csv_json_and_picture_of_one_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = [
        row("=low", **{"aggregate.alpha": 0.2}, scores={"frame.macro_f1": 60.0}),
        row("runs", "Running", **{"aggregate.alpha": 0.3}),
    ]
    found = sweep_of([*base(), *trials])
    monkeypatch.setattr(sweep, "read_sweep", lambda *_: found)
    parser = argparse.ArgumentParser()
    sweep.add_arguments(parser)
    table, picture = tmp_path / "sweep.csv", tmp_path / "sweep.png"
    assert sweep.run(parser.parse_args(["--csv", str(table), "--figure", str(picture), "--json"])) == 0
    assert len(json.loads(capsys.readouterr().out)["trials"]) == 3
    assert picture.read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [(line["trial"], line["state"], line["frame.macro_f1"]) for line in rows] == [
        ("'=low", "done", "60.0"),  # no spreadsheet computes it
        ("runs", "running", ""),
        ("1234567", "done", "70.0"),
    ]
    spread = ("patch.macro_f1_sd", "frame.macro_f1_sd", "patch.macro_f1_low", "patch.macro_f1_high")
    assert [rows[0][key] for key in spread] == ["1.5", "", "75.0", "85.0"]
    assert [rows[1][key] for key in spread] == [""] * 4
