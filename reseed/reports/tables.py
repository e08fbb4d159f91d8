"""Tables as text: aligned for a terminal, or Markdown for a pull request."""

from collections.abc import Sequence
from typing import Any

from reseed.score.percent import NOT_AVAILABLE


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Return lines with columns of equal width: the first to the left, the others to the right."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for row in cells if any(header) else cells[1:]:
        first, *rest = (text.rjust(width) for text, width in zip(row, widths, strict=True))
        lines.append(f"{indent}{'  '.join([first.strip().ljust(widths[0]), *rest])}".rstrip())
    return lines


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a Markdown table: the first columns to the left, the others to the right."""
    line = "| " + " | ".join(map(_cell, header)) + " |"
    rule = "|" + "|".join(["---"] * min(left, len(header)) + ["---:"] * (len(header) - left)) + "|"
    return [line, rule, *("| " + " | ".join(map(_cell, row)) + " |" for row in rows)]


def percent_text(value: float | str) -> str:
    """Return percent with two decimals, or the word that stands for no score."""
    return value if isinstance(value, str) else f"{value:.2f} %"


def interval_text(interval: dict[str, Any] | None) -> str:
    """Return an interval in percent; empty where there is none to speak of."""
    if interval is None:
        return ""
    if interval["low"] == NOT_AVAILABLE:
        return NOT_AVAILABLE
    return f"{interval['low']:.1f} to {interval['high']:.1f}"


def confusion_rows(names: Sequence[str], counts: Sequence[Sequence[int]]) -> list[list[str]]:
    """Return the rows of a confusion table, each with its name first."""
    return [[name, *(f"{count:,}" for count in row)] for name, row in zip(names, counts, strict=True)]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
