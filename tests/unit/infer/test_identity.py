"""infer tells order, places and references of frames by the same rules as the catalog."""

import unicodedata
from pathlib import Path

import pytest

from reseed.infer.geotags import Logs, exif_in
from reseed.infer.gold import read_gold
from reseed.infer.run_folder import Frame, find_frames
from tests.unit.survey.surveys import encoded, picture

NO_EXIF = exif_in(encoded(picture(), "PNG"))


def frames_in(root: Path, *names: str) -> list[Frame]:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(encoded(picture(), "JPEG"))
    return list(find_frames([root], root / "out").frames)


@pytest.mark.parametrize(
    "names",
    [
        ["frame_1.jpg", "frame_2.jpg", "frame_10.jpg"],
        ["tow 9/a9.jpg", "tow 9/a10.jpg", "tow 10/a11.jpg"],
        ["IMG_20231115_170430.jpg", "IMG_20231115_170430 (1).jpg", "IMG_20231115_170431.jpg"],
    ],
)
def test_frames_are_listed_by_the_numbers_in_their_names(tmp_path: Path, names: list[str]) -> None:
    assert [frame.name for frame in frames_in(tmp_path, *reversed(names))] == names


def test_pictures_of_other_formats_are_frames_and_repeated_ones_are_not(tmp_path: Path) -> None:
    names = ["a.jpg", "b.HEIC", "c.dng", "d.webp"]
    repeated = ["a.jpg_original", "a.THM", "a.NEF", "a - Copy.jpg", "a.jpg~"]
    assert [frame.name for frame in frames_in(tmp_path, *names, *repeated)] == names
    assert find_frames([tmp_path], tmp_path / "out").ignored == len(repeated)


@pytest.mark.parametrize(
    ("rows", "places", "told"),
    [
        (["100GOPRO/G1.JPG,-10", "101GOPRO/G1.JPG,-11"], [-10.0, -11.0], 0),
        ([r"E:\DCIM\101GOPRO\G1.JPG,-11"], [None, -11.0], 0),
        (["G1.JPG,-10"], [None, None], 2),
        (["100GOPRO/G1.JPG,-10"], [-10.0, None], 0),
    ],
)
def test_a_row_of_a_log_is_of_the_frame_that_it_names(
    tmp_path: Path, rows: list[str], places: list[float | None], told: int
) -> None:
    frames = frames_in(tmp_path, "100GOPRO/G1.JPG", "101GOPRO/G1.JPG")
    lines = ["filename_string,latitude,longitude", *(f"{row},143.5" for row in rows)]
    (tmp_path / "photo_log.csv").write_text("\n".join(lines) + "\n")
    logs = Logs(tmp_path, growing=False)
    found = [logs.geotag(frame, NO_EXIF).latitude_deg for frame in frames]
    assert [None if place != place else place for place in found] == places  # noqa: PLR0124 - NaN
    assert len(logs.remarks()) == bool(told)
    assert all(f"{told} frame(s) of a name that several folders have" in line for line in logs.remarks())


@pytest.mark.parametrize("folder", ["100GOPRO", "101GOPRO", "102GOPRO"])
def test_a_log_of_all_folders_inside_the_only_folder_of_a_run(tmp_path: Path, folder: str) -> None:
    (frame,) = frames_in(tmp_path / folder, "G1.JPG")
    log = "filename_string,latitude,longitude\n100GOPRO/G1.JPG,-10,143.5\n101GOPRO/G1.JPG,-11,143.5\n"
    (tmp_path / folder / "photo_log.csv").write_text(log)
    latitude = Logs(tmp_path / folder, growing=False).geotag(frame, NO_EXIF).latitude_deg
    assert {"100GOPRO": -10.0, "101GOPRO": -11.0}.get(folder) == (latitude if latitude == latitude else None)  # noqa: PLR0124


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("written", ["Récif_1.jpg", "tow/Récif_1.jpg", r"D:\survey\tow\Récif_1.jpg"])
def test_a_reference_is_found_in_either_unicode_form(tmp_path: Path, form: str, written: str) -> None:
    (tmp_path / "gold.csv").write_text(
        f"frame,label\n{unicodedata.normalize(form, written)},Deploy\n", encoding="utf-8"
    )
    name = unicodedata.normalize("NFD", "tow/Récif_1.jpg")
    found = read_gold(tmp_path / "gold.csv").of_frames([name], Path("/data/survey"))
    assert found == {name: "Deploy"}
