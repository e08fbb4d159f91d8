from pathlib import Path

import pytest

from reseed.base.errors import TableError
from reseed.infer.gold import read_gold


def table(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(["frame,label,annotator", *rows]) + "\n")
    return path


def test_a_row_means_the_frame_whose_path_ends_so(tmp_path: Path) -> None:
    gold = read_gold(table(tmp_path / "g.csv", "a/1.jpg,deploy,A", "2.jpg,No Deploy,A", "b/9.jpg,Deploy,A"))
    found = gold.of_frames(["a/1.jpg", "b/1.jpg", "a/2.jpg"], tmp_path / "survey")
    assert found == {"a/1.jpg": "Deploy", "a/2.jpg": "No-Deploy"}
    # Only one sequence was given to infer, the table is of the survey.
    assert gold.of_frames(["1.jpg"], tmp_path / "survey" / "a") == {"1.jpg": "Deploy"}
    assert gold.of_frames(["1.jpg"], tmp_path / "survey" / "b") == {}


def test_a_name_that_fits_two_frames_is_an_error(tmp_path: Path) -> None:
    gold = read_gold(table(tmp_path / "g.csv", "1.jpg,Deploy,A"))
    with pytest.raises(TableError, match=r"1\.jpg may be a/1\.jpg or b/1\.jpg; write the path with its folder"):
        gold.of_frames(["a/1.jpg", "b/1.jpg"], tmp_path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a/1.jpg,Coral,A"], "'Coral' is neither decision"),
        (["a/1.jpg,Deploy,A", "a/1.jpg,No-Deploy,B"], "line 3: a/1.jpg is No-Deploy, but .* line 2 says Deploy"),
    ],
)
def test_what_is_no_gold(tmp_path: Path, rows: list[str], message: str) -> None:
    with pytest.raises(TableError, match=message):
        read_gold(table(tmp_path / "g.csv", *rows))


def test_the_same_said_twice_and_rows_without_a_label(tmp_path: Path) -> None:
    gold = read_gold(table(tmp_path / "g.csv", "a/1.jpg,Deploy,A", "a/1.jpg,Deploy,B", "a/2.jpg,,A"))
    assert len(gold) == 1


def test_a_missing_table_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"gone\.csv: cannot be read \(No such file or directory\)"):
        read_gold(tmp_path / "gone.csv")
