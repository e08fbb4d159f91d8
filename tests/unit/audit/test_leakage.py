"""A small survey in which each kind of leak is planted once."""

import io
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from reseed.artifacts.catalog import FRAMES, PIECES
from reseed.artifacts.patches import SPLITS_TABLE
from reseed.cli.leakage import report
from reseed.cli.main import main
from reseed.patches.leakage import COPY, EQUAL, NEIGHBOUR, OVERLAP, candidate_pairs, find_leakage
from tests.unit.patches.test_overlap import seabed

SPLIT = "split: {group_by: sequence, val_fraction: 0.2, test_fraction: 0.2, block_frames: 9, guard_frames: 1, seed: 0}"
# Frame: sequence, second, split, seed of its seabed, where it lies on it.
SURVEY = {
    "tow/a.png": ("tow", 1, "train", 0, (100, 150)),
    "tow/b.png": ("tow", 2, "train", 0, (130, 200)),  # overlaps a, in the same split
    "tow/c.png": ("tow", 3, "none", 1, (100, 150)),
    "tow/d.png": ("tow", 4, "test", 2, (100, 150)),
    "tow/e.png": ("tow", 5, "val", 3, (100, 150)),  # follows d, and shows nothing of it
    "drop/f.png": ("drop", 1, "test", 0, (60, 180)),  # overlaps a and b
    "drop/g.png": ("drop", 9, "test", 4, (100, 150)),
    "copy/h.jpg": ("copy", 1, "train", 4, (100, 150)),  # g encoded anew
    "copy/i.png": ("copy", 2, "train", 2, (100, 150)),  # the file d
}
LEAKS = {
    ("copy/i.png", "tow/d.png"): (EQUAL, OVERLAP),
    ("copy/h.jpg", "drop/g.png"): (COPY, OVERLAP),
    ("drop/f.png", "tow/a.png"): (OVERLAP,),
    ("drop/f.png", "tow/b.png"): (OVERLAP,),
    ("tow/d.png", "tow/e.png"): (NEIGHBOUR,),
}


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(SPLIT + "\n")
    rows = []
    for name, (sequence, second, _, seed, (y, x)) in SURVEY.items():
        path = Path("data/raw", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(seabed(seed)[y : y + 192, x : x + 336])
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG" if name.endswith("jpg") else "PNG", quality=60)
        path.write_bytes(buffer.getvalue())
        rows.append(
            {
                "frame_id": name, "source": "s", "site": sequence, "sequence": sequence, "width_px": 336,
                "height_px": 192, "captured_at": f"2023-03-15T02:06:{second:02d}Z", "latitude_deg": np.nan,
                "longitude_deg": np.nan, "water_depth_m": np.nan, "altitude_m": np.nan,
                "sha256": f"{seed}{y}{x}{name[-3:]}", "synthetic": 0, "given_split": "",
            }
        )  # fmt: skip
    frames = FRAMES.frame(rows)
    FRAMES.write(frames, Path("data/catalog/frames.csv"))
    PIECES.write(PIECES.frame([]), Path("data/catalog/pieces.csv"))
    table = [{"frame_id": name, "group": facts[0], "split": facts[2]} for name, facts in SURVEY.items()]
    SPLITS_TABLE.write(SPLITS_TABLE.frame(table), Path("data/catalog/splits.csv"))
    return frames


def splits() -> dict[str, str]:
    return {name: facts[2] for name, facts in SURVEY.items()}


def test_a_frame_that_came_in_patches_is_looked_at_as_a_whole(survey: pd.DataFrame) -> None:
    path, rows = Path("data/raw/tow/a.png"), []
    with Image.open(path) as image:
        for number in range(4):
            x0, y0 = 168 * (number % 2), 96 * (number // 2)
            image.crop((x0, y0, x0 + 168, y0 + 96)).save(path.with_name(f"a_{number}.png"))
            box = {"x0": x0, "y0": y0, "x1": x0 + 168, "y1": y0 + 96, "path": f"tow/a_{number}.png"}
            rows.append({"frame_id": "tow/a.png", "row": number // 2, "col": number % 2} | box)
    whole = find_leakage(survey, PIECES.frame([]), splits(), Path("data/raw"), guard_frames=1)
    path.unlink()
    assert find_leakage(survey, PIECES.frame(rows), splits(), Path("data/raw"), guard_frames=1) == whole


def test_each_kind_is_found_and_nothing_else(survey: pd.DataFrame) -> None:
    found = find_leakage(survey, PIECES.frame([]), splits(), Path("data/raw"), guard_frames=1)
    assert {(pair.first, pair.second): pair.kinds for pair in found.shared if pair.leaks} == LEAKS
    elsewhere = [(pair.first, pair.second) for pair in found.shared if not pair.leaks]
    assert elsewhere == [("tow/a.png", "tow/b.png")]
    assert (found.n_frames, found.n_registered, found.n_pairs) == (9, 36, 36)
    # Four pairs follow each other in tow, one each in drop and copy; a and b alone overlap.
    assert (found.n_following, found.n_following_overlap) == (6, 1)


def test_worst_first(survey: pd.DataFrame) -> None:
    found = find_leakage(survey, PIECES.frame([]), splits(), Path("data/raw"), guard_frames=1).shared
    kinds = [pair.kinds[0] for pair in found]
    assert set(kinds[:2]) == {EQUAL, COPY}
    assert kinds[2:] == [OVERLAP, OVERLAP, NEIGHBOUR, OVERLAP]
    assert [pair.leaks for pair in found] == [True] * 5 + [False]


def test_the_order_of_the_rows_does_not_matter(survey: pd.DataFrame) -> None:
    straight = find_leakage(survey, PIECES.frame([]), splits(), Path("data/raw"), guard_frames=1)
    assert find_leakage(survey.iloc[::-1], PIECES.frame([]), splits(), Path("data/raw"), guard_frames=1) == straight


def test_copies_are_found_even_where_too_many_pairs_are_there_to_register(survey: pd.DataFrame) -> None:
    found = find_leakage(survey, PIECES.frame([]), splits(), Path("data/raw"), guard_frames=1, most_pairs=5)
    kinds = {(pair.first, pair.second): pair.kinds for pair in found.shared}
    assert kinds["copy/h.jpg", "drop/g.png"] == (COPY, OVERLAP)
    assert kinds["copy/i.png", "tow/d.png"] == (EQUAL, OVERLAP)
    assert found.n_registered < found.n_pairs
    assert "those near in time or place" in report(found)


def test_candidates_are_near_in_time_or_place(survey: pd.DataFrame) -> None:
    ids = sorted(survey["frame_id"])
    assert candidate_pairs(survey, 36) == list(combinations(ids, 2))
    near = candidate_pairs(survey, 35)
    assert all(a.split("/")[0] == b.split("/")[0] for a, b in near)
    # 0.0001 degrees of latitude are 11 m; of longitude, at 60 degrees south, half of that.
    placed = survey.assign(latitude_deg=-60.0, longitude_deg=[143.0 + 0.1 * i for i in range(9)])
    placed.loc[placed["frame_id"] == "drop/f.png", "longitude_deg"] = 143.0 + 0.0003
    by_place = set(candidate_pairs(placed, 35)) - set(near)
    assert by_place == {("drop/f.png", "tow/a.png")}


def test_the_command(survey: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leakage"]) == 0
    said = capsys.readouterr().out
    assert "equal file                                   1           0" in said
    assert "re-encoded copy                              1           0" in said
    assert "close neighbours                             1           0" in said
    assert "overlapping views                            4           1" in said
    assert "1 of 6 pairs that follow each other were seen to overlap" in said
    first = Path("plots/leakage.png").read_bytes()
    assert main(["leakage", "--strict", "--figure", "again.png"]) == 1
    assert Path("again.png").read_bytes() == first


def test_a_clean_division(survey: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"frame_id": name, "group": "g", "split": "train"} for name in SURVEY]
    Path("data/catalog/splits.csv").unlink()
    SPLITS_TABLE.write(SPLITS_TABLE.frame(rows), Path("data/catalog/splits.csv"))
    assert main(["leakage", "--strict"]) == 0
    assert "overlapping views                            0           5" in capsys.readouterr().out


def test_tables_of_two_different_runs(survey: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    Path("data/catalog/splits.csv").unlink()
    rows = [{"frame_id": name, "group": "g", "split": "train"} for name in list(SURVEY)[1:]]
    SPLITS_TABLE.write(SPLITS_TABLE.frame(rows), Path("data/catalog/splits.csv"))
    assert main(["leakage"]) == 2
    assert "run `dvc repro split`" in capsys.readouterr().err


def test_a_split_that_there_is_not_is_refused(survey: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    table = Path("data/catalog/splits.csv")
    table.write_text(table.read_text().replace(",val", ",dev"))
    assert main(["leakage"]) == 2
    said = capsys.readouterr().err
    assert "1 frames in an unknown split, first: tow/e.png in 'dev'; allowed: train, val, test, none" in said
    assert not Path("plots/leakage.png").exists()
