from pathlib import Path

import pytest

from reseed.artifacts.raw import RawSource, write_raw
from reseed.base.csv import read_text_table
from reseed.base.errors import SourceError
from reseed.base.files import write_text
from reseed.history.recorded import speaks_of_rendered
from reseed.score.matching import read_items


def said(folder: Path, text: str, name: str = "table.csv") -> bool | None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    table = read_text_table(path, str(path))
    items = read_items(table, table.columns[:1], "label", ("Deploy",), may_be_empty=False)
    return speaks_of_rendered([table], items.items, folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sources = [
        RawSource(name, kind, "", "survey", "ab" * 32, 10, 8, "unknown", pinned=False, synthetic=kind == "demo")
        for name, kind in (("demo", "demo"), ("reef", "folder"))
    ]
    write_raw(sources, tmp_path / "data/raw.json")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("frame_id,label\ndemo/a.jpg,Deploy\n", True),
        ("frame_id,label\nreef/a.jpg,Deploy\n", False),
        ("patch_id,label\nreef/a.jpg#r000c000,Deploy\ndemo/b.jpg#r000c000,Deploy\n", True),
        ("frame_id,label\nelsewhere/a.jpg,Deploy\n", None),
        ("frame_id,label,synthetic\nreef/a.jpg,Deploy,0\n", False),
        ("frame_id,label,synthetic\nreef/a.jpg,Deploy,1\n", True),
    ],
)
def test_what_ids_and_the_column_tell(folder: Path, text: str, expected: bool | None) -> None:
    assert said(folder, text) is expected


def test_a_table_inside_a_rendered_source(folder: Path) -> None:
    assert said(folder, "frame,label\na.jpg,Deploy\n", "data/raw/demo/annotations_A.csv") is True
    assert said(folder, "frame,label\na.jpg,Deploy\n", "data/raw/reef/x/annotations_A.csv") is False


def test_without_a_record_nothing_tells(tmp_path: Path) -> None:
    assert said(tmp_path, "frame_id,label\ndemo/a.jpg,Deploy\n") is None


def test_the_record_of_another_version_will_do_and_a_broken_one_is_an_error(tmp_path: Path) -> None:
    write_text(tmp_path / "data/raw.json", '[{"name": "demo", "synthetic": true}]')
    assert said(tmp_path, "frame_id,label\ndemo/a.jpg,Deploy\n") is True
    write_text(tmp_path / "data/raw.json", '{"demo": true}')
    with pytest.raises(SourceError, match=r"raw\.json: no list of sources with name and synthetic"):
        said(tmp_path, "frame_id,label\ndemo/a.jpg,Deploy\n")
