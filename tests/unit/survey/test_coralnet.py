import math
from pathlib import Path

import pytest

from reseed.base.errors import TableError
from reseed.survey.labels import label_map, read_label_map
from tests.unit.survey.folders import put, read

HEADER = ",Name,Latitude,Longitude,Row,Column,Label,Annotator\n"
MAP = 'CCA: Deploy\nPorit: coral\n"Off": ~\n'


def _export(root: Path, *rows: str, label_map: str | None = MAP) -> None:
    for number, name in enumerate(("a.jpg", "b.jpg")):
        put(root, f"images/{name}", number)
    (root / "annotations.csv").write_text(HEADER + "".join(f"{n},{row}\n" for n, row in enumerate(rows)))
    if label_map is not None:
        (root / "label_map.yaml").write_text(label_map)


def test_points_by_row_and_column(tmp_path: Path) -> None:
    _export(tmp_path, "a.jpg,,,11,3,CCA,Imported", "a.jpg,,,0,15,porit,Imported", "a.jpg,,,1,1,Off,Imported")
    reading = read(tmp_path, "coralnet")
    said = [(r.path, r.x0, r.y0, r.x1, r.y1, r.label, r.kind, r.source_label) for r in reading.labels.rectangles]
    assert said == [
        ("images/a.jpg", 15, 0, 16, 1, "Coral", "point", "porit"),
        ("images/a.jpg", 3, 11, 4, 12, "Deploy", "point", "CCA"),
    ]
    assert {r.annotator for r in reading.labels.rectangles} == {"Imported"}
    assert reading.labels.counts["annotation_mapped_to_null_dropped"] == 1
    assert reading.counts == {"images_without_points": 1}
    assert reading.tables == ("annotations.csv", "label_map.yaml")
    assert (reading.places["images/a.jpg"].site, reading.places["images/a.jpg"].sequence) == ("src", "src")


def test_unmapped_codes_are_listed_with_counts_or_dropped(tmp_path: Path) -> None:
    rows = ["a.jpg,,,0,0,CCA,x", "a.jpg,,,0,1,Turf,x", "a.jpg,,,0,2,Turf,x", "b.jpg,,,0,3,NA,x"]
    _export(tmp_path, *rows)
    with pytest.raises(TableError, match=r"src/label_map.yaml lacks 2 of the codes: Turf \(2\), NA \(1\); map each"):
        read(tmp_path, "coralnet")
    reading = read(tmp_path, "coralnet", unmapped="drop")
    assert len(reading.labels.rectangles) == 1
    assert reading.labels.counts["annotation_unmapped_dropped"] == 3


def test_without_a_map_the_labels_must_be_classes(tmp_path: Path) -> None:
    _export(tmp_path, "a.jpg,,,0,0,no_deploy,x", label_map=None)
    assert read(tmp_path, "coralnet").labels.rectangles[0].label == "No-Deploy"
    _export(tmp_path, "a.jpg,,,0,0,CCA,x", label_map=None)
    with pytest.raises(TableError, match=r"no label map label_map.yaml beside the annotations.*CCA \(1\)"):
        read(tmp_path, "coralnet")
    # A map in the parameters needs no file.
    assert read(tmp_path, "coralnet", label_map={"CCA": "Deploy"}).labels.rectangles[0].label == "Deploy"


def test_a_class_name_that_the_map_lacks_is_not_guessed(tmp_path: Path) -> None:
    _export(tmp_path, "a.jpg,,,0,0,Coral,x")
    with pytest.raises(TableError, match=r"Coral \(1\)"):
        read(tmp_path, "coralnet")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a.jpg,,,12,0,CCA,x", r"row 12, column 0 is outside its image of 16 x 12 px \(rows 0 to 11"),
        ("a.jpg,,,0,-1,CCA,x", "column -1 is outside"),
        ("a.jpg,,,0,1.5,CCA,x", "column is '1.5'; a whole number"),
        ("c.jpg,,,0,0,CCA,x", "1 rows are for 1 frames that are not there, first: c.jpg"),
        ("a.jpg,,,0,0,,x", "label is empty"),
    ],
)
def test_broken_rows(tmp_path: Path, row: str, message: str) -> None:
    _export(tmp_path, row)
    with pytest.raises(TableError, match=message):
        read(tmp_path, "coralnet")


