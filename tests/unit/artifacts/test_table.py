from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reseed.artifacts.table import Column, Table
from reseed.base.errors import TableError

TABLE = Table(
    columns=(Column("name", "text", ""), Column("n", "int", ""), Column("depth_m", "float", "")), key=("name",)
)


def test_form_is_sorted_lf_six_decimals_and_an_empty_cell_for_nan() -> None:
    df = TABLE.frame([{"name": "b", "n": 2, "depth_m": float("nan")}, {"name": "a", "n": 1, "depth_m": -0.00000001}])
    assert TABLE.to_csv(df, "t") == "name,n,depth_m\na,1,0.000000\nb,2,\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8),
        st.tuples(st.integers(-(2**62), 2**62), st.none() | st.floats(-1e6, 1e6)),
        max_size=5,
    )
)
def test_a_table_survives_write_and_read(tmp_path: Path, rows: dict[str, tuple[int, float | None]]) -> None:
    df = TABLE.frame([{"name": name, "n": n, "depth_m": depth} for name, (n, depth) in rows.items()])
    TABLE.write(df, tmp_path / "t.csv")
    again = TABLE.read(tmp_path / "t.csv")
    pd.testing.assert_frame_equal(
        again, df.sort_values("name").reset_index(drop=True), check_exact=False, rtol=0, atol=5.001e-7
    )
    assert TABLE.to_csv(again, "t").encode() == (tmp_path / "t.csv").read_bytes()


def test_text_na_stays_text(tmp_path: Path) -> None:
    TABLE.write(TABLE.frame([{"name": "NA", "n": 1, "depth_m": 1.5}]), tmp_path / "t.csv")
    assert TABLE.read(tmp_path / "t.csv")["name"].tolist() == ["NA"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,n\na,1\n", "columns name, n; needed: name, n, depth_m"),
        ("name,n,depth_m\na,x,1\n", "damaged .*invalid literal.*dvc checkout"),
        ("name,n,depth_m\na,1,inf\n", "depth_m holds a value that is no number"),
        ("name,n,depth_m\na,1,nan\n", "depth_m holds a value that is no number"),
        ("", "damaged"),
        ("name,n,depth_m\na,1,1\na,2,1\n", r"2 rows share a key \(name\), first: a"),
    ],
)
def test_a_broken_table_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TableError, match=message):
        TABLE.read(tmp_path / "t.csv")


def test_a_missing_table_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="dvc repro"):
        TABLE.read(tmp_path / "t.csv")
