"""`python -m reseed agree A.csv B.csv`: how far two annotators agree, and what they should look at again."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from reseed.base.classes import CLASSES, CORAL, DECISIONS
from reseed.base.csv import TextTable
from reseed.base.errors import TableError
from reseed.cli.arguments import add_bootstrap, add_json, add_tables, not_negative, read_table, show
from reseed.history.origin import speaks_of_rendered
from reseed.reports.page import aligned, confusion_rows, interval_text, percent_text
from reseed.score.agreement import SecondLook, agree, second_looks
from reseed.score.bootstrap import Interval
from reseed.score.matching import (
    ANNOTATED,
    GROUPS,
    Item,
    Items,
    Key,
    choose_column,
    choose_key,
    first_with,
    frame_of,
    in_order,
    key_text,
    read_items,
    require_no_problem,
    without_value,
)
from reseed.score.percent import NOT_AVAILABLE, percent

FRAME: Final = "frame"
ITEM: Final = "item"
_KAPPA_DECIMALS: Final = 6
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
    key = choose_key(*tables, args.key)
    first, second = (_read(table, key, args.label) for table in tables)
    require_no_problem([*first.problems, *second.problems])
    one, other = first.by_key, second.by_key
    both = in_order(one.keys() & other.keys())
    if not both:
        raise TableError(
            f"{first.where} and {second.where}: no item in both by {', '.join(key)}; first: "
            f"{key_text(in_order(one)[0])} and {key_text(in_order(other)[0])}; other columns can be named with --key"
        )
    labels = [[items[key].label for key in both] for items in (one, other)]
    clusters, over = _clusters([one[k] for k in both], [other[k] for k in both], tables, key, args.group)
    names = _names(key, both, labels)
    said = np.asarray([[names.index(label) for label in mine] for mine in labels], dtype=np.int64)
    result = agree(said[0], said[1], clusters, len(names), args.resamples, args.seed)
    looks = second_looks(key, both, *labels)
    report = {
        "synthetic": speaks_of_rendered(tables, [*one.values(), *other.values()], Path()),
        "tables": [first.where, second.where],
        "key": list(key),
        "n": result.n,
        "only": [
            [key_text(k) for k in in_order(mine.keys() - others)] for mine, others in ((one, other), (other, one))
        ],
        "agreeing": result.n - len(looks),
        "agreement": percent(result.agreement),
        "agreement_interval": _interval(result.intervals["agreement"], percent),
        "kappa": NOT_AVAILABLE if np.isnan(result.kappa) else round(result.kappa, _KAPPA_DECIMALS),
        "kappa_interval": _interval(result.intervals["kappa"], lambda value: round(value, _KAPPA_DECIMALS)),
        "macro_f1": percent(result.macro_f1),
        "macro_f1_interval": _interval(result.intervals["macro_f1"], percent),
        "intervals_over": over,
        "units": "agreement and macro F1 (of one scored against the other) in percent; kappa -1 to 1",
        "confusion": {
            "rows": first.where,
            "columns": second.where,
            "order": names,
            "counts": result.confusion.tolist(),
        },
        "second_look": [_look(look) for look in looks],
    }
    show(report, lambda shown: _text(shown, args.show), as_json=args.json)
    return 0


def _read(table: TextTable, key: Key, label: str | None) -> Items:
    column = choose_column(table, label, ANNOTATED, "labels", "--label")
    return read_items(table, key, column, CLASSES, may_be_empty=False)


def _names(key: Key, both: Sequence[Key], labels: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return what macro F1 is over: the two decisions where whole frames are labelled, else the three classes."""
    whole_frames = all(frame_of(key, item) is None for item in both)
    return DECISIONS if whole_frames and not any(CORAL in said for said in labels) else CLASSES


