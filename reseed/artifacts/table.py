"""The one CSV form of every table that crosses a stage boundary: UTF-8, LF, floats with 6 decimals, sorted by key."""

from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from reseed.base.csv import guard_all, unguard
from reseed.base.errors import TableError
from reseed.base.files import write_text

FLOAT_DECIMALS = 6


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Args:
        name: Its header, with the unit as a suffix (`_px`, `_m`, `_deg`) where there is one.
        kind: `text` (never missing, may be empty), `int` (never missing) or `float` (an empty cell is NaN).
        meaning: One line for `data/README.md`.
    """

    name: str
    kind: Literal["text", "int", "float"]
    meaning: str


@dataclass(frozen=True)
class Table:
    """The columns and the key of one table.

    Args:
        columns: In file order.
        key: Columns that identify a row.
        sort: Whether rows are written in key order; `False` keeps the order given.
    """

    columns: tuple[Column, ...]
    key: tuple[str, ...]
    sort: bool = True

    @property
    def names(self) -> list[str]:
        """Column names in file order."""
        return [column.name for column in self.columns]

    def frame(self, rows: list[dict[str, object]]) -> pd.DataFrame:
        """Build a data frame with this table's columns and types from row dictionaries."""
        return self._typed(pd.DataFrame(rows, columns=self.names))

    def write(self, df: pd.DataFrame, path: Path) -> None:
        """Write `df` to a new file: exactly this table's columns, in order.

        Raises:
            TableError: If a column is missing, a key repeats, or a text would break the line format.
        """
        write_text(path, self.to_csv(df, str(path)))

    def to_csv(self, df: pd.DataFrame, where: str) -> str:
        """Return `df` as this table's CSV text; `where` names it in errors."""
        missing = [name for name in self.names if name not in df.columns]
        if missing:
            raise TableError(f"{where}: no column {', '.join(missing)}; needed: {', '.join(self.names)}")
        typed = self._typed(df[self.names])
        self._check_key(typed, where)
        if self.sort:
            typed = typed.sort_values(list(self.key), kind="stable")
        for column in self.columns:
            if column.kind == "float":
                typed[column.name] = typed[column.name].round(FLOAT_DECIMALS) + 0.0  # no -0.000000
            elif column.kind == "text":
                typed[column.name] = guard_all(typed[column.name])
        buffer = StringIO()
        typed.to_csv(buffer, index=False, lineterminator="\n", float_format=f"%.{FLOAT_DECIMALS}f")
        return buffer.getvalue()

    def read(self, path: Path) -> pd.DataFrame:
        """Read a table that a stage wrote; `NA` stays text, an empty float cell is NaN.

        Raises:
            TableError: If the file is missing, has other columns, a value of another type or a repeated key.
        """
        if not path.is_file():
            raise TableError(f"{path}: no such table; run `dvc repro` or `dvc pull` to get it")
        return self.parse(path.read_bytes(), str(path))

    def parse(self, content: bytes, where: str) -> pd.DataFrame:
        """Read a table from its content; `where` names it in errors.

        Raises:
            TableError: If it has other columns, a value of another type or a repeated key.
        """
        try:
            raw = pd.read_csv(BytesIO(content), dtype=str, keep_default_na=False, encoding="utf-8")
            if list(raw.columns) != self.names:
                raise TableError(f"{where}: columns {', '.join(raw.columns)}; needed: {', '.join(self.names)}")
            for column in self.columns:
                if column.kind == "text":
                    raw[column.name] = [unguard(value) for value in raw[column.name]]
            typed = self._typed(raw)
            self._check_finite(raw)
        except (ValueError, pd.errors.ParserError) as error:
            way_out = "`dvc repro` or `dvc checkout` brings the table back"
            raise TableError(f"{where}: damaged ({str(error).rstrip('.')}); {way_out}") from error
        self._check_key(typed, where)
        return typed

    def _typed(self, df: pd.DataFrame) -> pd.DataFrame:
        typed: dict[str, object] = {}
        for column in self.columns:
            values = df[column.name]
            if column.kind == "int":
                typed[column.name] = values.astype(np.int64)
            elif column.kind == "float":
                typed[column.name] = values.replace("", np.nan).astype(np.float64)
            else:
                typed[column.name] = values.astype(object)
        return pd.DataFrame(typed, columns=self.names).reset_index(drop=True)

    def _check_finite(self, raw: pd.DataFrame) -> None:
        for column in self.columns:
            if column.kind == "float":
                found = raw[column.name][raw[column.name] != ""]
                if not np.isfinite(found.astype(np.float64)).all():
                    raise ValueError(f"{column.name} holds a value that is no number")

    def _check_key(self, df: pd.DataFrame, where: str) -> None:
        repeated = df[df.duplicated(list(self.key), keep=False)]
        if len(repeated):
            first = ", ".join(str(value) for value in repeated.iloc[0][list(self.key)])
            raise TableError(f"{where}: {len(repeated)} rows share a key ({', '.join(self.key)}), first: {first}")
