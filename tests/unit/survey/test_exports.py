import json
from pathlib import Path

import pytest

from reseed.base.errors import TableError
from reseed.params.pull import Layout
from reseed.survey.layouts.detect import LAYOUTS
from reseed.survey.layouts.export_places import clipped_box, outline_boxes, point_box
from reseed.survey.layouts.export_tools import declarations
from tests.unit.survey.folders import put, read, recognised

# Frames are 100 x 80 px; every export labels the point x 60, y 20, or the square around it from 50, 10 to 70, 30.
POINT = [(60, 20, 61, 21, "Deploy", "point")]
SQUARE = [(50, 10, 70, 30, "Deploy", "rect")]
BIIGLE = (
    "annotation_label_id,label_id,label_name,label_hierarchy,user_id,firstname,lastname,image_id,filename,shape_id,"
    "shape_name,points,attributes,annotation_id\n1,5,CCA,CCA,1,Ann,Lee,9,q0.jpg,1,{shape},{points},,1\n"
)
SQUIDLE = (
    "label.name,label.vocab_elements,point.media.key,point.media.path_best,point.x,point.y,user.username,needs_review\n"
)
REEFCLOUD = (
    "site_name,image_name,point_no,point_x,point_y,human_classification,machine_classification\n"
    "S,q0.jpg,1,60,20,CCA,Sand\nS,q0.jpg,2,1,1,,Sand\n"
)
VIAME = (
    "# 1: Detection or Track-id,2: Video or Image Identifier\n0,q0.jpg,0,50,10,70,30,1,-1,CCA,1\n"
    "1,q0.jpg,0,5,5,9,9,0.7,-1,CCA,0.7\n"
)
COCO = {"images": [{"id": 1, "file_name": "q0.jpg"}], "categories": [{"id": 4, "name": "CCA"}]}
CPC = '"C:\\codes.txt","D:\\dive\\q0.jpg",1500,1200,900,700\n' + "0,0\n" * 4 + "2\n900,300\n15,15\n{codes}"

_WORDS = (
    "image label annotator x y x0 y0 x1 y1 width height rotation shape points machine_label score latitude longitude "
    "source_label"
)


def _coco(**annotation: object) -> str:
    return json.dumps(COCO | {"annotations": [{"id": 1, "image_id": 1, "category_id": 4} | annotation]})


def _task(result: dict[str, object], kind: str = "annotations") -> str:
    answer = {"completed_by": 3, "result": [result], "score": 0.7}
    task = {"id": 1, "data": {"image": "/data/upload/1/0a1b2c3d-q0.jpg"}, "annotations": [], "predictions": []}
    return json.dumps([task | {kind: [answer]}])


_KEYPOINT = {"type": "keypointlabels", "value": {"x": 60, "y": 25, "width": 0.5, "keypointlabels": ["CCA"]}}
_RECTANGLE = {
    "type": "rectanglelabels",
    "value": {"x": 50, "y": 12.5, "width": 20, "height": 25, "rotation": 0, "rectanglelabels": ["CCA"]},
}
EXPORTS = {
    "coralnet, before 2024": ("coralnet", "a.csv", "Name,Row,Column,Label,Annotator\nq0.jpg,20,60,CCA,ann\n", POINT),
    "coralnet, code": ("coralnet", "a.csv", "Name,Row,Column,Label code,Annotator\nq0.jpg,20,60,CCA,ann\n", POINT),
    "coralnet, id": ("coralnet", "a.csv", "Name,Row,Column,Label ID,Date annotated\nq0.jpg,20,60,82,2024\n", POINT),
    "coralnet, code and id": (
        "coralnet",
        "export.csv",
        "Name;Row;Column;Label ID;Label code\nq0.jpg;20;60;99;CCA\n",
        POINT,
    ),
    "toolbox": (
        "coralnet-toolbox",
        "a.csv",
        "Name,Row,Column,Patch Size,Label,Long Label,Verified\nq0.jpg,20,60,112,CCA,Crust,True\n",
        POINT,
    ),
    "biigle, point": ("biigle", "1-vol.csv", BIIGLE.format(shape="Point", points='"[60.4,20.2]"'), POINT),
    "biigle, rectangle": (
        "biigle",
        "1-vol.csv",
        BIIGLE.format(shape="Rectangle", points='"[50,10,70,10,70,30,50,30]"'),
        None,
    ),
    "biigle, circle": ("biigle", "1-vol.csv", BIIGLE.format(shape="Circle", points='"[60,20,8]"'), None),
    "squidle": (
        "squidle",
        "set.csv",
        SQUIDLE + "CCA,,q0,https://x.org/m/q0.jpg?size=2,0.6,0.25,ann,False\n,,q0,q0.jpg,0.1,0.1,ann,False\n",
        POINT,
    ),
    "squidle, by key": ("squidle", "set.csv", SQUIDLE + "CCA,,q0,,0.6,0.25,ann,\n", POINT),
    "reefcloud": (
        "reefcloud",
        "p.csv",
        REEFCLOUD,
        POINT,
    ),
    "cpce": ("cpce", "q0.cpc", CPC.format(codes='"A","CCA","Notes",""\n"B","","Notes",""\n'), POINT),
    "taglab": (
        "taglab",
        "t.csv",
        "TagLab Image name,TagLab Class name,TagLab Area,TagLab Centroid x,TagLab Centroid y\nq0.jpg,CCA,5,60.5,20.5\n",
        POINT,
    ),
    "viame": (
        "viame",
        "d.csv",
        VIAME,
        SQUARE,
    ),
    "viame, no comment": ("viame", "d.csv", "0,q0.jpg,0,50,10,70,30,1.0,0,CCA,1.0\n", SQUARE),
    "label studio, point": ("label-studio", "p.json", _task(_KEYPOINT), POINT),
    "label studio, rectangle": ("label-studio", "p.json", _task(_RECTANGLE), SQUARE),
    "coco, box": ("coco", "c.json", _coco(bbox=[50, 10, 20, 20], attributes={"annotator": "ann"}), SQUARE),
    "coco, point": ("coco", "c.json", _coco(bbox=[60, 20, 1, 1]), POINT),
    "coco, outline": ("coco", "c.json", _coco(segmentation=[[50, 10, 70, 10, 70, 30, 50, 30]]), None),
    "yolo": ("yolo", "labels/q0.txt", "1 0.6 0.25 0.2 0.25\n", SQUARE),
}


