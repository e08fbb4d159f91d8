"""`python -m reseed score PREDICTIONS.csv GOLD.csv`: anybody's predictions, scored by the code of the pipeline."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from reseed.artifacts.splits import SPLITS_TABLE
from reseed.base.classes import CORAL, match_class
from reseed.base.csv import TextTable
from reseed.base.errors import TableError
from reseed.cli.arguments import add_bootstrap, add_json, add_tables, parse_wanted, read_table, show
from reseed.history.origin import speaks_of_rendered
from reseed.reports.page import aligned, confusion_rows, interval_text, percent_text
from reseed.score.matching import (
    GOLD,
    GROUPS,
    PREDICTED,
    Item,
    Items,
    choose_column,
    choose_key,
    first_with,
    in_order,
    keep,
    read_items,
    require_no_problem,
    sorting,
    unmatched,
    without_value,
)
from reseed.score.registry import FRAME, NAMES, PATCH, SCORES, Task, as_intervals, as_metrics, score_task

FRAME_ID: Final = "frame_id"
# What a key of patches has and a key of whole frames has not.
_PLACES: Final = ("patch_id", "row", "col", "column", "x0", "y0")
# Before the path of a splits.csv that lies beside a table.
_BESIDE: Final = "group of "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_tables(parser, "PREDICTIONS.csv", "GOLD.csv")
    parser.add_argument(
        "--task",
        choices=(PATCH, FRAME),
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
    tables = [read_table(args.first), read_table(args.second)]
    wanted = parse_wanted(args.where, tables)
    predictions, gold = (keep(table, wanted) for table in tables)
    key = choose_key(predictions, gold, args.key)
    answer = choose_column(predictions, args.predicted, PREDICTED, "answers", "--predicted")
    reference = choose_column(gold, args.gold, GOLD, "reference labels", "--gold")
    task, why = _task(args.task, key, ((predictions, answer), (gold, reference)))
    names = NAMES[task]
    answers = read_items(predictions, key, answer, names, may_be_empty=False)
    references = read_items(gold, key, reference, names, may_be_empty=True)
    require_no_problem(
        [
            *answers.problems,
            *references.problems,
            unmatched(references, answers, "keys without a prediction in"),
            unmatched(answers, references, "extra keys, not in"),
        ]
    )
    pairs = _pairs(answers, references)
    clusters, group = _clusters(pairs, (predictions, gold), args.group)
    result = score_task(
        task,
        np.asarray([names.index(labelled.label) for _, labelled in pairs], dtype=np.int64),
        np.asarray([names.index(said.label) for said, _ in pairs], dtype=np.int64),
        clusters,
        args.resamples,
        args.seed,
    )
    report = {
        "task": task,
        "task_because": why,
        "synthetic": speaks_of_rendered((predictions, gold), [item for pair in pairs for item in pair], Path()),
        "key": list(key),
        "predicted": answers.label,
        "gold": references.label,
        "group": group,
        "where": [f"{name}={value}" for name, value in wanted],
        "unlabelled": len(references.items) - len(pairs),
        "units": "scores in percent",
        task: as_metrics(result),
        "intervals": as_intervals(result.intervals),
        "confusion": {"rows": "gold", "columns": "predicted", "order": names, "counts": result.confusion.tolist()},
    }
    show(report, _text, as_json=args.json)
    return 0


def _task(asked: Task | None, key: Sequence[str], columns: Sequence[tuple[TextTable, str]]) -> tuple[Task, str]:
    """Return what is scored, and why: as asked, else by what the key names and whether anything is called Coral."""
    if asked is not None:
        return asked, "set by --task"
    placed = [name for name in key if name in _PLACES]
    if placed:
        return PATCH, f"the key names a place on a frame ({', '.join(placed)})"
    for table, column in columns:
        if any(match_class(row.cells[column]) == CORAL for row in table.rows):
            return PATCH, f"{table.where} has the label Coral in column {column}"
    return FRAME, f"{', '.join(key)} names no place on a frame and neither table has the label Coral"


def _pairs(answers: Items, references: Items) -> list[tuple[Item, Item]]:
    """Return answer and reference of every item that has a reference, by key."""
    by_key, labelled = answers.by_key, {key: item for key, item in references.by_key.items() if item.label}
    if not labelled:
        raise TableError(f"{references.where}: no row has a label in {references.label}, so there is nothing to score")
    return [(by_key[key], labelled[key]) for key in sorted(labelled, key=sorting)]


def _clusters(
    pairs: Sequence[tuple[Item, Item]], tables: Sequence[TextTable], asked: str | None
) -> tuple[list[str] | None, str | None]:
    found = first_with(asked, GROUPS, tables[::-1])
    if found is None:
        return _groups_beside(pairs, tables) or (None, None)
    place, column = found
    items = [pair[1 - place] for pair in pairs]
    require_no_problem([without_value(items, column, tables[1 - place].where)])
    return [item.row.cells[column] for item in items], column


def _groups_beside(pairs: Sequence[tuple[Item, Item]], tables: Sequence[TextTable]) -> tuple[list[str], str] | None:
    """Return the groups of the pipeline's own splits.csv where it lies near a table and knows every frame."""
    keys = [_frame_of(pair) for pair in pairs]
    for table in tables:
        folder = Path(table.where).parent
        for path in (folder / "splits.csv", folder.parent / "catalog" / "splits.csv"):
            if path.is_file():
                splits = SPLITS_TABLE.read(path)
                group_of = dict(zip(splits["frame_id"], splits["group"], strict=True))
                if all(key in group_of for key in keys):
                    return [group_of[key] for key in keys], f"{_BESIDE}{path}"
    return None


