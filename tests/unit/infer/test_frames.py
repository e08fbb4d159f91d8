import os
from pathlib import Path

import pytest

from reseed.infer import frames
from reseed.infer.frames import PATIENCE_S, POLL_S, ListSource, WatchedFolders
from reseed.infer.run_folder import Frame
from tests.unit.infer.boat import frame_image, frame_jpeg
from tests.unit.survey.surveys import encoded

WHOLE = frame_jpeg("dddddddd")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def watch(folder: Path, clock: Clock, *, newest_first: bool = False, idle_end_s: float | None = None) -> WatchedFolders:
    done: set[str] = set()
    return WatchedFolders(
        [folder], folder, folder / "out", done, newest_first=newest_first, idle_end_s=idle_end_s, clock=clock
    )


def looks(source: WatchedFolders, clock: Clock, times: int) -> list[str]:
    """Look so many times, a poll apart, and return the names of what was taken."""
    taken = []
    for _ in range(times):
        clock.now += POLL_S
        while (frame := source.take()) is not None:
            taken.append(frame.name)
    return taken


def wait(clock: Clock, seconds: float) -> int:
    return round(seconds / POLL_S)


def test_a_list_gives_each_once_and_takes_nothing_back() -> None:
    frames = [Frame(Path("a"), "a"), Frame(Path("b"), "b")]
    source = ListSource(frames)
    assert [source.take(), source.take(), source.take()] == [*frames, None]
    assert source.exhausted()
    assert not source.give_back(frames[0])


def test_a_whole_frame_is_taken_at_the_second_look_and_never_again(tmp_path: Path, clock: Clock) -> None:
    source = watch(tmp_path, clock)
    (tmp_path / "1.jpg").write_bytes(WHOLE)
    assert looks(source, clock, 1) == []
    assert looks(source, clock, 1) == ["1.jpg"]
    os.utime(tmp_path / "1.jpg")
    assert looks(source, clock, 100) == []


