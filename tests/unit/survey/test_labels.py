from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reseed.base.csv import Row, TextTable, read_text_table
from reseed.base.errors import TableError
from reseed.survey.label_tables import read_labels
from reseed.survey.labels import Labels
from reseed.survey.layouts.reading import FrameFinder

GRID = "frame,grid_rows,grid_cols,row,col,label,annotator\n"
RECT = "frame,x0,y0,x1,y1,label,annotator\n"
WHOLE = "frame,label,annotator\n"
FRAMES = FrameFinder({"s/a.jpg": (10, 7), "s/b.jpg": (10, 7), "top.jpg": (4, 4)}, ["s/broken.jpg"])


def _table(text: str, where: str = "t.csv") -> TextTable:
    lines = [line.split(",") for line in text.strip().split("\n")]
    rows = tuple(
        Row(f"{where} line {n}", dict(zip(lines[0], cells, strict=True))) for n, cells in enumerate(lines[1:], 2)
    )
    return TextTable(where, tuple(lines[0]), rows)


def _read(text: str, folder: str = "s", whole: str | None = None) -> Labels:
    annotations = [(folder, _table(text))] if text else []
    return read_labels(annotations, [(folder, _table(whole, "w.csv"))] if whole else [], FRAMES)


def test_grid_cells_by_hand() -> None:
    # Width 10 in 3 columns: floor(10*0/3)=0, floor(10/3)=3, floor(20/3)=6, 10. Height 7 in 2 rows: 0, floor(7/2)=3, 7.
    said = _read(GRID + "a.jpg,2,3,1,1,Coral,A\na.jpg,2,3,0,2,deploy,A\n").rectangles
    edges = [(r.x0, r.y0, r.x1, r.y1, r.label, r.kind, r.source_label) for r in said]
    assert edges == [(3, 3, 6, 7, "Coral", "grid", "Coral"), (6, 0, 10, 3, "Deploy", "grid", "deploy")]


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_grid_cells_tile_the_frame(width: int, height: int, data: st.DataObject) -> None:
    rows, cols = data.draw(st.integers(1, height)), data.draw(st.integers(1, width))
    frames = FrameFinder({"a.jpg": (width, height)}, [])
    cells = [f"a.jpg,{rows},{cols},{r},{c},Coral,A" for r in range(rows) for c in range(cols)]
    covered = np.zeros((height, width), dtype=int)
    for r in read_labels([("", _table(GRID + "\n".join(cells)))], [], frames).rectangles:
        covered[r.y0 : r.y1, r.x0 : r.x1] += 1
    assert (covered == 1).all()


def test_rectangles_and_whole_numbers_as_spreadsheets_write_them() -> None:
    (said,) = _read(RECT + "a.jpg,0,1.0,10,7.00,No_Deploy,B\n").rectangles
    assert (said.x0, said.y0, said.x1, said.y1, said.label, said.kind) == (0, 1, 10, 7, "No-Deploy", "rect")


@pytest.mark.parametrize("text", ["a.jpg", "./a.jpg", "s/a.jpg", r"s\a.jpg", "../s/a.jpg"])
def test_frames_are_found_from_the_tables_folder_or_the_source(text: str) -> None:
    assert FRAMES.find(text, "s") == "s/a.jpg"


def test_the_tables_folder_comes_first() -> None:
    finder = FrameFinder({"a.jpg": (1, 1), "s/a.jpg": (1, 1)}, [])
    assert (finder.find("a.jpg", "s"), finder.find("a.jpg", "")) == ("s/a.jpg", "a.jpg")


def test_accents_in_either_unicode_form() -> None:
    assert FrameFinder({"s/caf\u00e9.jpg": (1, 1)}, []).find("cafe\u0301.jpg", "s") == "s/caf\u00e9.jpg"


def test_frames_that_are_not_there_are_listed() -> None:
    rows = "".join(f"gone_{n:02d}.jpg,0,0,1,1,Coral,A\n" for n in range(12))
    with pytest.raises(TableError, match=r"t.csv: 12 rows are for 12 frames that are not there.*gone_09.jpg") as caught:
        _read(RECT + rows)
    assert "gone_10.jpg" not in str(caught.value)
    with pytest.raises(TableError, match=r"did you mean s/a.jpg\?"):
        _read(RECT + "a.JPG,0,0,1,1,Coral,A\n")


def test_labels_of_quarantined_frames_are_dropped_and_counted() -> None:
    said = _read(RECT + "broken.jpg,0,0,99,99,Coral,A\na.jpg,0,0,1,1,Coral,A\n", whole=WHOLE + "broken.jpg,Deploy,A\n")
    assert len(said.rectangles) == 1
    assert said.counts["annotation_of_quarantined_frames_dropped"] == 1
    assert said.counts["frame_label_of_quarantined_frames_dropped"] == 1
    with pytest.raises(TableError, match="not a class"):
        _read(RECT + "broken.jpg,0,0,99,99,Corral,A\n")