def _frame_of(pair: tuple[Item, Item]) -> str:
    """Return the frame of an item as the pipeline names it: in a column of its own, or before the # of a patch."""
    named = next((item.row.cells[FRAME_ID] for item in pair if item.row.cells.get(FRAME_ID)), None)
    return named or pair[0].key[0].rsplit("#", 1)[0]


def _text(report: Mapping[str, Any]) -> list[str]:
    scores, intervals = report[report["task"]], report["intervals"]
    items = "patches" if report["task"] == PATCH else "frames"
    left_out = f", {report['unlabelled']:,} without a reference left out" if report["unlabelled"] else ""
    rows = [
        [SCORES[report["task"]][name].label, percent_text(value), interval_text(intervals.get(name))]
        for name, value in scores.items()
        if name != "n"
    ]
    order = report["confusion"]["order"]
    return [
        f"{scores['n']:,} {items}{left_out}",
        f"scored as {items}: {report['task_because']}",
        f"matched by {', '.join(report['key'])}; `{report['predicted']}` against `{report['gold']}`"
        + (f"; where {' and '.join(report['where'])}" if report["where"] else ""),
        "",
        *aligned(("", "", "95 % interval" if intervals else ""), rows),
        "",
        f"Intervals  {_about_intervals(report)}",
        "",
        "Rows reference, columns predicted",
        *aligned(("", *order), confusion_rows(order, report["confusion"]["counts"])),
    ]


def _about_intervals(report: Mapping[str, Any]) -> str:
    if report["group"] is None:
        return (
            f"none: neither table has a column {' or '.join(GROUPS)}, and no splits.csv near them has these "
            "frames; name a column with --group"
        )
    reasons = in_order({(interval["reason"],) for interval in report["intervals"].values() if "reason" in interval})
    clusters = max(interval["clusters"] for interval in report["intervals"].values())
    named = report["group"]
    column = f"values of `{named}`" if not named.startswith(_BESIDE) else f"groups of `{named.removeprefix(_BESIDE)}`"
    over = f"cluster bootstrap over {clusters} {column}"
    return f"{over}; n/a: {'; '.join(reason for (reason,) in reasons)}" if reasons else over
