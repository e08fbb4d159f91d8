from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reseed.base.csv import read_text_table
from reseed.base.errors import TableError

PLAIN = "Frame,label\né/a b.jpg,NA\nb.jpg,\n"
ROWS = [{"frame": "é/a b.jpg", "label": "NA"}, {"frame": "b.jpg", "label": ""}]


def _read(folder: Path, data: bytes) -> list[dict[str, str]]:
    (folder / "t.csv").write_bytes(data)
    return [row.cells for row in read_text_table(folder / "t.csv", "t.csv").rows]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_every_text_form_reads_the_same(tmp_path: Path, encoding: str, delimiter: str, line_end: str) -> None:
    text = PLAIN.replace(",", delimiter).replace("\n", line_end)
    assert _read(tmp_path, text.encode(encoding)) == ROWS


def test_quotes_blanks_and_blank_lines(tmp_path: Path) -> None:
    assert _read(tmp_path, b'\n frame , LABEL \n" a, b.jpg ",Coral\n,\n\n') == [{"frame": "a, b.jpg", "label": "Coral"}]


def test_rows_know_their_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("frame,label\na,b\n\nc,d\n")
    assert [row.where for row in read_text_table(tmp_path / "t.csv", "src/t.csv").rows] == [
        "src/t.csv line 2",
        "src/t.csv line 4",
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the table is empty"),
        (b"\n\n", "the table is empty"),
        (b"a,a\n1,2\n", "column 'a' appears more than once"),
        (b"a,b\n1,2\n1,2,3\n", "t.csv line 3: 3 cells, the header has 2"),
        (b"a,b\n1\n", "t.csv line 2: 1 cells, the header has 2"),
        (b"a,b\n1,caf\xe9\n", "t.csv line 2: not utf-8 text"),
        (b"a,b\n1,2\n\0\0\0\0", "NUL characters"),
        (b'a,b\n1,"2\n', "not readable as a table"),
    ],
)
def test_broken_tables(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(TableError, match=message):
        _read(tmp_path, data)


def test_missing_columns_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("frame,labels\n")
    with pytest.raises(TableError, match="no column label, annotator; found: frame, labels"):
        read_text_table(tmp_path / "t.csv", "t.csv").require(["frame", "label", "annotator"])


_CELL = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)


@given(rows=st.lists(st.tuples(_CELL, _CELL), max_size=5), delimiter=st.sampled_from([",", ";", "\t"]))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows, delimiter: str) -> None:
    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"'

    folder = tmp_path_factory.mktemp("t")
    lines = [f"x{delimiter}y", *(delimiter.join(map(quoted, row)) for row in rows)]
    assert _read(folder, "\n".join(lines).encode()) == [{"x": x, "y": y} for x, y in rows]
