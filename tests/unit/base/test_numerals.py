from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reseed.base.csv import decimal_mark, read_text_table, whole_number
from reseed.base.errors import TableError
from reseed.base.numerals import NumberError, parse_number

GROUPS = [" ", "\u00a0", "\u202f", "\u2009", "'", "\u2019"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("4.0", 4),
        ("-1,5", Fraction(-3, 2)),
        ("\u22121.5", Fraction(-3, 2)),
        ("1.000.000", 1_000_000),
        ("1,234.5", Fraction(2469, 2)),
        ("1.234,5", Fraction(2469, 2)),
        ("0.000", 0),
        ("1.2345", Fraction(12345, 10000)),
        ("1.500E+03", 1500),
        ("1e-05", Fraction(1, 100_000)),
        *((f"1{mark}234", 1234) for mark in GROUPS),
        ("1\u00a0234,5", Fraction(2469, 2)),
    ],
)
def test_a_text_with_one_reading_is_read(text: str, number: Fraction) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1.000", "ambiguous"),
        ("1,234", "ambiguous"),
        ("-12.500", "ambiguous"),
        ("1.67885E+09", "digits_lost"),
        ("1.5E+03", "digits_lost"),
        ("1,5E+3", "digits_lost"),
        ("", "not_a_number"),
        ("1.23.4", "not_a_number"),
        ("12 34", "not_a_number"),
        ("1,2,3", "not_a_number"),
        ("nan", "not_a_number"),
        ("0x10", "not_a_number"),
    ],
)
def test_any_other_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(NumberError) as caught:
        parse_number(text)
    assert caught.value.reason == reason


def test_places_say_how_exact_an_exponent_must_be() -> None:
    assert parse_number("-1.05E+01", places=1) == Fraction(-21, 2)
    with pytest.raises(NumberError, match="lost digits"):
        parse_number("-1.05E+01", places=5)
    assert parse_number("-1.0512345E+01", places=5) == Fraction(-10512345, 1_000_000)


@given(st.integers(-(10**9), 10**9), st.integers(1, 6), st.sampled_from(["", *GROUPS]), st.sampled_from(".,"))
def test_what_is_written_is_read(digits: int, decimals: int, group: str, mark: str) -> None:
    number = Fraction(digits, 10**decimals)
    whole, part = divmod(abs(digits), 10**decimals)
    text = f"{'-' * (digits < 0)}{whole:,}".replace(",", group) + f"{mark}{part:0{decimals}d}"
    assert parse_number(text, mark) == number


@pytest.mark.parametrize(
    ("header", "rows", "mark", "x"),
    [
        ("x;y", ["1.000;2,5"], ",", 1000),
        ("x;y", ["1.000;2.5"], ".", 1),
        ("x\ty", ["2.000\t1.000.000"], ",", 2000),
        ("x;y", ["1,000;1.234,5"], ",", 1),
        ("x;y", ["1000;7"], None, 1000),
    ],
)
def test_a_table_has_one_decimal_mark(tmp_path: Path, header: str, rows: list[str], mark: str | None, x: int) -> None:
    (tmp_path / "t.csv").write_text("\n".join([header, *rows]) + "\n")
    table = read_text_table(tmp_path / "t.csv", "t.csv")
    assert decimal_mark(table, {"x": None, "y": None}) == mark
    assert whole_number(table.rows[0], "x", mark) == x


def test_a_limit_rules_a_reading_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("latitude,depth\n-9.123,1.234\n")
    table = read_text_table(tmp_path / "t.csv", "t.csv")
    assert decimal_mark(table, {"depth": None}) is None
    assert decimal_mark(table, {"latitude": 90, "depth": None}) == "."


def test_two_marks_in_one_table_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x;y\n1.5;1\n2;2,5\n")
    with pytest.raises(TableError, match=r"line 2: x has '1.5' with a decimal point, .*line 3: y has '2,5'"):
        decimal_mark(read_text_table(tmp_path / "t.csv", "t.csv"), {"x": None, "y": None})


def test_an_error_names_file_line_column_and_value(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n5\n1.000\n")
    row = read_text_table(tmp_path / "t.csv", "src/t.csv").rows[1]
    with pytest.raises(TableError, match=r"src/t.csv line 3: x: '1.000' may be 1.000 or 1000; write it without"):
        whole_number(row, "x", None)


@pytest.mark.parametrize(
    "data",
    [
        b"sep=;\nx;y\n1;2\n",
        b"SEP=;\r\nx;y\r\n1;2\r\n",
        b'"sep=;"\nx;y\n1;2\n',
        b"\xef\xbb\xbfsep=;\nx;y\n1;2\n",
        "sep=\t\nx\ty\n1\t2\n".encode("utf-16"),
        b"sep=|\nx|y\n1|2\n",
        b"sep=,\n\nx,y\n1,2\n",
        b"x;y;;\n1 ;\xc2\xa02\xc2\xa0;;\n",
        "x;y\n\u200b1;2\ufeff;;\n".encode(),
        b"x|y\n1|2\n",
    ],
)
def test_forms_of_spreadsheets(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    assert [row.cells for row in read_text_table(tmp_path / "t.csv", "t.csv").rows] == [{"x": "1", "y": "2"}]


def test_lines_are_counted_behind_a_separator_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sep=;\nx;y\n1;2\n")
    assert read_text_table(tmp_path / "t.csv", "t.csv").rows[0].where == "t.csv line 3"
