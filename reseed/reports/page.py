"""Pages from Jinja2 templates: one set of filters, and escaping that fits the form, Markdown or a terminal.

In a Markdown page every value that a template shows is escaped unless it is a `Markdown`: names of files, sites and
people become no markup, no mention, no line break and no table column, whatever they hold.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reseed.pages.render import percent
from reseed.score.registry import NOT_AVAILABLE

# A Markdown template can also be shown in a terminal, without its markup; text is written as it stands.
Form = Literal["markdown", "terminal", "text"]
# A page stays one that people read, and below what GitHub takes as a comment (65,536 characters).
MOST_ROWS: Final = 20
MOST_ITEMS: Final = 10
_LONGEST_NAME: Final = 160
_LONGEST_TEXT: Final = 300
_TEMPLATES: Final = Path(__file__).parent / "templates"
# What messages of this project tell people to run: of letters that are no markup, so it may stay a code span.
_COMMAND: Final = re.compile(r"\\`((?:dvc|make|python -m reseed)(?: [A-Za-z0-9./=-]+)*)\\`")
_MARKUP: Final = re.compile(r"([\\`*_\[\]<>#~$|])")
# Stands for | in a code span until it is known whether the span lies in a table, where the sign needs a backslash.
_PIPE: Final = "\ue000"


class Markdown(str):
    """Text that is Markdown already and is shown as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return itself: Jinja2 asks escaped text for this."""
        return self


def words(text: object) -> Markdown:
    """Return a text as it shows itself: no markup but our commands, no mention, one line, at most 300 characters."""
    one_line = " ".join(str(text).split())
    cut = one_line if len(one_line) <= _LONGEST_TEXT else f"{one_line[:_LONGEST_TEXT]}…"
    # A mention needs the sign directly before the name.
    escaped = _MARKUP.sub(r"\\\1", cut.replace("&", "&amp;")).replace("@", "@\u200b")
    return Markdown(_COMMAND.sub(r"`\1`", escaped))


def code(text: object) -> Markdown:
    """Return a name or value in a code span, whatever it holds; the end of a long one is what tells names apart."""
    one_line = " ".join(str(text).split())
    shown = one_line if len(one_line) <= _LONGEST_NAME else f"…{one_line[-_LONGEST_NAME:]}"
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return Markdown(f"{fence}{pad}{shown.replace('|', _PIPE)}{pad}{fence}")


def percent_text(value: float | str) -> str:
    """Return percent with two decimals, as commands print it."""
    return percent(value, 2)


def points(value: float | str) -> str:
    """Return a difference in percent points: one decimal, more where that would show 0 for what is none."""
    if isinstance(value, str):
        return value
    decimals = next((n for n in (1, 2, 3) if round(value, n) != 0), 1)
    return f"{value:+.{decimals}f}" if round(value, decimals) else "0.0"


def p_text(p: float | str) -> str:
    """Return a p as people read it."""
    return p if isinstance(p, str) else ("< 0.001" if p < 0.001 else f"{p:.3f}")


def interval_text(interval: Mapping[str, Any] | None, decimals: int = 1) -> str:
    """Return an interval in percent, `n/a` where it could not be computed; empty where none was to be."""
    if interval is None:
        return ""
    if interval["low"] == NOT_AVAILABLE:
        return NOT_AVAILABLE
    return f"{interval['low']:.{decimals}f} to {interval['high']:.{decimals}f}"


def capital(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def named_list(items: Sequence[Any], most: int = MOST_ITEMS) -> str:
    """Return the first items with commas between them, and how many more there are."""
    more = f" and {len(items) - most:,} more" if len(items) > most else ""
    return ", ".join(map(str, items[:most])) + more


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Return lines with columns of equal width: the first to the left, the others to the right."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for row in cells if any(header) else cells[1:]:
        first, *rest = (text.rjust(width) for text, width in zip(row, widths, strict=True))
        lines.append(f"{indent}{'  '.join([first.strip().ljust(widths[0]), *rest])}".rstrip())
    return lines


def confusion_rows(names: Sequence[str], counts: Sequence[Sequence[int]]) -> list[list[str]]:
    """Return the rows of a confusion table, each with its name first."""
    return [[name, *(f"{count:,}" for count in row)] for name, row in zip(names, counts, strict=True)]


def render(template: str, form: Form, **context: Any) -> str:
    """Return a page: the template filled in, blocks with one blank line between them.

    Args:
        template: File below `templates`.
        form: What values are escaped for.
        **context: What the template shows; a name that is missing is an error.
    """
    text = _environment(form).get_template(template).render(**context)
    lines = (
        line.rstrip().replace(_PIPE, "\\|" if line.lstrip("> ").startswith("|") else "|") for line in text.split("\n")
    )
    page = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"
    return _without_markup(page) if form == "terminal" else page


def _without_markup(page: str) -> str:
    """Return a page for a terminal: headings on lines of their own, what is below them indented."""
    lines: list[str] = []
    for line in page.splitlines():
        if line.startswith("#"):
            lines += ["", line.lstrip("# ")]
        elif line:
            lines.append(f"    {line[2:]}" if line.startswith("- ") else line if line[0] == " " else f"  {line}")
    return "\n".join(lines) + "\n"


@functools.cache
def _environment(form: Form) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,  # a line that holds one tag only leaves no line; `+%}` keeps the end of any other
        lstrip_blocks=True,
        # With `finalize` before it: what is a Markdown stays as it is. A terminal needs no escaping.
        autoescape=form == "markdown",  # noqa: S701
        finalize=_as_markdown if form == "markdown" else None,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "capital": capital,
        "code": code if form == "markdown" else str,
        "named_list": named_list,
        "p": p_text,
        "percent": percent,
        "points": points,
        "interval": interval_text,
        "words": words if form == "markdown" else str,
    }
    environment.globals |= {
        "table": _markdown_table if form == "markdown" else _text_table,
        "as_markdown": form == "markdown",
        "na": NOT_AVAILABLE,
        "most_rows": MOST_ROWS,
        "most_items": MOST_ITEMS,
    }
    return environment


def _as_markdown(value: Any) -> Any:
    return value if hasattr(value, "__html__") else words(value)


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Markdown:
    lines = [" | ".join(_as_markdown(cell) for cell in row) for row in (header, *rows)]
    rule = "|".join(["---", *["---:"] * (len(header) - 1)])
    return Markdown("\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])]))


def _text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(aligned(header, rows))
