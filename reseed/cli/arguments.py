"""Arguments that several commands share, and how they end: text for people or JSON for programs."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.base.csv import TextTable, read_text_table
from reseed.base.errors import ReseedError, TableError

RESAMPLES: Final = 10_000
SEED: Final = 0


def add_tables(parser: argparse.ArgumentParser, first: str, second: str) -> None:
    """Declare two table arguments and the key."""
    parser.add_argument(
        "first", type=Path, metavar=first, help="CSV file with comma, semicolon or tab, in UTF-8 or UTF-16"
    )
    parser.add_argument("second", type=Path, metavar=second, help="the same kind of file")
    parser.add_argument(
        "--key",
        nargs="+",
        metavar="COL",
        help="columns that together identify an item in both tables (default: patch_id; frame with row and col; frame; "
        "docs/commands.md lists them all)",
    )


def add_bootstrap(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the intervals."""
    parser.add_argument(
        "--resamples", type=_positive, default=RESAMPLES, metavar="N", help=f"bootstrap resamples; default: {RESAMPLES}"
    )
    parser.add_argument(
        "--seed", type=not_negative, default=SEED, metavar="N", help=f"seed of the bootstrap; default: {SEED}"
    )


def add_json(parser: argparse._ActionsContainer) -> None:
    """Declare `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def read_table(path: Path) -> TextTable:
    """Read a table of somebody's making.

    Raises:
        TableError: If there is no such file, or it is no table.
    """
    try:
        return read_text_table(path, str(path))
    except FileNotFoundError as error:
        raise TableError(f"{path}: no such table") from error
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror})") from error


def parse_wanted(texts: Sequence[str], tables: Sequence[TextTable]) -> list[tuple[str, str]]:
    """Return column and value of each `COL=VALUE`.

    Raises:
        ReseedError: If one is not of that form.
        TableError: If no table has the column.
    """
    wanted = []
    for text in texts:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not name or not sign:
            raise ReseedError(f"--where {text}: COL=VALUE is needed, such as split=test")
        if not any(name.casefold() in table.columns for table in tables):
            found = "; ".join(f"{table.where}: {', '.join(table.columns)}" for table in tables)
            raise TableError(f"--where {text}: no table has the column {name}; found: {found}")
        wanted.append((name.casefold(), value))
    return wanted


def show(report: Mapping[str, Any], text: Callable[[Mapping[str, Any]], list[str] | str], *, as_json: bool) -> None:
    """Print a report: `text` makes its lines or its page, between notices if it is of rendered frames."""
    if as_json:
        sys.stdout.write(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return
    notice = f"*** {SYNTHETIC_NOTICE} ***"
    made = text(report)
    page = made.rstrip("\n") if isinstance(made, str) else "\n".join(made)
    sys.stdout.write(f"{notice}\n\n{page}\n\n{notice}\n" if report["synthetic"] else f"{page}\n")


def _positive(text: str) -> int:
    number = int(text)
    if not 100 <= number <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{number} is not in 100 to 1000000")
    return number


def not_negative(text: str) -> int:
    """Return a whole number of at least 0, as an argument type."""
    number = int(text)
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"{number} is not in 0 to 2**32 - 1")
    return number
