"""Print the scores of the last run in short: how good, how sure, better than what, and what they come from."""

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from jinja2 import UndefinedError

from reseed.base.errors import ReseedError
from reseed.base.files import read_json
from reseed.cli.main import add_json, show
from reseed.history.recorded import stale_lines
from reseed.reports.scores import labels_of, scores_page

_METRICS: Final = Path("metrics/metrics.json")
_DETAILS: Final = Path("metrics/details.json")
_FIGURES: Final = Path("plots/figures")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder",
        nargs="?",
        default=".",
        type=Path,
        help="folder of the run, such as runs/reefscan; default: the current folder",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the table and return exit code 0."""
    folder: Path = args.folder
    metrics, details = _read(folder / _METRICS), _read(folder / _DETAILS)
    try:
        stale = stale_lines(folder)
        labels = ", ".join(labels_of(details))
        marks: dict[str, Any] = {"synthetic": bool(metrics["data"]["synthetic"]), "weak": "weak" in labels}
        marks |= {"machine_labels": True} if "machine" in labels else {}
        text = scores_page(metrics, details, folder / _FIGURES, folder / _DETAILS, stale)
    except (KeyError, TypeError, UndefinedError) as error:
        raise ReseedError(
            f"{folder / _METRICS} and {folder / _DETAILS} do not hold the scores of one run ({error!r} is missing); "
            "`dvc repro -f evaluate` writes both again"
        ) from error
    if args.json:
        marks |= {"stale": stale} if stale else {}
        show(marks | {"units": "scores in percent"} | metrics, lambda _: [], as_json=True)
    else:
        sys.stdout.write(text)
    return 0


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ReseedError(f"{path}: no scores here yet; run `make repro` (or `dvc repro`) first")
    content: dict[str, Any] = read_json(path)
    return content
