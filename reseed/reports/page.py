"""GitHub Markdown from words that others wrote: nothing in them becomes markup, a mention or a page without end."""

import re
from collections.abc import Sequence
from typing import Any, Final

from reseed.score.percent import NOT_AVAILABLE

NONE: Final = "n/a"
# A page stays one that people read, and below what GitHub takes as a comment (65,536 characters).
MOST_ROWS: Final = 20
MOST_ITEMS: Final = 10
_LONGEST_NAME: Final = 160
_LONGEST_TEXT: Final = 300
# What messages of this project tell people to run: of letters that are no markup, so it may stay a code span.
_COMMAND: Final = re.compile(r"\\`((?:dvc|make|python -m reseed)(?: [A-Za-z0-9./=-]+)*)\\`")
_MARKUP: Final = re.compile(r"([\\`*_\[\]<>#~$])")


def words(text: str) -> str:
    """Return a text as it shows itself: no markup but our commands, no mention, one line, at most 300 characters."""
    one_line = " ".join(text.split())
    cut = one_line if len(one_line) <= _LONGEST_TEXT else f"{one_line[:_LONGEST_TEXT]}…"
    # A mention needs the sign directly before the name.
    escaped = _MARKUP.sub(r"\\\1", cut.replace("&", "&amp;")).replace("@", "@\u200b")
    return _COMMAND.sub(r"`\1`", escaped)


def code(text: str) -> str:
    """Return a name or value in a code span, whatever it holds; the end of a long one is what tells names apart."""
    one_line = " ".join(text.split())
    shown = one_line if len(one_line) <= _LONGEST_NAME else f"…{one_line[-_LONGEST_NAME:]}"
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def percent(value: float | str | None) -> str:
    """Return percent with one decimal, as far as people read it."""
    return NONE if value is None else value if isinstance(value, str) else f"{value:.1f} %"


def points(value: float | str) -> str:
    """Return a difference in percent points: one decimal, more where that would show 0 for what is none."""
    if isinstance(value, str):
        return NONE if value == NOT_AVAILABLE else value
    decimals = next((n for n in (1, 2, 3) if round(value, n) != 0), 1)
    return f"{value:+.{decimals}f}" if round(value, decimals) else "0.0"


class Page:
    """A page that grows block by block."""

    def __init__(self) -> None:
        self._blocks: list[str] = []

    def title(self, text: str, level: int = 3) -> None:
        """Add a heading."""
        self._blocks.append(f"{'#' * level} {text}")

    def say(self, text: str) -> None:
        """Add a paragraph of Markdown."""
        self._blocks.append(text)

    def warn(self, lines: Sequence[str]) -> None:
        """Add a warning box with one line each; nothing without lines."""
        if lines:
            self._blocks.append("\n".join(["> [!WARNING]", *(f"> - {line}" for line in lines)]))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True) -> None:
        """Add a table; nothing without rows. Numbers, all but the first column, stand to the right; words do not."""
        if rows:
            self._blocks.append("\n".join(markdown(header, rows, left=1 if numbers else len(header))))

    def items(self, lines: Sequence[str], most: int) -> None:
        """Add a list, its first `most` lines and how many there are more; nothing without lines."""
        more = [f"… and {len(lines) - most:,} more"] if len(lines) > most else []
        if lines:
            self._blocks.append("\n".join(f"- {line}" for line in [*lines[:most], *more]))

    def text(self) -> str:
        """Return the page."""
        return "\n\n".join(self._blocks) + "\n"


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
