"""`python -m reseed score PREDICTIONS.csv GOLD.csv`: anybody's predictions, scored by the code of the pipeline."""

import argparse

from reseed.cli.main import add_bootstrap, add_json, add_tables, parse_wanted, read_table, show
from reseed.compare.tables import Columns, score_tables
from reseed.reports.scores import score_page
from reseed.score.matching import GOLD, GROUPS, PREDICTED
from reseed.score.registry import TASKS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_tables(parser, "PREDICTIONS.csv", "GOLD.csv")
    parser.add_argument(
        "--task",
        choices=TASKS,
        help="three classes, or Deploy and No-Deploy (default: frame where the key has no place on a frame, such as "
        "row or x0, and no table has the label Coral; else patch)",
    )
    parser.add_argument(
        "--predicted",
        metavar="COL",
        help=f"column with the prediction, in PREDICTIONS (default: {', '.join(PREDICTED)})",
    )
    parser.add_argument(
        "--gold", metavar="COL", help=f"column with the reference label, in GOLD (default: {', '.join(GOLD)})"
    )
    parser.add_argument(
        "--group", metavar="COL", help=f"column of the groups that the bootstrap draws (default: {', '.join(GROUPS)})"
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COL=VALUE",
        help="use only rows with this value, such as split=test, in each table that has the column",
    )
    add_bootstrap(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Match, score and print."""
    predictions, gold = read_table(args.first), read_table(args.second)
    wanted = parse_wanted(args.where, (predictions, gold))
    columns = Columns(args.key, args.predicted, args.gold, args.group)
    report = score_tables(predictions, gold, columns, args.task, wanted, args.resamples, args.seed)
    show(report, score_page, as_json=args.json)
    return 0
