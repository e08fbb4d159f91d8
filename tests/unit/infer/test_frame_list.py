import os
import sys
from pathlib import Path

import pytest

from reseed.base.errors import SourceError
from reseed.infer.run_folder import Frame, find_frames, sequence_of


def names(given: list[Path], out: Path = Path("nowhere")) -> list[str]:
    return [frame.name for frame in find_frames(given, out).frames]


def touch(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"x")


def test_order_is_by_capture_name_whatever_the_folder(tmp_path: Path) -> None:
    touch(tmp_path, "b/20230315_1.jpg", "a/20230315_2.jpg", "c/20230314_9.JPG", "a/20230315_1.jpg")
    assert names([tmp_path]) == ["c/20230314_9.JPG", "a/20230315_1.jpg", "b/20230315_1.jpg", "a/20230315_2.jpg"]


def test_what_is_no_frame_is_left_alone_and_counted(tmp_path: Path) -> None:
    touch(
        tmp_path,
        "a/1.jpg",
        "a/Photo_Log.csv",
        "a/survey.json",
        "notes.txt",
        ".DS_Store",
        "a/._1.jpg",
        ".hidden/2.jpg",
        "Thumbs.db",
    )
    found = find_frames([tmp_path], Path("nowhere"))
    assert [frame.name for frame in found.frames] == ["a/1.jpg"]
    assert found.ignored == 1  # notes.txt; what recorders write and systems leave behind is not worth a word


def test_results_inside_the_folder_of_frames_are_no_frames(tmp_path: Path) -> None:
    touch(tmp_path, "a/1.jpg", "out/old.jpg")
    assert names([tmp_path], tmp_path / "out") == ["a/1.jpg"]


def test_several_arguments_are_named_from_what_they_share(tmp_path: Path) -> None:
    touch(tmp_path, "day_1/tow/1.jpg", "day_2/tow/1.jpg", "other/3.png")
    given = [tmp_path / "day_1", tmp_path / "day_2", tmp_path / "other/3.png"]
    assert names(given) == ["day_1/tow/1.jpg", "day_2/tow/1.jpg", "other/3.png"]


def test_a_frame_that_is_named_twice_is_taken_once(tmp_path: Path) -> None:
    touch(tmp_path, "a/1.jpg", "a/2.jpg")
    assert names([tmp_path, tmp_path / "a", tmp_path / "a/1.jpg"]) == ["a/1.jpg", "a/2.jpg"]


def test_a_list_names_files_from_its_own_folder(tmp_path: Path) -> None:
    touch(tmp_path, "a/1.jpg", "b/2.jpg")
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists/day.txt").write_text(f"# day one\n../a/1.jpg\n\n{tmp_path / 'b/2.jpg'}\n")
    assert names([tmp_path / "lists/day.txt"]) == ["a/1.jpg", "b/2.jpg"]


def test_a_list_with_a_file_that_is_not_there_says_which_line(tmp_path: Path) -> None:
    touch(tmp_path, "1.jpg")
    (tmp_path / "day.txt").write_text("1.jpg\n2.jpg\n")
    with pytest.raises(SourceError, match=r"day\.txt: 1 of 2 files are not there: line 2: .*2\.jpg"):
        names([tmp_path / "day.txt"])


@pytest.mark.parametrize("content", ["", "# nothing\n"])
def test_an_empty_list_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "day.txt").write_text(content)
    with pytest.raises(SourceError, match=r"no frame found \(other files: 0\)"):
        names([tmp_path / "day.txt"])


def test_nothing_there_and_nothing_in_there_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file or folder"):
        names([tmp_path / "gone"])
    touch(tmp_path, "notes.txt")
    with pytest.raises(SourceError, match=r"no frame found \(other files: 1\); frames are files ending in \.jpg"):
        names([tmp_path])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_would_break_a_line_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "a\nb.jpg").write_bytes(b"x")
    (tmp_path / os.fsdecode(b"caf\xe9.jpg")).write_bytes(b"x")
    found = find_frames([tmp_path], Path("nowhere")).frames
    assert [frame.name for frame in found] == ["a\\nb.jpg", "caf\\udce9.jpg"]
    assert all(frame.path.read_bytes() == b"x" for frame in found)


def test_cameras_of_one_recording_are_one_sequence() -> None:
    assert sequence_of("tow_1/cam_1/1.jpg") == sequence_of("tow_1/cam_2/1.jpg") == "tow_1"
    assert sequence_of("1.jpg") == ""
    assert Frame(Path("x"), "tow/20230315_020635_000_0000.jpg").stem == "20230315_020635_000_0000"
