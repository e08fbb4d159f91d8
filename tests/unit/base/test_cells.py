"""What a spreadsheet would run is written as text, and comes back as it was."""

import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reseed.artifacts.table import Column, Table
from reseed.base.csv import guard, read_text_table, unguard
from reseed.score.registry import score_csv

RISKY = [
    "=1+1.jpg",
    "+1+1.jpg",
    "-2+3.jpg",
    "@SUM(1).jpg",
    "\t=1",
    "\r=1",
    "=HYPERLINK(1)/x.jpg",
    " =1",
    "\uff1d1+1",
    "=1\x00",
]


NUMBER = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?", re.IGNORECASE)


@pytest.mark.parametrize("text", RISKY)
def test_a_formula_is_written_as_text(text: str) -> None:
    assert guard(text).startswith(f"'{text[0]}")
    assert unguard(guard(text)) == text
    assert unguard(guard(f"'{text}")) == f"'{text}"  # a name that begins so itself comes back too


@pytest.mark.parametrize(
    "text", ["-9.5000000", "+3", "-1e-05", "", "reef.jpg", "'tis.jpg", "a=b", "a-b@c", "2023-03-15", "it's"]
)
def test_numbers_and_plain_names_stay(text: str) -> None:
    assert guard(text) == unguard(text) == text


def test_where_a_semicolon_starts_a_cell() -> None:
    assert guard("tow;=cmd|x;-2;7.jpg") == "tow;'=cmd|x;'-2;7.jpg"
    assert unguard("tow;'=cmd|x;'-2;7.jpg") == "tow;=cmd|x;-2;7.jpg"


@given(st.text(alphabet="'=+-@\t\r ;a1.\u00e9\uff1d", max_size=12) | st.text(max_size=30))
@example("'")
@example(";\t=")
def test_everything_comes_back_and_no_cell_begins_as_a_formula(text: str) -> None:
    written = guard(text)
    assert unguard(written) == text
    for cell in re.split("[;\t]", written):
        first = cell.lstrip()[:1]
        assert first not in tuple("=+-@\uff1d") or not first or NUMBER.fullmatch(written)


def test_tables_of_the_pipeline_come_back(tmp_path: Path) -> None:
    table = Table((Column("site", "text", "s"), Column("latitude_deg", "float", "l")), ("site",))
    df = table.frame([{"site": site, "latitude_deg": -9.5} for site in sorted({*RISKY, "reef"} - {"\r=1", "=1\x00"})])
    table.write(df, tmp_path / "sites.csv")
    pd.testing.assert_frame_equal(table.read(tmp_path / "sites.csv"), df)
    raw = pd.read_csv(tmp_path / "sites.csv", dtype=str)
    assert not [site for site in raw["site"] if site.lstrip()[0] in "=+-@\uff1d"]
    assert set(raw["latitude_deg"]) == {"-9.500000"}


def test_score_tables_are_safe_and_tables_of_people_are_read_back(tmp_path: Path) -> None:
    columns = (Column("site", "text", "s"), Column("n", "int", "n"))
    text = score_csv(pd.DataFrame({"site": ["=1+1", "-reef", "bay"], "n": [1, -2, 3]}), columns)
    assert text == "site,n\n'=1+1,1\n'-reef,-2\nbay,3\n"
    (tmp_path / "by_site.csv").write_text(text)
    rows = read_text_table(tmp_path / "by_site.csv", "by_site.csv").rows
    assert [row.cells["site"] for row in rows] == ["=1+1", "-reef", "bay"]
