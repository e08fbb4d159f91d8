import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reseed.base.errors import TableError
from reseed.infer.tables import (
    DECISION_COLUMNS,
    DECISIONS_FILE,
    PATCH_COLUMNS,
    PATCHES_FILE,
    LineFile,
    read_lines,
    recover,
    take_up,
)

COLUMNS = ("frame", "note")
ROWS = [{"frame": f"tow, 1/{number}.jpg", "note": f'a "note" {number}'} for number in range(5)]


def written(path: Path, rows: list[dict[str, str]]) -> bytes:
    table = LineFile(path, COLUMNS)
    table.append(rows)
    table.sync()
    table.close()
    return path.read_bytes()


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    written(tmp_path / "t.csv", ROWS)
    assert list(read_lines(tmp_path / "t.csv", COLUMNS)) == ROWS


def test_each_row_is_there_before_the_next_is_written(tmp_path: Path) -> None:
    table = LineFile(tmp_path / "t.csv", COLUMNS)
    for number, row in enumerate(ROWS, 1):
        table.append([row])
        assert len(list(read_lines(tmp_path / "t.csv", COLUMNS))) == number
    table.close()


def test_wherever_a_run_is_killed_whole_rows_remain_and_it_goes_on(tmp_path: Path) -> None:
    whole = written(tmp_path / "t.csv", ROWS)
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]  # header, then each row
    for cut in range(len(whole)):
        path = tmp_path / f"{cut}.csv"
        path.write_bytes(whole[:cut])
        recover(path, COLUMNS)
        table = LineFile(path, COLUMNS)
        table.close()
        kept = sum(end <= cut for end in ends) - 1  # rows that were whole before the cut
        assert list(read_lines(path, COLUMNS)) == ROWS[: max(kept, 0)], cut
        written(path, ROWS[max(kept, 0) :])
        assert path.read_bytes() == whole


@given(st.binary(max_size=40).filter(lambda tail: tail.count(b",") != 1))
def test_rubbish_at_the_end_is_cut(tmp_path_factory: pytest.TempPathFactory, tail: bytes) -> None:
    path = tmp_path_factory.mktemp("t") / "t.csv"
    whole = written(path, ROWS)
    path.write_bytes(whole + tail)
    recover(path, COLUMNS)
    assert path.read_bytes() == whole


def test_nul_bytes_of_a_power_cut_are_cut(tmp_path: Path) -> None:
    whole = written(tmp_path / "t.csv", ROWS)
    (tmp_path / "t.csv").write_bytes(whole + bytes(4096))
    recover(tmp_path / "t.csv", COLUMNS)
    assert (tmp_path / "t.csv").read_bytes() == whole
    (tmp_path / "t.csv").write_bytes(whole + b"tow, 9\0\0\0,x\n")  # a block that never reached the disk
    recover(tmp_path / "t.csv", COLUMNS)
    assert (tmp_path / "t.csv").read_bytes() == whole
    (tmp_path / "t.csv").write_bytes(bytes(4096))  # not even the header reached the disk
    recover(tmp_path / "t.csv", COLUMNS)
    assert not (tmp_path / "t.csv").exists()


def test_another_table_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="columns a,b; needed: frame,note"):
        recover(tmp_path / "t.csv", COLUMNS)
    assert (tmp_path / "t.csv").read_text() == "a,b\n1,2\n"


def test_damage_in_the_middle_is_said(tmp_path: Path) -> None:
    whole = written(tmp_path / "t.csv", ROWS)
    (tmp_path / "t.csv").write_bytes(whole.replace(b'"a ""note"" 1"', b"x,y"))
    with pytest.raises(TableError, match="line 3 is damaged"):
        list(read_lines(tmp_path / "t.csv", COLUMNS))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_clear_line() -> None:
    with pytest.raises(TableError, match=r"cannot write /dev/full: No space left on device; what was decided"):
        LineFile(Path("/dev/full"), COLUMNS)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_one_clear_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(TableError, match="Permission denied"):
        LineFile(tmp_path / "t.csv", COLUMNS)


def decision(frame: str, n_patches: int = 2) -> dict[str, object]:
    return dict.fromkeys(DECISION_COLUMNS, "") | {"frame": frame, "n_patches": n_patches}


def patch(frame: str) -> dict[str, object]:
    return dict.fromkeys(PATCH_COLUMNS, "") | {"frame": frame}


@pytest.mark.parametrize(
    ("decided", "patches", "kept"),
    [
        ("ab", "aabb", "ab"),
        ("ab", "aabbcc", "ab"),  # killed between the patches of c and its decision
        ("ab", "aabbc", "ab"),
        ("ab", "aab", "a"),  # a power cut lost the last patches but not the decision
        ("", "aa", ""),
    ],
)
def test_a_frame_is_decided_when_all_of_it_is_there(tmp_path: Path, decided: str, patches: str, kept: str) -> None:
    for name, columns, rows in (
        (DECISIONS_FILE, DECISION_COLUMNS, [decision(frame) for frame in decided]),
        (PATCHES_FILE, PATCH_COLUMNS, [patch(frame) for frame in patches]),
    ):
        table = LineFile(tmp_path / name, columns)
        table.append(rows)
        table.close()
    assert take_up(tmp_path) == set(kept)
    assert [row["frame"] for row in read_lines(tmp_path / PATCHES_FILE, PATCH_COLUMNS)] == [
        c for c in kept for _ in "12"
    ]
