from pathlib import Path

import pytest

from reseed.base.errors import TableError
from reseed.survey.photo_log import read_photo_log

HEADER = "filename_string,latitude,longitude,ping_depth,pressure_depth,time_secs,speed\n"


def _log(folder: Path, text: str) -> Path:
    (folder / "photo_log.csv").write_text(text)
    return folder / "photo_log.csv"


def test_rows_by_file_name_whatever_the_columns(tmp_path: Path) -> None:
    full = read_photo_log(_log(tmp_path, HEADER + "a.jpg,-9.5,143,1000,0.5,1678845995,1.2\n"), "log")
    assert full.facts["a.jpg"].water_depth_m == 1.5
    short = read_photo_log(_log(tmp_path, "filename_string,latitude,longitude\na.jpg,-9.5,143\n"), "log")
    assert (short.facts["a.jpg"].latitude_deg, short.facts["a.jpg"].taken) == (-9.5, None)


@pytest.mark.parametrize("written", ["/media/data/Seq01/a.jpg", r"D:\data\a.jpg", "a.jpg "])
def test_the_folder_that_the_recorder_had_does_not_count_beside_the_log(tmp_path: Path, written: str) -> None:
    log = read_photo_log(_log(tmp_path, f"filename_string\n{written}\n"), "log")
    assert log.find("tow_7/a.jpg", own=True, unique=lambda: False) is not None


def test_repeated_rows_are_merged_and_counted(tmp_path: Path) -> None:
    row = "a.jpg,-9.5,143,1000,0.5,1678845995,"
    log = read_photo_log(_log(tmp_path, HEADER + f"{row}1\n{row}2\n{row}1\nb.jpg,,,,,,\nb.jpg,,,,,,\n"), "log")
    assert (log.rows, log.duplicates, sorted(log.facts)) == (5, 3, ["a.jpg", "b.jpg"])


def test_rows_that_contradict_each_other_are_listed(tmp_path: Path) -> None:
    text = HEADER + "a.jpg,-9.5,143,1000,0.5,1678845995,1\na.jpg,-9.6,143,1000,0.5,1678845995,1\n"
    with pytest.raises(TableError, match=r"src/photo_log.csv: 1 rows .*line 3: a.jpg"):
        read_photo_log(_log(tmp_path, text), "src/photo_log.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [("latitude\n1\n", "no column filename_string"), ("filename_string,x\n,1\n", "line 2: filename_")],
)
def test_broken_logs(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        read_photo_log(_log(tmp_path, text), "log")


@pytest.mark.parametrize(
    ("row", "place", "problems"),
    [
        ("a.jpg;-10,5;143,25;1678845995", (-10.5, 143.25), ()),
        ("a.jpg;-9.123;143.751;1678845995", (-9.123, 143.751), ()),  # 9123 is no latitude
        ("a.jpg;-1.05E+01;1.43E+02;1678845995", None, ("log_position_digits_lost",)),
        ("a.jpg;-10.5;143.25;1.67885E+09", (-10.5, 143.25), ("log_time_digits_lost",)),
        ("a.jpg;-10,5;143,25;1.678.845.995", (-10.5, 143.25), ()),
    ],
)
def test_numbers_as_spreadsheets_write_them(
    tmp_path: Path, row: str, place: tuple[float, float] | None, problems: tuple[str, ...]
) -> None:
    (tmp_path / "photo_log.csv").write_text(f"sep=;\nfilename_string;latitude;longitude;time_secs\n{row}\n")
    log = read_photo_log(tmp_path / "photo_log.csv", "photo_log.csv")
    (facts,) = log.facts.values()
    assert (None if not facts.placed else (facts.latitude_deg, facts.longitude_deg)) == place
    assert facts.problems == problems
