"""Which site, sequence, frame and moment a picture belongs to."""

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reseed.survey.identity import (
    agreement,
    capture_order,
    clock_resets,
    is_camera_folder,
    merged_sites,
    natural_key,
    one_spelling,
    path_parts,
    recording_folders,
    spelling_key,
    survey_days,
)

NONE = math.nan


@pytest.mark.parametrize(
    "name",
    [
        "DCIM",
        "dcim",
        "100GOPRO",
        "101gopro",
        "100MEDIA",
        "100_PANA",
        "101MSDCF",
        "102ND850",
        "100CANON",
        "101_0315",
        "100GOPRO (1)",
        "DJI_001",
        "cam_1",
        "Camera 2",
        "cam_left",
        "HERO9 Black 1",
        "SD1",
        "SD card 2",
        "Card A",
        "microSD 3",
        "CF2",
        "G0012345",
    ],
)
def test_a_camera_made_that_folder(name: str) -> None:
    assert is_camera_folder(name)
    assert recording_folders(f"Heron/{name}/1.jpg") == ["Heron"]


@pytest.mark.parametrize(
    "name",
    [
        "Heron",
        "20230315",
        "Site 3",
        "20230315_020635_Seq01",
        "101 Reef",
        "campus",
        "300m",
        "2023MARC",
        "Cardwell",
        "Placard B",
        "SDR",
        "G12",
    ],
)
def test_a_person_or_a_recorder_named_that_folder(name: str) -> None:
    assert not is_camera_folder(name)


@pytest.mark.parametrize(
    "other",
    [
        "heron reef 3",
        "HERON_REEF_3",
        "Heron-Reef-03",
        "Heron  Reef 3 ",
        "Heron\u00a0Reef 3",
        "Heron.Reef.3",
        "Heron\u2013Reef 3",
        "\uff28eron Reef 3",
        "HeronReef3",
    ],
)
def test_spellings_of_one_site(other: str) -> None:
    assert spelling_key(other) == spelling_key("Heron Reef 3")


@pytest.mark.parametrize(
    "other", ["Heron Reef 31", "Heron Reef", "Heron Reef 3-1", "Héron Reef 3", "North/Heron Reef 3"]
)
def test_names_of_other_sites(other: str) -> None:
    assert spelling_key(other) != spelling_key("Heron Reef 3")
    assert spelling_key("Site 1-1") != spelling_key("Site 11")
    assert spelling_key("??") != spelling_key("!!")  # a name of signs only stays what it is


def test_the_spelling_of_most_frames_counts_and_the_others_are_named() -> None:
    decomposed = unicodedata.normalize("NFD", "Récif Nord")
    spelled = one_spelling(["récif_nord", "Récif Nord", decomposed, "Récif Nord", "Mer"])
    assert set(spelled.values()) == {"Récif Nord", "Mer"}
    (told,) = merged_sites(spelled)
    assert told.startswith("site 'Récif Nord' is also written ")
    assert "'récif_nord'" in told
    assert merged_sites(one_spelling(["Mer", "Erub"])) == []


@given(st.lists(st.integers(0, 10**6), unique=True, min_size=2))
def test_numbers_in_names_sort_by_value(numbers: list[int]) -> None:
    assert sorted((f"f_{n}" for n in numbers), key=natural_key) == [f"f_{n}" for n in sorted(numbers)]


def order(*frames: tuple[str, str]) -> list[str]:
    assert capture_order(reversed(frames)) == capture_order(frames)
    return capture_order(frames)


def test_order_is_by_time_then_by_the_part_of_a_second_then_by_number() -> None:
    late, half, early = "2023-03-15T02:06:36Z", "2023-03-15T02:06:35.500Z", "2023-03-15T02:06:35Z"
    assert order(("a", late), ("b", half), ("c", early)) == ["c", "b", "a"]
    assert order(("x (1).jpg", early), ("x.jpg", early)) == ["x.jpg", "x (1).jpg"]
    assert order(("f_10.jpg", early), ("f_9.jpg", early)) == ["f_9.jpg", "f_10.jpg"]