def test_contradictions_and_duplicates(tmp_path: Path) -> None:
    twice = ["a.jpg,,,0,0,CCA,x", "a.jpg,,,0,0,CCA,y", "a.jpg,,,0,1,CCA,x", "a.jpg,,,0,1,Porit,x", "a.jpg,,,0,2,Off,x"]
    _export(tmp_path, *twice)
    with pytest.raises(TableError, match=r"1 labels contradict.*line 4: Deploy / .*line 5: Coral"):
        read(tmp_path, "coralnet")
    labels = read(tmp_path, "coralnet", on_conflict="drop").labels
    assert [(r.x0, r.annotator) for r in labels.rectangles] == [(0, "coralnet")]  # two people shared the work
    # 5 rows = 1 kept + 1 merged + 2 contradicting + 1 mapped to null.
    assert labels.counts == {
        "annotation_rows": 5,
        "annotation_kept": 1,
        "annotation_duplicates_merged": 1,
        "annotation_contradictions_dropped": 2,
        "annotation_mapped_to_null_dropped": 1,
        "annotation_unmapped_dropped": 0,
        "annotation_of_quarantined_frames_dropped": 0,
        "annotation_unconfirmed_dropped": 0,
    }


def test_what_only_the_machine_says_is_left_out(tmp_path: Path) -> None:
    _export(tmp_path, "a.jpg,,,0,0,CCA,anna", "a.jpg,,,0,1,CCA,robot")
    labels = read(tmp_path, "coralnet").labels
    assert [r.annotator for r in labels.rectangles] == ["anna"]
    assert labels.counts["annotation_unconfirmed_dropped"] == 1


def test_coordinates_of_the_export_place_the_image(tmp_path: Path) -> None:
    _export(tmp_path, "a.jpg,-17.5,-149.8,0,0,CCA,x", "b.jpg,,,0,0,CCA,x")
    places = read(tmp_path, "coralnet").places
    log = places["images/a.jpg"].log
    assert log is not None
    assert (log.latitude_deg, log.longitude_deg) == (-17.5, -149.8)
    assert math.isnan(log.water_depth_m)
    assert places["images/b.jpg"].log is None


def test_the_same_name_in_two_folders(tmp_path: Path) -> None:
    _export(tmp_path, "a.jpg,,,0,0,CCA,x")
    put(tmp_path, "more/a.jpg", 5)
    with pytest.raises(TableError, match=r"'a.jpg' may mean 2 images: images/a.jpg, more/a.jpg"):
        read(tmp_path, "coralnet")
    _export(tmp_path, "images/a.jpg,,,0,0,CCA,x")
    assert read(tmp_path, "coralnet").labels.rectangles[0].path == "images/a.jpg"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- CCA\n", "a mapping of codes"),
        ("1: Coral\n", "put it in quotes"),
        ("CCA: 7\n", "put it in quotes"),
        ("CCA: Deply\n", r"code 'CCA': label 'Deply' is not a class.*did you mean Deploy\?"),
        ("CCA: Deploy\nCCA: Coral\n", "not readable as YAML"),
        ("{", "not readable as YAML"),
    ],
)
def test_broken_label_maps(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(TableError, match=message):
        read_label_map(tmp_path / "m.yaml", "src/m.yaml")


def test_codes_in_another_case_count_where_they_leave_no_doubt() -> None:
    codes = label_map({"Ana": "Coral", "ANA": "Deploy", "Off": None}, "m")
    assert [codes.find(code) for code in ("Ana", "ANA", "ana", "off")] == ["Ana", "ANA", None, "Off"]


def test_an_unquoted_off_is_a_word(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("Off: ~\nNo: Coral\n")
    assert read_label_map(tmp_path / "m.yaml", "m").classes == {"Off": None, "No": "Coral"}
