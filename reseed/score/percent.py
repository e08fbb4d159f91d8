"""The one form of a score in a file: percent with 4 decimals, and `n/a` where there is nothing to score."""

from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.table import Column
from reseed.base.cells import guard_all
from reseed.base.errors import TableError

DECIMALS: Final = 4

# A word and not null: DVC shows no null, and a missing key would look like a score that nobody asked for.
NOT_AVAILABLE: Final = "n/a"

# A number, or the 0-dimensional array that a formula over batches gives for a single one.
Fraction = float | NDArray[np.float64]


def class_key(name: str) -> str:
    """Return a class name as it stands in keys and column names: `no_deploy`, `coral`, `deploy`."""
    return name.lower().replace("-", "_")


def percent(fraction: Fraction) -> float:
    """Return a fraction as percent, rounded to 4 decimals."""
    return round(100.0 * float(fraction), DECIMALS)


def percent_if(fraction: Fraction, n: int) -> float | str:
    """Return a fraction as percent, or `n/a` if it was computed from no items: never a made-up number."""
    return percent(fraction) if n > 0 else NOT_AVAILABLE


def score_csv(df: pd.DataFrame, columns: tuple[Column, ...]) -> str:
    """Return a score table as CSV: exactly `columns`, floats with 4 decimals, an empty cell where there is no score.

    Raises:
        TableError: If a column is missing.
    """
    names = [column.name for column in columns]
    missing = [name for name in names if name not in df.columns]
    if missing:
        raise TableError(f"score table without column {', '.join(missing)}")
    kinds = {
        column.name: np.int64 if column.kind == "int" else np.float64 for column in columns if column.kind != "text"
    }
    written = df[names].astype(kinds)
    for column in columns:
        if column.kind == "text":
            written[column.name] = guard_all(written[column.name])
    text = written.to_csv(index=False, lineterminator="\n", float_format=f"%.{DECIMALS}f")
    return str(text)


def percent_or_nan(fraction: Fraction, n: int) -> float:
    """Return a fraction as percent for a table, NaN (an empty cell) if it was computed from no items."""
    return percent(fraction) if n > 0 else float("nan")