def test_a_file_that_grows_is_waited_for(tmp_path: Path, clock: Clock) -> None:
    source = watch(tmp_path, clock)
    for share in (0, 3, 7, 9):
        (tmp_path / "1.jpg").write_bytes(WHOLE[: len(WHOLE) * share // 10])
        assert looks(source, clock, 1) == []
    (tmp_path / "1.jpg").write_bytes(WHOLE)
    assert looks(source, clock, 2) == ["1.jpg"]


def test_a_stalled_copy_is_tried_once_then_when_it_changes(tmp_path: Path, clock: Clock) -> None:
    source = watch(tmp_path, clock)
    (tmp_path / "1.jpg").write_bytes(WHOLE[: len(WHOLE) // 2])
    assert looks(source, clock, 4) == []
    assert looks(source, clock, wait(clock, 2)) == ["1.jpg"]
    frame = Frame(tmp_path / "1.jpg", "1.jpg")
    assert source.give_back(frame)
    assert looks(source, clock, wait(clock, 5)) == []  # the same half is not decoded again and again
    (tmp_path / "1.jpg").write_bytes(WHOLE)
    assert looks(source, clock, 3) == ["1.jpg"]


def test_what_stays_broken_is_given_up(tmp_path: Path, clock: Clock) -> None:
    source = watch(tmp_path, clock)
    (tmp_path / "1.jpg").write_bytes(WHOLE[:-50])
    frame = Frame(tmp_path / "1.jpg", "1.jpg")
    assert looks(source, clock, wait(clock, 3)) == ["1.jpg"]
    assert source.give_back(frame)
    assert looks(source, clock, wait(clock, PATIENCE_S)) == ["1.jpg"]
    assert not source.give_back(frame)
    assert looks(source, clock, wait(clock, PATIENCE_S)) == []


def test_an_empty_file_is_given_up_only_after_long(tmp_path: Path, clock: Clock) -> None:
    source = watch(tmp_path, clock)
    (tmp_path / "1.jpg").write_bytes(b"")
    assert looks(source, clock, wait(clock, PATIENCE_S) - 1) == []
    assert looks(source, clock, 4) == ["1.jpg"]


def test_padding_before_the_end_of_file_is_no_reason_to_wait(tmp_path: Path, clock: Clock) -> None:
    source = watch(tmp_path, clock)
    (tmp_path / "1.jpg").write_bytes(WHOLE + bytes(999))
    assert looks(source, clock, 2) == ["1.jpg"]


def test_other_formats_are_taken_when_they_are_quiet(tmp_path: Path, clock: Clock) -> None:
    source = watch(tmp_path, clock)
    (tmp_path / "1.png").write_bytes(encoded(frame_image("dddddddd"), "PNG"))
    assert looks(source, clock, 4) == []
    assert looks(source, clock, wait(clock, 2)) == ["1.png"]


def test_a_temporary_name_that_is_renamed_is_one_frame(tmp_path: Path, clock: Clock) -> None:
    source = watch(tmp_path, clock)
    (tmp_path / ".1.jpg.Xy12").write_bytes(WHOLE[:500])
    (tmp_path / "1.jpg.part").write_bytes(WHOLE[:500])
    (tmp_path / "tmp.jpg").write_bytes(WHOLE[:500])
    assert looks(source, clock, 2) == []
    (tmp_path / "tmp.jpg").rename(tmp_path / "1.jpg")
    (tmp_path / "1.jpg").write_bytes(WHOLE)
    assert looks(source, clock, 3) == ["1.jpg"]
    assert source.unfinished == 0


def test_folders_that_come_later_are_found_and_results_are_not(tmp_path: Path, clock: Clock) -> None:
    source = watch(tmp_path, clock)
    for folder in ("tow_9", "out"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.jpg").write_bytes(WHOLE)
    assert looks(source, clock, 3) == ["tow_9/1.jpg"]


def test_frames_are_taken_in_the_order_of_capture(tmp_path: Path, clock: Clock) -> None:
    for name in ("3.jpg", "1.jpg", "2.jpg"):
        (tmp_path / name).write_bytes(WHOLE)
    assert looks(watch(tmp_path, clock), clock, 3) == ["1.jpg", "2.jpg", "3.jpg"]


def test_newest_first_says_what_it_passed_over(tmp_path: Path, clock: Clock) -> None:
    source = watch(tmp_path, clock, newest_first=True)
    for number in (1, 2, 3):
        (tmp_path / f"{number}.jpg").write_bytes(WHOLE)
        os.utime(tmp_path / f"{number}.jpg", (1000 + number, 1000 + number))
    assert looks(source, clock, 3) == ["3.jpg"]
    assert [(old.name, new.name) for old, new in source.passed_over()] == [("1.jpg", "3.jpg"), ("2.jpg", "3.jpg")]
    assert source.passed_over() == []
    assert looks(source, clock, 10) == []


def test_it_ends_when_nothing_changes_any_more(tmp_path: Path, clock: Clock) -> None:
    source = watch(tmp_path, clock, idle_end_s=1)
    (tmp_path / "half.jpg").write_bytes(WHOLE[:500])
    assert looks(source, clock, 4) == []
    assert not source.exhausted()
    assert looks(source, clock, 8) == ["half.jpg"]  # what is not whole now never will be
    assert not source.give_back(Frame(tmp_path / "half.jpg", "half.jpg"))
    assert source.exhausted()
    assert looks(source, clock, 20) == []


def test_frames_decided_before_are_not_taken(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "1.jpg").write_bytes(WHOLE)
    (tmp_path / "2.jpg").write_bytes(WHOLE)
    source = WatchedFolders(
        [tmp_path], tmp_path, tmp_path / "out", {"1.jpg"}, newest_first=False, idle_end_s=None, clock=clock
    )
    assert looks(source, clock, 3) == ["2.jpg"]


def test_a_folder_that_vanishes_and_comes_back(tmp_path: Path, clock: Clock) -> None:
    """A network disk that is lost for a while."""
    folder = tmp_path / "disk"
    folder.mkdir()
    source = watch(folder, clock)
    (folder / "1.jpg").write_bytes(WHOLE)
    assert looks(source, clock, 2) == ["1.jpg"]
    folder.rename(tmp_path / "away")
    assert looks(source, clock, 4) == []
    (tmp_path / "away").rename(folder)
    (folder / "2.jpg").write_bytes(WHOLE)
    assert looks(source, clock, 3) == ["2.jpg"]


def test_patience_is_longer_than_quiet() -> None:
    assert frames._QUIET_S < PATIENCE_S