@pytest.mark.parametrize(
    ("names"),
    [
        ["t/frame_2.jpg", "t/frame_10.jpg", "t/frame_100.jpg"],
        ["t/Deploy/v-9.png", "t/No-Deploy/v-10.png", "t/Deploy/v-11.png"],  # class folders do not part a tow
        ["t/cam_1/1.jpg", "t/cam_2/1.jpg", "t/cam_1/2.jpg"],  # nor do cameras side by side
        ["t/100GOPRO/G9.JPG", "t/101GOPRO/G1.JPG"],  # but one folder of a camera follows the other
        ["G0009998.JPG", "G0009999.JPG", "G0010000.JPG"],
    ],
)
def test_without_times_the_numbers_in_the_names_give_the_order(names: list[str]) -> None:
    assert order(*((name, "") for name in names)) == names


def test_a_frame_without_a_time_stands_where_its_name_puts_it() -> None:
    times = [
        ("t/f0", ""),
        ("t/f1", "2023-03-15T02:00:01Z"),
        ("t/f2", ""),
        ("t/f3", "2023-03-15T02:00:03Z"),
        ("t/f10", ""),
    ]
    assert order(*times) == ["t/f0", "t/f1", "t/f2", "t/f3", "t/f10"]


def test_a_clock_that_jumps_back_was_reset_and_the_names_give_the_order() -> None:
    times = [
        "2023-03-15T02:00:01Z",
        "2023-03-15T02:00:02Z",
        "2016-01-01T00:00:00Z",
        "2016-01-01T00:00:01Z",
        "2023-03-15T02:05:00Z",
    ]
    frames = [(f"tow/G{i:04d}.JPG", time) for i, time in enumerate(times)]
    assert clock_resets(frames) == {"tow/G0002.JPG", "tow/G0003.JPG"}
    assert order(*frames) == [name for name, _ in frames]
    two_visits = [("s/a_1.jpg", "2023-03-15T02:00:01Z"), ("s/a_2.jpg", "2024-03-15T02:00:01Z")]
    other_names = [("s/a_1.jpg", "2023-03-15T02:00:01Z"), ("s/b_1.jpg", "2022-03-15T02:00:01Z")]
    rolled_over = [("s/a_0001.jpg", "2023-03-15T02:00:01Z"), ("s/a_9999.jpg", "2023-03-15T01:59:59Z")]
    for right in (two_visits, other_names, rolled_over):
        assert clock_resets(right) == set()


def days(*times: str, longitude: float = NONE) -> list[str]:
    found = survey_days((f"{i:03d}", time, longitude) for i, time in enumerate(times))
    return [found[f"{i:03d}"] for i in range(len(times))]


def test_a_survey_day_ends_at_a_gap_and_never_at_midnight() -> None:
    assert days("2023-03-15T23:59:58Z", "2023-03-16T00:00:02Z", "2023-03-16T03:00:00Z") == ["20230315"] * 3
    assert days("2023-03-15T02:00:00Z", "2023-03-16T02:00:00Z") == ["20230315", "20230316"]
    # 9 hours apart, but 08:00 and 17:00 on one day at 150 degrees east: 10 hours before UTC.
    assert days("2023-03-14T22:00:00Z", "2023-03-15T07:00:00Z", longitude=150.0) == ["20230315"] * 2
    # Local midnight within a tow by night, at 150 degrees east at 14:00 UTC.
    assert days("2023-03-15T13:59:00Z", "2023-03-15T14:01:00Z", longitude=150.0) == ["20230315"] * 2
    assert days("2023-03-15T13:00:00Z", "", longitude=-60.0) == ["20230315"] * 2
    assert days("", "") == ["", ""]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (r"D:\survey\tow_1\a.jpg", "tow_1/a.jpg", 2),
        ("tow_1/a.jpg", "x/tow_1/a.jpg", 2),
        ("a.jpg", "tow_1/a.jpg", 1),
        ("tow_2/a.jpg", "x/tow_1/a.jpg", 0),
        ("/mnt/tow_2/a.jpg", "tow_1/a.jpg", 0),
        (unicodedata.normalize("NFD", "Récif/a.jpg"), "Récif/a.jpg", 2),
        ("a.jpg", "b.jpg", 0),
    ],
)
def test_paths_agree_as_far_as_both_go_or_not_at_all(one: str, other: str, expected: int) -> None:
    assert agreement(path_parts(one), path_parts(other)) == agreement(path_parts(other), path_parts(one)) == expected
