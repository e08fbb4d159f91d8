from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reseed.base.classes import CLASSES, DECISIONS
from reseed.base.csv import TextTable, read_text_table
from reseed.base.errors import TableError
from reseed.score.matching import (
    GOLD,
    choose_column,
    choose_key,
    first_with,
    frame_of,
    in_order,
    keep,
    read_items,
    require_no_problem,
    unmatched,
)


def table(tmp_path: Path, text: str, name: str = "a.csv") -> TextTable:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_text_table(path, name)


@pytest.mark.parametrize(
    ("first", "second", "key"),
    [
        ("patch_id,frame_id,predicted", "patch_id,label", ("patch_id",)),
        ("frame,row,col,label", "frame,row,col,label", ("frame", "row", "col")),
        # The same cell of another grid is another piece of the frame.
        ("frame,grid_rows,grid_cols,row,col,label", "label,frame,grid_rows,grid_cols,row,col", None),
        ("name,row,column,label", "Name,Row,Column,Label", ("name", "row", "column")),
        ("frame,x0,y0,x1,y1,label", "frame,x0,y0,x1,y1,label", ("frame", "x0", "y0", "x1", "y1")),
        ("frame,label,annotator", "frame,label", ("frame",)),
        ("frame_id,row,col,label", "frame_id,label", ("frame_id",)),
    ],
)
def test_the_key_is_the_first_that_both_have(
    tmp_path: Path, first: str, second: str, key: tuple[str, ...] | None
) -> None:
    found = choose_key(table(tmp_path, first), table(tmp_path, second), None)
    assert found == (key or ("frame", "grid_rows", "grid_cols", "row", "col"))


@pytest.mark.parametrize("given", [["Frame", "row"], ["frame,row"], ["frame, ROW"]])
def test_a_given_key(tmp_path: Path, given: list[str]) -> None:
    both = table(tmp_path, "frame,row,patch_id,label")
    assert choose_key(both, both, given) == ("frame", "row")


def test_no_common_key_is_said_with_both_columns(tmp_path: Path) -> None:
    with pytest.raises(
        TableError, match=r"no columns identify an item in both tables; a\.csv: frame, label; b\.csv: patch_id, label"
    ):
        choose_key(table(tmp_path, "frame,label"), table(tmp_path, "patch_id,label", "b.csv"), None)
    with pytest.raises(TableError, match=r"b\.csv: no column frame; found: patch_id, label"):
        choose_key(table(tmp_path, "frame,label"), table(tmp_path, "patch_id,label", "b.csv"), ["Frame"])


def test_label_goes_before_the_flag_gold(tmp_path: Path) -> None:
    labels = table(tmp_path, "patch_id,annotator,label,purity,gold")
    assert choose_column(labels, None, GOLD, "labels", "--gold") == "label"
    with pytest.raises(TableError, match=r"no column with the labels \(looked for label, gold.*name it with --gold"):
        choose_column(table(tmp_path, "frame,truth"), None, GOLD, "labels", "--gold")


def test_cells_are_matched_whatever_a_spreadsheet_made_of_them(tmp_path: Path) -> None:
    text = "frame;row;col;label\nS\\é.jpg;4.0;02;no_deploy\n"
    items = read_items(table(tmp_path, text), ("frame", "row", "col"), "label", CLASSES, may_be_empty=False)
    assert items.items[0].key == ("S/é.jpg", "4", "2")
    assert items.items[0].label == "No-Deploy"
    other = "frame\trow\tcol\tlabel\nS/e\u0301.jpg\t4\t2\tCORAL\n"
    again = read_items(table(tmp_path, other), ("frame", "row", "col"), "label", CLASSES, may_be_empty=False)
    assert again.items[0].key == items.items[0].key


def test_the_first_ten_of_every_kind_are_listed_in_one_message(tmp_path: Path) -> None:
    rows = [f"f{i},Sand" for i in range(12)] + ["g,Deploy", "g,Deploy", "h,"]
    items = read_items(
        table(tmp_path, "frame,label\n" + "\n".join(rows)), ("frame",), "label", DECISIONS, may_be_empty=False
    )
    gold = read_items(
        table(tmp_path, "frame,label\nz,Coral", "g.csv"), ("frame",), "label", DECISIONS, may_be_empty=True
    )
    with pytest.raises(TableError) as raised:
        require_no_problem([*items.problems, *gold.problems, "", unmatched(items, gold, "extra keys, not in")])
    text = str(raised.value)
    assert "a.csv: unknown labels in label, allowed are No-Deploy, Deploy (12):\n  'Sand' (line 2)\n" in text
    assert "'Sand' (line 11)\n  ... and 2 more" in text
    assert "'Sand' (line 12)" not in text
    assert "a.csv: rows without a label in label (1):\n  line 16" in text
    assert "a.csv: keys (frame) more than once (1):\n  g (lines 14, 15)" in text
    assert "g.csv: unknown labels in label, allowed are No-Deploy, Deploy (1):\n  'Coral' (line 2)" in text
    assert "a.csv: extra keys, not in g.csv (14):\n  f0\n  f1\n" in text


def test_rows_are_kept_by_the_columns_a_table_has(tmp_path: Path) -> None:
    both = table(tmp_path, "frame,split,label\na,test,Coral\nb,val,Coral\n")
    assert [row.cells["frame"] for row in keep(both, [("split", "test"), ("other", "1")]).rows] == ["a"]
    with pytest.raises(TableError, match=r"a\.csv: none of 2 rows is left where split=train"):
        keep(both, [("split", "train")])


def test_which_table_has_the_group(tmp_path: Path) -> None:
    tables = [table(tmp_path, "frame,label"), table(tmp_path, "frame,site,label", "b.csv")]
    assert first_with(None, ("group", "site"), tables) == (1, "site")
    assert first_with(None, ("group",), tables) is None
    assert first_with("Label", ("group",), tables) == (0, "label")
    with pytest.raises(TableError, match="no column reef in either table"):
        first_with("reef", ("group",), tables)


@pytest.mark.parametrize(
    ("columns", "key", "frame"),
    [
        (("patch_id",), ("demo/a#b.jpg#r000c001",), "demo/a#b.jpg"),
        (("patch_id",), ("17",), None),
        (("frame", "row", "col"), ("a.jpg", "0", "1"), "a.jpg"),
        (("frame",), ("a.jpg",), None),
        (("line", "point"), ("1", "2"), None),
    ],
)
def test_the_frame_of_an_item(columns: tuple[str, ...], key: tuple[str, ...], frame: str | None) -> None:
    assert frame_of(columns, key) == frame


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 200).map(str))))
def test_numbers_are_ordered_by_value_and_nothing_is_lost(keys: list[tuple[str, ...]]) -> None:
    ordered = in_order(keys)
    assert set(ordered) == set(keys)
    for name in {key[0] for key in keys}:
        numbers = [int(key[1]) for key in ordered if key[0] == name]
        assert numbers == sorted(numbers)
