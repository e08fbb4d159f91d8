"""`python -m reseed compare A B`: is B better than A, how sure is that, and what changed?"""

import argparse
import sys
from pathlib import Path

from reseed.base.errors import ReseedError
from reseed.cli.main import add_bootstrap, add_json, show
from reseed.compare.comparison import compare
from reseed.history.repository import Repository
from reseed.history.run import Run
from reseed.reports.report import comparison_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("revisions", nargs="*", metavar="A B", help="two git revisions or DVC experiments")
    parser.add_argument(
        "--a", nargs="+", default=[], metavar="REV", help="several runs of A, such as trainings with other seeds"
    )
    parser.add_argument("--b", nargs="+", default=[], metavar="REV", help="several runs of B")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--md", action="store_true", help="print Markdown, for a pull request")
    add_json(form)
    add_bootstrap(parser)


def run(args: argparse.Namespace) -> int:
    """Read both sides, compare and print."""
    sides = _sides(args)
    repository = Repository(Path())
    revisions = [[repository.resolve(name) for name in side] for side in sides]
    a, b = ([Run(repository, revision, remote="read").with_answers() for revision in side] for side in revisions)
    report = compare(repository, a, b, args.resamples, args.seed)
    if args.md:
        sys.stdout.write(comparison_page(report, "markdown"))
    else:
        show(report, lambda found: comparison_page(found, "terminal"), as_json=args.json)
    return 0


def _sides(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    given, a, b = args.revisions, args.a, args.b
    if len(given) == 2 and not a and not b:
        return [given[0]], [given[1]]
    if not given and a and b:
        return list(a), list(b)
    raise ReseedError(
        f"{len(given)} revisions, {len(a)} after --a and {len(b)} after --b: name two (`compare main HEAD`), or "
        "several of each side (`compare --a r1 r2 --b r3 r4`)"
    )
