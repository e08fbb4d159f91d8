from pathlib import Path

import pytest

from reseed.base.errors import TableError
from tests.unit.survey.folders import put, read, recognised
from tests.unit.survey.surveys import write_survey

TABLE = "file,x0,y0,x1,y1,label\na.jpg,0,0,16,12,Deploy\nimages/a.jpg,1,1,2,2,coral \n"


def test_a_table_of_rectangles(tmp_path: Path) -> None:
    put(tmp_path, "images/a.jpg")
    put(tmp_path, "images/b.jpg", 1)
    (tmp_path / "labels.csv").write_text(TABLE)
    (tmp_path / "notes.csv").write_text("x\n1\n")
    reading = read(tmp_path, "table")
    assert [(r.path, r.annotator, r.x1, r.label, r.kind) for r in reading.labels.rectangles] == [
        ("images/a.jpg", "table", 16, "Deploy", "rect"),
        ("images/a.jpg", "table", 2, "Coral", "rect"),
    ]
    assert reading.counts == {"images_without_labels": 1}
    assert reading.tables == ("labels.csv",)
    (tmp_path / "labels.csv").write_text(TABLE + "a.jpg,0,0,17,12,Deploy\n")
    with pytest.raises(TableError, match=r"src/labels.csv line 4: rectangle x 0 to 17.*16 x 12 px"):
        read(tmp_path, "table")
    (tmp_path / "labels.csv").write_text(TABLE + "a.jpg,0,0,16,12,Coral\n")
    with pytest.raises(TableError, match="1 labels contradict"):
        read(tmp_path, "table")
    (tmp_path / "labels.csv").unlink()
    with pytest.raises(TableError, match=r"no CSV file with the columns file, x0.*notes.csv has x"):
        read(tmp_path, "table")


def test_a_table_with_annotators(tmp_path: Path) -> None:
    put(tmp_path, "a.jpg")
    (tmp_path / "t.csv").write_text("file;x0;y0;x1;y1;label;annotator\na.jpg;0;0;1;1;Coral;A\na.jpg;0;0;1;1;Deploy;B\n")
    assert [r.annotator for r in read(tmp_path, "table").labels.rectangles] == ["A", "B"]


def test_a_survey_is_recognised(tmp_path: Path) -> None:
    write_survey(tmp_path)
    found = recognised(tmp_path)
    assert (found.layout, found.why) == ("survey", "there is annotations_A.csv")


def test_a_log_alone_speaks_of_a_survey(tmp_path: Path) -> None:
    put(tmp_path, "drop/a.jpg")
    (tmp_path / "drop/Photo_Log.csv").write_text("filename_string\n")
    assert recognised(tmp_path).why == "there is drop/Photo_Log.csv"


def test_an_export_of_points_is_recognised(tmp_path: Path) -> None:
    put(tmp_path, "a.jpg")
    (tmp_path / "Annotations.csv").write_text("Name,Row,Column,Label\n")
    assert recognised(tmp_path).layout == "coralnet"


def test_a_table_is_recognised(tmp_path: Path) -> None:
    put(tmp_path, "a.jpg")
    (tmp_path / "labels.csv").write_bytes(TABLE.encode("utf-16"))
    (tmp_path / "broken.csv").write_bytes(b"\xff\xfe\x00")
    assert recognised(tmp_path).layout == "table"


@pytest.mark.parametrize(
    ("names", "layout"),
    [
        (["Coral/x_0.png", "deploy/x_27.png"], "patch-folders"),
        (["train/Coral/20230315_020635_000_0007_3.png"], "patch-folders"),
        (["Deploy/20230315_020635_000_0007.jpg"], "frame-folders"),
        (["Deploy/IMG1.jpg", "Site 3/no deploy/IMG2.jpg"], "frame-folders"),
        (["Deploy/x_29.jpg"], "frame-folders"),
        (["Deploy/x_007.jpg"], "frame-folders"),  # numbered frames, not one of 28 patches
    ],
)
def test_class_folders_are_told_apart_by_name(tmp_path: Path, names: list[str], layout: str) -> None:
    for name in names:
        put(tmp_path, name)
    found = recognised(tmp_path)
    assert found.layout == layout
    assert "folders" in found.why
    assert names[0].split("/")[-2] in found.why


def test_doubt_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, "a.jpg")
    with pytest.raises(TableError, match="no photo log, no table of labels and no class folders; name the layout"):
        recognised(tmp_path)
    put(tmp_path, "Coral/x_3.png")
    put(tmp_path, "Coral/y.png")
    with pytest.raises(TableError, match=r"1 names of patches .*x_3.png\) and 1 others .*y.png\); name the layout"):
        recognised(tmp_path)
    (tmp_path / "Coral/y.png").unlink()
    (tmp_path / "photo_log.csv").write_text("filename_string\n")
    with pytest.raises(
        TableError, match=r"signs of 2 layouts \(survey: there is photo_log.csv; patch-folders: folders"
    ):
        recognised(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        (
            "labels/a.xml",
            "<annotation><filename>a.jpg</filename><object><name>Coral</name><bndbox/></object></annotation>",
            "Pascal VOC",
        ),
        ("a.json", '{"shapes": [{"label": "Coral", "points": [[1, 2]], "shape_type": "point"}]}', "LabelMe"),
        ("via.json", '{"a.jpg1": {"regions": [{"shape_attributes": {}, "region_attributes": {}}]}}', "VIA"),
        ("via.csv", "filename,file_size,region_count,region_shape_attributes,region_attributes\n", "VIA"),
    ],
)
def test_an_export_that_is_not_read_is_named(tmp_path: Path, name: str, text: str, form: str) -> None:
    put(tmp_path, "a.jpg")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    with pytest.raises(TableError, match=rf"1 files like {name} look like .*{form}.* not read; convert them to COCO"):
        recognised(tmp_path)
    assert form in " ".join(read(tmp_path, "survey").remarks)
    with pytest.raises(TableError, match=form):
        read(tmp_path, "coco")


def test_other_files_are_no_export(tmp_path: Path) -> None:
    put(tmp_path, "a.jpg")
    (tmp_path / "a.xml").write_text("<annotation><note/></annotation>")
    (tmp_path / "notes.json").write_text('{"shapes": "of the reef"}')
    assert read(tmp_path, "survey").remarks == ()
