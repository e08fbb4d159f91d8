"""`python -m reseed agree A.csv B.csv`: how far two annotators agree, and what they should look at again."""

import argparse
from typing import Final

from reseed.cli.main import add_bootstrap, add_json, add_tables, not_negative, read_table, show
from reseed.compare.tables import Columns, agree_tables
from reseed.reports.scores import agree_page
from reseed.score.matching import ANNOTATED, GROUPS

_SHOWN: Final = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_tables(parser, "A.csv", "B.csv")
    parser.add_argument(
        "--label", metavar="COL", help=f"column with the label, in both tables (default: {', '.join(ANNOTATED)})"
    )
    parser.add_argument(
        "--group",
        metavar="COL",
        help=f"column of the groups that the bootstrap draws (default: {', '.join(GROUPS)}, else the frame)",
    )
    parser.add_argument(
        "--show",
        type=not_negative,
        default=_SHOWN,
        metavar="N",
        help=f"number of differing items to list; default: {_SHOWN}",
    )
    add_bootstrap(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Match, compare and print."""
    tables = (read_table(args.first), read_table(args.second))
    columns = Columns(key=args.key, first=args.label, group=args.group)
    report = agree_tables(tables, columns, args.resamples, args.seed)
    show(report, lambda found: agree_page(found, args.show), as_json=args.json)
    return 0