def _clusters(
    one: Sequence[Item], other: Sequence[Item], tables: Sequence[TextTable], key: Key, asked: str | None
) -> tuple[list[str], str]:
    """Return the cluster of each item, and what it is: a column, the frame, or the item itself."""
    found = first_with(asked, GROUPS, tables)
    if found is not None:
        place, column = found
        items = (one, other)[place]
        require_no_problem([without_value(items, column, tables[place].where)])
        return [item.row.cells[column] for item in items], column
    frames = [frame_of(key, item.key) for item in one]
    known = [frame for frame in frames if frame is not None]
    if len(known) == len(frames):
        return known, FRAME
    return [key_text(item.key) for item in one], ITEM


def _interval(interval: Interval, scale: Any) -> dict[str, Any]:
    if not interval.available:
        return {"low": NOT_AVAILABLE, "high": NOT_AVAILABLE, "clusters": interval.clusters, "reason": interval.reason}
    return {"low": scale(interval.low), "high": scale(interval.high), "clusters": interval.clusters}


def _look(look: SecondLook) -> dict[str, Any]:
    frame = {"frame_disagreements": look.frame_disagreements, "frame_items": look.frame_items} if look.frame else {}
    return {"item": key_text(look.key), "labels": [look.first, look.second], **frame}


def _text(report: Mapping[str, Any], shown: int) -> list[str]:
    kappa, within = report["kappa"], report["kappa_interval"]
    kappa_text = kappa if isinstance(kappa, str) else f"{kappa:.3f}"
    kappa_within = NOT_AVAILABLE if within["low"] == NOT_AVAILABLE else f"{within['low']:.3f} to {within['high']:.3f}"
    rows = [
        ["agreement", percent_text(report["agreement"]), interval_text(report["agreement_interval"])],
        ["Cohen's kappa", kappa_text, kappa_within],
        [
            "macro F1, one against the other",
            percent_text(report["macro_f1"]),
            interval_text(report["macro_f1_interval"]),
        ],
    ]
    named = zip(report["tables"], report["only"], strict=True)
    order = report["confusion"]["order"]
    a, b = report["tables"]
    same = report["agreeing"]
    return [
        f"{report['n']:,} items in both, matched by {', '.join(report['key'])}; {same:,} with the same label",
        *(_only(where, only) for where, only in named),
        "",
        *aligned(("", "", "95 % interval"), rows),
        "",
        f"Intervals  {_about(report)}",
        "",
        f"Rows {a}, columns {b}",
        *aligned(("", *order), confusion_rows(order, report["confusion"]["counts"])),
        "",
        *_worth_a_look(report["second_look"], shown),
    ]


def _only(where: str, only: Sequence[str]) -> str:
    if not only:
        return f"only in {where}: none"
    more = f" ... and {len(only) - _SHOWN} more" if len(only) > _SHOWN else ""
    return f"only in {where}: {len(only):,}, counted neither way: {', '.join(only[:_SHOWN])}{more}"


def _about(report: Mapping[str, Any]) -> str:
    interval = report["agreement_interval"]
    reasons = sorted(
        {report[f"{name}_interval"].get("reason", "") for name in ("agreement", "kappa", "macro_f1")} - {""}
    )
    over = f"cluster bootstrap over {interval['clusters']} {report['intervals_over']}s"
    if report["intervals_over"] in {FRAME, ITEM}:
        over += "; those of one site are not independent: --group COL names a column of sites"
    return f"{over}; n/a: {'; '.join(reasons)}" if reasons else over


def _worth_a_look(looks: Sequence[Mapping[str, Any]], shown: int) -> list[str]:
    if not looks:
        return ["Nothing to look at again: they agree on every item"]
    some = f"the first {shown} of {len(looks):,}" if len(looks) > shown else f"all {len(looks):,}"
    rows = [
        [
            look["item"],
            " / ".join(look["labels"]),
            f"{look['frame_disagreements']} of {look['frame_items']}" if "frame_items" in look else "",
        ]
        for look in looks[:shown]
    ]
    head = ("item", "labels", "differ on the frame" if any(row[2] for row in rows) else "")
    return [
        f"Items to look at again ({some}): first where one label is Deploy, then on frames with most differences",
        *aligned(head, rows),
    ]
