import pandas as pd
import pytest

from reseed.patches.overlap import sentence, table_leaks, within_sequence


def frames(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    """Frame id, sequence, time and digest."""
    table = pd.DataFrame(rows, columns=["frame_id", "sequence", "captured_at", "sha256"])
    return table.assign(source="s")


# One sequence of five frames in the order b a c d e by time, and one frame of another.
TOW = frames(
    ("a", "tow", "2023-03-15T00:00:02Z", "1"),
    ("b", "tow", "2023-03-15T00:00:01Z", "2"),
    ("c", "tow", "2023-03-15T00:00:03Z", "3"),
    ("d", "tow", "2023-03-15T00:00:04Z", "4"),
    ("e", "tow", "2023-03-15T00:00:05Z", "5"),
    ("f", "drop", "2023-03-15T00:00:01Z", "1"),
)


def test_order_is_that_of_time_and_sequences_are_apart() -> None:
    assert list(within_sequence(TOW, 2)) == [
        ("b", "a", 1), ("a", "c", 1), ("c", "d", 1), ("d", "e", 1), ("b", "c", 2), ("a", "d", 2), ("c", "e", 2),
    ]  # fmt: skip


def test_the_same_sequence_name_in_two_sources_is_two_sequences() -> None:
    two = TOW.assign(source=["s", "s", "t", "s", "s", "s"])
    assert ("a", "c", 1) not in list(within_sequence(two, 1))


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        # b a | c | d e are train, none, test: with one guard frame nobody follows anybody of another split.
        (1, ()),
        (0, ()),
        # Two guard frames are asked for, one is there: a (train) and d (test) are 2 apart.
        (2, (("a", "d"),)),
        # Three: also b-d and a-e, 3 apart.
        (3, (("a", "d"), ("a", "e"), ("b", "d"))),
    ],
)
def test_neighbours_closer_than_the_guard(guard: int, expected: tuple[tuple[str, str], ...]) -> None:
    splits = {"a": "train", "b": "train", "c": "none", "d": "test", "e": "test", "f": "train"}
    assert table_leaks(TOW, splits, guard).neighbours == expected


def test_frames_that_follow_each_other_count_even_without_a_guard() -> None:
    splits = {"a": "train", "b": "test", "c": "train", "d": "train", "e": "val", "f": "none"}
    leaks = table_leaks(TOW, splits, 0)
    assert leaks.neighbours == (("b", "a"), ("d", "e"))
    assert sentence(leaks).startswith(
        "in different splits: 0 pairs of equal frames, 2 pairs of frames of one sequence that follow each other"
    )


def test_equal_files_in_different_splits() -> None:
    splits = {"a": "train", "b": "train", "c": "train", "d": "train", "e": "train", "f": "test"}
    assert table_leaks(TOW, splits, 1).copies == (("a", "f"),)
    assert table_leaks(TOW, splits | {"f": "train"}, 1).copies == ()
    assert table_leaks(TOW, splits | {"f": "none"}, 1).copies == ()
    all_equal = TOW.assign(sha256="1")
    # Five in train, one in test: the first of each split stands for the others.
    assert table_leaks(all_equal, splits, 1).copies == (("a", "f"),)
    assert "1 pair of equal" in sentence(table_leaks(all_equal, splits, 3))