def _source(root: Path, file: str, text: str) -> Path:
    put(root, "images/q0.jpg", width=100, height=80)
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(text)
    (root / "label_map.yaml").write_text('CCA: Deploy\nSand: No-Deploy\n"82": Deploy\n')
    if file.startswith("labels"):
        (root / "data.yaml").write_text("names: [Sand, CCA]\n")
    return root


@pytest.mark.parametrize("name", EXPORTS)
def test_every_export_is_recognised_and_read(tmp_path: Path, name: str) -> None:
    tool, file, text, expected = EXPORTS[name]
    found = recognised(_source(tmp_path, file, text))
    assert found.layout == tool
    assert declarations()[tool].title in found.why
    labels = read(tmp_path, tool).labels
    boxes = [(r.x0, r.y0, r.x1, r.y1, r.label, r.kind) for r in labels.rectangles]
    if expected is not None:
        assert boxes == expected
        return
    # An outline becomes flat rectangles: together they cover its area to within a few percent.
    area = sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1, _, _ in boxes)
    assert area == pytest.approx(201 if "circle" in name else 400, rel=0.05)  # pi 8^2 = 201; 20 x 20 = 400
    assert {(label, kind) for *_, label, kind in boxes} == {("Deploy", "rect")}


def test_every_layout_of_the_parameters_is_read_and_every_word_is_known() -> None:
    assert set(Layout.__args__) == {"auto", *LAYOUTS}  # type: ignore[attr-defined]
    for declared in declarations().values():
        assert set(declared.columns) <= set(_WORDS.split())
        assert set(declared.needs) <= set(declared.columns)


@pytest.mark.parametrize(
    ("header", "tool", "lacking"),
    [
        ("Name,Row,Col,Label code", "coralnet", "column"),
        ("filename,label_name,shape_name,shape_id", "biigle", "points"),
        ("point.media.key,label.name,point.x", "squidle", "point.y"),
        ("TagLab Id,TagLab Class name,TagLab Area", "taglab", "TagLab Centroid x or TagLab Position X"),
        ("image_name,point_no,point_x,machine_classification", "reefcloud", "point_y or pixel_y or row"),
    ],
)
def test_the_nearest_tool_is_named_with_what_is_missing(tmp_path: Path, header: str, tool: str, lacking: str) -> None:
    _source(tmp_path, "annotations.csv", header + "\n")
    with pytest.raises(TableError, match=rf"(?i)nearest to .*\(layout {tool}\); missing: .*{lacking}"):
        recognised(tmp_path)


@pytest.mark.parametrize(
    ("tool", "file", "text", "message"),
    [
        (
            "biigle",
            "a.csv",
            BIIGLE.format(shape="Point", points='"[600,20]"'),
            "not on images/q0.jpg, which is 100 x 80",
        ),
        ("biigle", "a.csv", BIIGLE.format(shape="Polygon", points='"[1,2,3]"'), "at least 6 numbers"),
        ("biigle", "a.csv", BIIGLE.format(shape="Polygon", points="wrong"), "points 'wrong': a list of numbers"),
        ("coco", "a.json", _coco(segmentation={"counts": "x"}), r"a mask \(RLE\); export outlines"),
        ("coco", "a.json", _coco(image_id=7), "image_id 7 and category_id 4: one of them is not among"),
        ("coco", "a.json", "{", "not readable as JSON"),
        ("cpce", "q0.cpc", "a,b\n", "not readable as a .cpc file"),
        ("yolo", "labels/q0.txt", "7 0.6 0.25 0.2 0.25\n", "class 7 has no name; .*names 2 classes"),
        ("viame", "d.csv", "0,q0.jpg,0,50,10,70,30,1,-1,CCA,1\n1,q0.jpg,0,5\n", "no file .* export of VIAME"),
        ("squidle", "s.csv", "label.name,point.x\nCCA,1\n", "no CSV file with the columns point.media.path_best or"),
        (
            "biigle",
            "c.csv",
            "Name,Row,Column,Label,Annotator\n",
            r"c.csv is an export of CoralNet.*\(layout coralnet\)",
        ),
    ],
)
def test_broken_exports_are_one_clear_error(tmp_path: Path, tool: str, file: str, text: str, message: str) -> None:
    _source(tmp_path, file, text)
    with pytest.raises(TableError, match=message):
        read(tmp_path, tool)


