"""The commands of `python -m reseed`: one module each, loaded only when it is called.

Arguments that several commands share stand here too.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.base.csv import TextTable, read_text_table
from reseed.base.errors import EXIT_USER_ERROR, ReseedError, TableError, printable

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
        sys.stdout.write(json.dumps(report, indent=2, allow_nan=False) + "\n")
        return
    notice = f"*** {SYNTHETIC_NOTICE} ***"
    made = text(report)
    page = printable(made.rstrip("\n") if isinstance(made, str) else "\n".join(made))
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


# Command: what it does in one line. Its module reseed.cli.<command>, dashes as underscores, has
# `add_arguments(parser)` and `run(arguments) -> int`, the exit code.
COMMANDS: Final = {
    "agree": "compare two tables of labels: agreement, Cohen's kappa, and the items on which two annotators differ",
    "audit": "check that the data, code and parameters of a revision give its score, and show where each came from",
    "calibrate": "draw frames to label, and compute from the labels an alpha that bounds the share of wrong drops",
    "card": "write the model card of a result: intended use, data, scores with intervals, limits",
    "check": "validate a whole parameter file, and report which sources have changed since they were copied",
    "compare": "compare two revisions or experiments on the same test frames: difference, interval, p, what changed",
    "crossval": "leave-one-group-out cross-validation: train on all sites (or sequences) but one, test on that one",
    "drift": "check that a committed result fits its code and parameters, and that a new run gives nearly its scores",
    "export": "write a trained model as one ONNX file with all that infer needs, after comparing it with the network",
    "export-labels": "write the predictions of a run as a CoralNet CSV and as COCO JSON, for annotation tools",
    "import-checkpoint": "convert a checkpoint from elsewhere into a model folder for infer and export",
    "infer": "classify every frame in a folder, including one still being written: decisions, a track and a map",
    "leakage": "find seafloor that train, val and test have in common: copies, close neighbours, overlapping views",
    "pin": "print the digest of a folder, archive or url, for sha256 of an entry of pull.sources",
    "report": "write a page for a pull request: scores before and after, intervals, what changed, the audit",
    "score": "score a table of predictions against a table of reference labels, as the pipeline does",
    "scores": "print the scores of the last run as a short table",
    "sweep": "show the experiments of a commit side by side: the parameters that differ, and scores with their spread",
}


def main(argv: list[str] | None = None) -> int:
    """Run one command; a user error ends in one clear message and exit code 2.

    Args:
        argv: Arguments without the program name; those of the process if None.

    Returns:
        Exit code.
    """
    arguments = sys.argv[1:] if argv is None else argv
    chosen = _overview().parse_args(arguments[:1]).command
    command = importlib.import_module(f"reseed.cli.{chosen.replace('-', '_')}")
    parser = argparse.ArgumentParser(prog=f"python -m reseed {chosen}", description=COMMANDS[chosen])
    command.add_arguments(parser)
    try:
        return int(command.run(parser.parse_args(arguments[1:])))
    except ReseedError as error:
        sys.stderr.write(f"error: {printable(str(error))}\n")
        return EXIT_USER_ERROR


def _overview() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name:<{width}}  {line}" for name, line in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m reseed",
        usage="python -m reseed COMMAND ...",
        description="Decides from reef survey frames where to deploy, and scores these decisions (README.md).\n\n"
        f"commands:\n{lines}\n\n`python -m reseed COMMAND --help` lists the arguments of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of the commands above")
    return parser
