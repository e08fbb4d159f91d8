"""`python -m reseed sweep`: the experiments of a commit side by side, with the parameters that differ."""

import argparse
import csv
import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reseed.base.csv import guard
from reseed.base.files import write_bytes, write_text
from reseed.cli.main import add_json, show
from reseed.compare.sweep import read_sweep, sweep_lines, value_text
from reseed.figures.style import png_bytes
from reseed.figures.sweep import sweep_figure
from reseed.reports.page import aligned


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("revisions", nargs="*", metavar="REV", help="commits whose experiments are shown, else HEAD")
    parser.add_argument("--figure", type=Path, metavar="FILE.png", help="also draw scores against each parameter")
    parser.add_argument("--csv", type=Path, metavar="FILE.csv", help="also write the table")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read the experiments, print the table, write what was asked for."""
    report = read_sweep(Path(), args.revisions).report()
    if args.figure is not None:
        write_bytes(args.figure, png_bytes(sweep_figure(report)))
        sys.stderr.write(f"{args.figure}: written\n")
    if args.csv is not None:
        write_text(args.csv, _csv(report))
        sys.stderr.write(f"{args.csv}: written\n")
    show(report, _lines, as_json=args.json)
    return 0


def _lines(report: Mapping[str, Any]) -> list[str]:
    header, rows = sweep_lines(report)
    return [*aligned(header, rows, indent=""), "", *report["notes"]]


def _csv(report: Mapping[str, Any]) -> str:
    scores, spread = (list(report["trials"][0][part]) for part in ("scores", "spread"))
    ends = [f"{scores[0]}_{end}" for end in ("low", "high")]
    lines = [["trial", "state", *report["params"], *scores, *(f"{key}_sd" for key in spread), *ends]]
    for trial in report["trials"]:
        values = [value_text(trial["params"][name]) for name in report["params"]]
        numbers = [*trial["scores"].values(), *trial["spread"].values(), *(trial["interval"] or (None, None))]
        lines.append([trial["name"], trial["state"], *values, *("" if n is None else n for n in numbers)])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[guard(str(value)) for value in line] for line in lines])
    return text.getvalue()