def test_duplicates_are_merged_and_counted() -> None:
    text = RECT + "a.jpg,0,0,1,1,Coral,A\ns/a.jpg,0,0,1,1,coral,A\na.jpg,0,0,1,1,Coral,B\n"
    said = _read(text, whole=WHOLE + "a.jpg,Deploy,A\na.jpg,deploy,A\n")
    assert [(r.annotator, r.label) for r in said.rectangles] == [("A", "Coral"), ("B", "Coral")]
    assert [(f.annotator, f.label) for f in said.frame_labels] == [("A", "Deploy")]
    assert said.counts == {
        "annotation_rows": 3,
        "annotation_kept": 2,
        "annotation_duplicates_merged": 1,
        "annotation_of_quarantined_frames_dropped": 0,
        "annotation_contradictions_dropped": 0,
        "frame_label_rows": 2,
        "frame_label_kept": 1,
        "frame_label_duplicates_merged": 1,
        "frame_label_of_quarantined_frames_dropped": 0,
        "frame_label_contradictions_dropped": 0,
    }


def test_merged_duplicates_do_not_depend_on_the_order_of_rows() -> None:
    rows = ["a.jpg,0,0,1,1,Coral,A", "a.jpg,0,0,1,1,coral,A", "a.jpg,0,0,1,1,CORAL,A"]
    assert _read(RECT + "\n".join(rows)) == _read(RECT + "\n".join(reversed(rows)))


def test_contradictions_are_listed_across_tables() -> None:
    one, two = _table(RECT + "a.jpg,0,0,1,1,Coral,A\n", "one.csv"), _table(RECT + "a.jpg,0,0,1,1,Deploy,A\n", "two.csv")
    with pytest.raises(TableError, match=r"1 labels contradict .*one.csv line 2: Coral / two.csv line 2: Deploy"):
        read_labels([("s", one), ("s", two)], [], FRAMES)
    with pytest.raises(TableError, match=r"w.csv line 2: Deploy / w.csv line 3: No-Deploy"):
        _read("", whole=WHOLE + "a.jpg,Deploy,A\na.jpg,No Deploy,A\n")


def test_a_grid_cell_and_the_same_rectangle_agree_or_contradict() -> None:
    grid, same = _table(GRID + "a.jpg,1,1,0,0,Coral,A\n"), _table(RECT + "a.jpg,0,0,10,7,Coral,A\n")
    assert read_labels([("s", grid), ("s", same)], [], FRAMES).counts["annotation_duplicates_merged"] == 1
    with pytest.raises(TableError, match="contradict"):
        read_labels([("s", grid), ("s", _table(RECT + "a.jpg,0,0,10,7,Deploy,A\n"))], [], FRAMES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frame,label\na.jpg,Coral\n", "no column annotator"),
        ("frame,label,annotator\na.jpg,Coral,A\n", "neither the columns of grid cells"),
        (RECT + "a.jpg,0,0,11,7,Coral,A\n", "not inside its frame of 10 x 7 px"),
        (RECT + "a.jpg,-1,0,1,1,Coral,A\n", "not inside its frame"),
        (RECT + "a.jpg,3,0,3,7,Coral,A\n", "is empty or not inside"),
        (RECT + "a.jpg,0,0,1.5,7,Coral,A\n", "x1 is '1.5'; a whole number"),
        (RECT + "a.jpg,0,0,1,7,NA,A\n", "line 2: label 'NA' is not a class"),
        (RECT + "a.jpg,0,0,1,7,Deplov,A\n", r"did you mean Deploy\?"),
        (RECT + "a.jpg,0,0,1,7,,A\n", "label is empty"),
        (RECT + "a.jpg,0,0,1,7,Coral,\n", "annotator is empty"),
        (RECT + ",0,0,1,7,Coral,A\n", "frame is empty"),
        (GRID + "a.jpg,2,3,2,0,Coral,A\n", "row 2, col 0 is outside a grid of 2 rows and 3"),
        (GRID + "a.jpg,2,3,0,-1,Coral,A\n", "col -1 is outside"),
        (GRID + "a.jpg,0,3,0,0,Coral,A\n", "does not fit a frame of 10 x 7"),
        (GRID + "a.jpg,8,3,0,0,Coral,A\n", "does not fit a frame"),
    ],
)
def test_broken_annotations(text: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        _read(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WHOLE + "a.jpg,Coral,A\n", "frame label 'Coral' is neither decision"),
        (WHOLE + "a.jpg,maybe,A\n", "neither decision"),
        ("frame,label\na.jpg,Deploy\n", "no column annotator"),
    ],
)
def test_broken_frame_labels(text: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        _read("", whole=text)


@given(st.permutations(range(6)))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    rows = [
        f"{frame}.jpg,{x},0,{x + 1},1,{label},A" for frame, label in (("a", "Coral"), ("b", "coral")) for x in range(3)
    ]
    assert _read(RECT + "\n".join(rows[i] for i in order)) == _read(RECT + "\n".join(rows))


def test_sorted_by_key(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(RECT + "b.jpg,5,0,6,1,Coral,A\nb.jpg,0,0,1,1,Coral,A\na.jpg,0,0,1,1,Coral,B\n")
    said = read_labels([("s", read_text_table(tmp_path / "t.csv", "t.csv"))], [], FRAMES).rectangles
    keys = [(r.path, r.annotator, r.x0) for r in said]
    assert all(a < b for a, b in pairwise(keys))
