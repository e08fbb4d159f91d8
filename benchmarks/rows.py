"""The promises of speed, what became of them, and the table that shows both."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One promise and what became of it.

    Args:
        what: What is measured.
        at_least: The ratio (or share, or most seconds) that it must reach.
        aim: What it should reach.
        value: What it reached: median over the pairs of runs.
        low: Least of the pairs.
        high: Most of the pairs.
        smaller_is_better: Whether the promise is an upper limit.
        unit: x, % or s.
        beside: Figures that explain it, by name.
    """

    what: str
    at_least: float
    aim: float
    value: float
    low: float
    high: float
    unit: str = "x"
    smaller_is_better: bool = False
    beside: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether it reaches what it must."""
        return self.value <= self.at_least if self.smaller_is_better else self.value >= self.at_least

    @property
    def verdict(self) -> str:
        """One word for the table."""
        aimed = self.value <= self.aim if self.smaller_is_better else self.value >= self.aim
        return "aim" if aimed else "holds" if self.holds else "MISSED"


def ratio_row(what: str, at_least: float, aim: float, pairs: Sequence[tuple[float, float]], unit: str) -> Row:
    """Return the row of a comparison of rates; the spread is that of the pairs."""
    ratios = [ours / theirs for theirs, ours in pairs]
    beside = {
        "theirs": statistics.median(theirs for theirs, _ in pairs),
        "ours": statistics.median(ours for _, ours in pairs),
        "unit": unit,
    }
    return Row(what, at_least, aim, statistics.median(ratios), min(ratios), max(ratios), beside=beside)


def show(rows: Sequence[Row], grown: Sequence[dict[str, Any]]) -> str:
    """Return both tables as text."""
    lines = [f"{'what':<26}{'reached':>10}{'spread':>18}{'at least':>10}{'aim':>8}  verdict"]
    for row in rows:
        spread = f"{row.low:.2f} - {row.high:.2f}"
        promised = f"{row.at_least:>8g} {row.unit}{row.aim:>6g} {row.unit}"
        lines.append(f"{row.what:<26}{row.value:>8.2f} {row.unit}{spread:>18}{promised}  {row.verdict}")
        lines += [
            f"    {name}: {value:.4g}" if isinstance(value, float) else f"    {name}: {value}"
            for name, value in row.beside.items()
        ]
    if grown:
        lines.append(f"\n{'cores':>6}{'frames':>8}{'theirs, s':>12}{'ours, s':>10}{'ratio':>8}   whole processes")
        lines += [
            f"{row['cores']:>6}{row['frames']:>8}{row['theirs_s']:>12.1f}{row['ours_s']:>10.1f}{row['ratio']:>8.1f}"
            for row in grown
        ]
    return "\n".join(lines)