def test_rows_add_up(tmp_path: Path) -> None:
    rows = "CCA,,q0,,0.6,0.25,ann,\nCCA,,q0,,0.6,0.25,ann,\n,,q0,,0.1,0.1,ann,\nSand,,q0,,0.2,0.2,ann,True\n"
    counts = read(_source(tmp_path, "s.csv", SQUIDLE + rows), "squidle").labels.counts
    assert counts["annotation_rows"] == 4
    assert counts["annotation_kept"] == counts["annotation_duplicates_merged"] == 1
    assert counts["annotation_unlabelled_dropped"] == counts["annotation_unconfirmed_dropped"] == 1


def test_shapes_by_hand() -> None:
    # A triangle of 8 x 8 / 2 = 32 px: rows of 1, 1, ... px by the middle of each row: 0.5 + 1.5 + ... + 7.5 = 32.
    triangle = outline_boxes([0, 0, 0, 8, 8, 8], (20, 20))
    assert sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in triangle) == pytest.approx(32, abs=4)
    assert point_box(20.0, 20.0, (20, 20)) == (19, 19, 20, 20)
    assert point_box(20.5, 1.0, (20, 20)) is None
    assert clipped_box(-1.2, 3.0, 4.0, 25.0, (20, 20)) == (0, 3, 4, 20)
    assert clipped_box(-10.0, 3.0, 4.0, 8.0, (20, 20)) is None  # most of it lies outside


def test_a_map_names_class_folders_and_leaves_some_out(tmp_path: Path) -> None:
    for number, name in enumerate(("Rock/a_0.png", "Sand/a_1.png", "Récif/a_2.png", "Blur/a_3.png", "Coral/a_4.png")):
        put(tmp_path, name, number)
    (tmp_path / "label_map.yaml").write_text("rock: Deploy\nSand: No-Deploy\nRe\u0301cif: Coral\nBlur: ~\n")
    assert recognised(tmp_path).layout == "patch-folders"
    reading = read(tmp_path, "patch-folders")
    assert sorted(r.label for r in reading.labels.rectangles) == ["Coral", "Coral", "Deploy", "No-Deploy"]
    assert reading.ignored == {"Blur/a_3.png": "mapped_to_null"}
    assert reading.tables == ("label_map.yaml",)


def test_a_map_names_folders_of_frames(tmp_path: Path) -> None:
    put(tmp_path, "good/a.jpg")
    put(tmp_path, "Site 3/bad/b.jpg", 1)
    codes = {"good": "Deploy", "bad": "No-Deploy"}
    assert recognised(tmp_path, label_map=codes).layout == "frame-folders"
    reading = read(tmp_path, "frame-folders", label_map=codes)
    assert [(said.path, said.label) for said in reading.labels.frame_labels] == [
        ("Site 3/bad/b.jpg", "No-Deploy"),
        ("good/a.jpg", "Deploy"),
    ]
    assert reading.places["Site 3/bad/b.jpg"].site == "Site 3"


@pytest.mark.parametrize("layout", ["survey", "table"])
def test_a_survey_may_use_codes_of_its_own(tmp_path: Path, layout: str) -> None:
    put(tmp_path, "a.jpg")
    column = "frame" if layout == "survey" else "file"
    rows = "a.jpg,0,0,4,4,RCK,A\na.jpg,4,4,8,8,coral,A\na.jpg,8,8,9,9,SHD,A\n"
    (tmp_path / "annotations_A.csv").write_text(f"{column},x0,y0,x1,y1,label,annotator\n{rows}")
    (tmp_path / "label_map.yaml").write_text("RCK: Deploy\nSHD: ~\n")
    labels = read(tmp_path, layout).labels
    assert [(r.label, r.source_label) for r in labels.rectangles] == [("Deploy", "RCK"), ("Coral", "coral")]
    assert labels.counts["annotation_mapped_to_null_dropped"] == 1
    (tmp_path / "label_map.yaml").write_text("RCK: Deploy\n")
    with pytest.raises(TableError, match=r"label_map.yaml lacks 1 of the codes: SHD \(1\)"):
        read(tmp_path, layout)
    assert read(tmp_path, layout, unmapped="drop").labels.counts["annotation_unmapped_dropped"] == 1
