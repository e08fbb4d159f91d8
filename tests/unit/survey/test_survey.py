import json
from pathlib import Path

import pytest

from reseed.base.errors import TableError
from reseed.params.catalog import CatalogParams
from reseed.sources.inventory import Inventory, take_inventory
from reseed.survey.images import Images, examine_images
from reseed.survey.layouts.detect import read_survey
from tests.unit.survey.surveys import catalog_params, encoded, picture, write_survey


def _examined(root: Path, source: str = "src") -> tuple[Inventory, Images, CatalogParams]:
    inventory = take_inventory(source, root)
    return inventory, examine_images(inventory, 1_000_000), catalog_params()


def _put(path: Path, kind: str = "JPEG") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(picture(), kind))


def test_site_sequence_and_log(tmp_path: Path) -> None:
    paths = write_survey(tmp_path)
    reading = read_survey(*_examined(tmp_path))
    assert list(reading.places) == sorted(paths)
    place = reading.places[paths[0]]
    assert (place.site, place.sequence, place.given_split) == ("Reef 0", "src/drop_1", "")
    assert place.log is not None
    assert place.log.altitude_m == pytest.approx(1.095)
    # Each log has a row for a photo that was not delivered: 2 sequences x (2 + 1) rows.
    assert reading.counts == {
        "photo_log_rows": 6,
        "photo_log_duplicates_merged": 0,
        "photo_log_contradictions_dropped": 0,
        "photo_log_rows_without_image": 2,
        "images_without_photo_log_row": 0,
        "images_without_photo_log": 0,
    }
    assert len(reading.labels.rectangles) == 4 * 2 + 4
    assert len(reading.tables) == 2 * 2 + 3


def test_without_survey_json_the_folder_is_the_site(tmp_path: Path) -> None:
    _put(tmp_path / "Site 3" / "a.jpg")
    _put(tmp_path / "Site 3" / "cam_1" / "b.jpg")
    _put(tmp_path / "c.jpg")
    places = read_survey(*_examined(tmp_path)).places
    assert {path: (place.site, place.sequence) for path, place in places.items()} == {
        "Site 3/a.jpg": ("Site 3", "src/Site 3"),
        "Site 3/cam_1/b.jpg": ("Site 3", "src/Site 3"),
        "c.jpg": ("src", "src"),
    }


def test_a_blank_site_falls_back_to_the_folder(tmp_path: Path) -> None:
    write_survey(tmp_path, ("drop_1",))
    (tmp_path / "drop_1" / "survey.json").write_text('{"site": " "}', encoding="utf-8-sig")
    assert {place.site for place in read_survey(*_examined(tmp_path)).places.values()} == {"drop_1"}


def test_a_blank_site_falls_back_to_the_survey_above_first(tmp_path: Path) -> None:
    write_survey(tmp_path, ("drop_1",))
    (tmp_path / "drop_1" / "survey.json").write_text('{"site": ""}')
    (tmp_path / "survey.json").write_text('{"site": "Erub"}')
    assert {place.site for place in read_survey(*_examined(tmp_path)).places.values()} == {"Erub"}


def test_log_and_survey_of_a_sequence_count_for_its_cameras(tmp_path: Path) -> None:
    write_survey(tmp_path, ("seq",), frames=1)
    name = "20230315_020635_000_0000.jpg"
    _put(tmp_path / "seq" / "cam_1" / name)
    _put(tmp_path / "seq" / "cam_2" / name)
    _put(tmp_path / "seq" / "cam_2" / "unlogged.bmp", "BMP")
    _put(tmp_path / "elsewhere" / "x.jpg")
    reading = read_survey(*_examined(tmp_path))
    assert reading.places[f"seq/cam_2/{name}"].site == "Reef 0"
    assert reading.places[f"seq/cam_2/{name}"].log is not None
    assert {place.sequence for path, place in reading.places.items() if path.startswith("seq/")} == {"src/seq"}
    assert reading.counts["images_without_photo_log_row"] == 1
    assert reading.counts["images_without_photo_log"] == 1


def test_upper_case_names(tmp_path: Path) -> None:
    _put(tmp_path / "seq" / "A.JPG")
    (tmp_path / "seq" / "Photo_Log.CSV").write_text("filename_string,latitude,longitude\nA.JPG,-9.5,143\n")
    (tmp_path / "Annotations.csv").write_text("frame,x0,y0,x1,y1,label,annotator\nseq/A.JPG,0,0,5,5,Coral,A\n")
    reading = read_survey(*_examined(tmp_path))
    assert reading.places["seq/A.JPG"].log is not None
    assert len(reading.labels.rectangles) == 1


def test_what_operating_systems_leave_is_not_read(tmp_path: Path) -> None:
    write_survey(tmp_path)
    (tmp_path / "._annotations_A.csv").write_bytes(b"\0\5\x16\7")
    (tmp_path / "drop_1" / "._photo_log.csv").write_bytes(b"\0\5\x16\7")
    (tmp_path / "__MACOSX" / "drop_1").mkdir(parents=True)
    (tmp_path / "__MACOSX" / "drop_1" / "x.jpg").write_bytes(b"\0\5\x16\7")
    inventory, images, params = _examined(tmp_path)
    assert not images.quarantined
    assert len(inventory.system) == 3
    read_survey(inventory, images, params)


@pytest.mark.parametrize("text", ["{", "[]", '{"site": 7}', '"Erub"'])
def test_broken_survey_json(tmp_path: Path, text: str) -> None:
    write_survey(tmp_path)
    (tmp_path / "drop_1" / "survey.json").write_text(text)
    with pytest.raises(TableError, match=r"src/drop_1/survey.json: "):
        read_survey(*_examined(tmp_path))


def test_two_logs_in_one_folder(tmp_path: Path) -> None:
    write_survey(tmp_path)
    (tmp_path / "drop_1" / "PHOTO_LOG.csv").write_text("filename_string\n")
    with pytest.raises(TableError, match=r"src/drop_1: more than one photo_log.csv"):
        read_survey(*_examined(tmp_path))


def test_survey_json_without_a_site(tmp_path: Path) -> None:
    write_survey(tmp_path, ("drop_1",))
    (tmp_path / "drop_1" / "survey.json").write_text(json.dumps({"id": "x"}))
    assert {place.site for place in read_survey(*_examined(tmp_path)).places.values()} == {"drop_1"}
