from pathlib import Path

import pytest

from reseed.base.errors import TableError
from reseed.survey.machine import is_machine
from tests.unit.survey.folders import put, read
from tests.unit.survey.surveys import catalog_params

MAP = {"CCA": "Deploy", "Sand": "No-Deploy"}


def _points(root: Path, header: str, *rows: str) -> Path:
    put(root, "a.jpg")
    lines = [f"Name,Row,Column,Label{header}", *(f"a.jpg,0,{n},CCA{row}" for n, row in enumerate(rows))]
    (root / "annotations.csv").write_text("\n".join(lines) + "\n")
    return root


@pytest.mark.parametrize(
    "name",
    ["robot", "Robot 2", "ALLEVIATE", "AI", "ai_v3", "YOLOv8", "ResNet50", "reef-model", "auto"],
)
def test_names_of_machines(name: str) -> None:
    assert is_machine(name)


@pytest.mark.parametrize("name", ["", "anna", "Ai Tanaka", "B", "Imported", "Modelo Garcia", "Robert", "diver 2"])
def test_names_of_people(name: str) -> None:
    assert not is_machine(name)


@pytest.mark.parametrize(
    ("header", "person", "machine", "why"),
    [
        (",Annotator", ",anna", ",Alleviate", "annotator Alleviate"),
        (",Verified", ",TRUE", ",False", "verified False"),
        (",Confirmed", ",yes", ",no", "confirmed no"),
        (",Annotation status", ",Confirmed", ",Unconfirmed", "annotation status Unconfirmed"),
        (",Reviewed", ",1", ",", "reviewed empty"),
        (",is_machine", ",0", ",1", "is_machine 1"),
    ],
)
def test_what_nobody_confirmed_is_left_out_and_said(
    tmp_path: Path, header: str, person: str, machine: str, why: str
) -> None:
    _points(tmp_path, header, person, machine, machine)
    labels = read(tmp_path, "coralnet", label_map=MAP).labels
    assert [(r.x0, r.kind) for r in labels.rectangles] == [(0, "point")]
    assert labels.counts["annotation_unconfirmed_dropped"] == 2
    assert any(f"{why} (2)" in remark and "left out" in remark for remark in labels.remarks)
    kept = read(tmp_path, "coralnet", label_map=MAP, machine_labels="keep").labels
    assert [(r.x0, r.kind) for r in kept.rectangles] == [(0, "point"), (1, "machine"), (2, "machine")]
    assert any("every score says so" in remark for remark in kept.remarks)


def test_nothing_but_machine_labels_is_an_error(tmp_path: Path) -> None:
    _points(tmp_path, ",Annotator", ",robot", ",robot")
    with pytest.raises(TableError, match=r"no label is left; 2 labels of a machine .*annotator robot \(2\).*: keep"):
        read(tmp_path, "coralnet", label_map=MAP)


def test_a_status_that_says_neither_is_an_error(tmp_path: Path) -> None:
    _points(tmp_path, ",Verified", ",perhaps")
    with pytest.raises(TableError, match=r"annotations.csv line 2: verified is 'perhaps'"):
        read(tmp_path, "coralnet", label_map=MAP)


@pytest.mark.parametrize("header", ["", ",Machine suggestion 1,Machine confidence 1"])
def test_an_export_that_does_not_tell_says_so(tmp_path: Path, header: str) -> None:
    _points(tmp_path, header, *([",CCA,91"] if header else [""]))
    (remark,) = read(tmp_path, "coralnet", label_map=MAP).labels.remarks
    assert "machine labels may be among its 1 labels" in remark


def test_tables_of_a_survey_too(tmp_path: Path) -> None:
    put(tmp_path, "a.jpg")
    put(tmp_path, "b.jpg", 1)
    (tmp_path / "annotations_A.csv").write_text(
        "frame,x0,y0,x1,y1,label,annotator,verified\na.jpg,0,0,4,4,Coral,A,true\na.jpg,4,4,8,8,Deploy,A,false\n"
    )
    (tmp_path / "frame_labels_A.csv").write_text("frame,label,annotator\na.jpg,Deploy,A\nb.jpg,Deploy,robot\n")
    labels = read(tmp_path, "survey").labels
    assert (len(labels.rectangles), len(labels.frame_labels)) == (1, 1)
    assert labels.counts["annotation_unconfirmed_dropped"] == labels.counts["frame_label_unconfirmed_dropped"] == 1
    kept = read(tmp_path, "survey", machine_labels="keep").labels
    assert [r.kind for r in kept.rectangles] == ["rect", "machine"]
    assert [said.kind for said in kept.frame_labels] == ["frame", "machine"]


def test_a_prediction_in_a_table_of_rectangles(tmp_path: Path) -> None:
    put(tmp_path, "a.jpg")
    (tmp_path / "t.csv").write_text(
        "file,x0,y0,x1,y1,label,annotator\na.jpg,0,0,4,4,Coral,A\na.jpg,4,4,8,8,Coral,cnn\n"
    )
    assert [r.annotator for r in read(tmp_path, "table").labels.rectangles] == ["A"]


def test_the_parameter_has_two_values() -> None:
    assert catalog_params(machine_labels="keep").machine_labels == "keep"
    with pytest.raises(ValueError, match="exclude"):
        catalog_params(machine_labels="gold")
