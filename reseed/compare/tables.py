"""Two tables of anybody's making: predictions scored against references, or one annotator beside another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from reseed.artifacts.patches import SPLITS_TABLE
from reseed.base.classes import CLASSES, CORAL, DECISIONS, match_class
from reseed.base.csv import TextTable
from reseed.base.errors import TableError
from reseed.history.recorded import speaks_of_rendered
from reseed.score.baselines import SecondLook, agree, second_looks
from reseed.score.bootstrap import Interval
from reseed.score.matching import (
    ANNOTATED,
    GOLD,
    GROUPS,
    PREDICTED,
    Item,
    Items,
    Key,
    choose_column,
    choose_key,
    first_with,
    frame_of,
    in_order,
    keep,
    key_text,
    read_items,
    require_no_problem,
    sorting,
    unmatched,
    without_value,
)
from reseed.score.registry import (
    FRAME,
    NAMES,
    NOT_AVAILABLE,
    PATCH,
    Task,
    as_intervals,
    as_metrics,
    percent,
    score_task,
)

ITEM: Final = "item"
# Before the path of a splits.csv that lies beside a table.
BESIDE: Final = "group of "
_FRAME_ID: Final = "frame_id"
# What a key of patches has and a key of whole frames has not.
_PLACES: Final = ("patch_id", "row", "col", "column", "x0", "y0")
_KAPPA_DECIMALS: Final = 6


@dataclass(frozen=True)
class Columns:
    """The columns that were named, None for those to be found.

    Args:
        key: What identifies an item, in both tables.
        first: The answer in the first table.
        second: The answer in the second table.
        group: What is drawn together for the intervals.
    """

    key: Sequence[str] | None = None
    first: str | None = None
    second: str | None = None
    group: str | None = None


def score_tables(
    predictions: TextTable,
    gold: TextTable,
    columns: Columns,
    task: Task | None,
    wanted: Sequence[tuple[str, str]],
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    """Score a table of predictions against a table of references.

    Args:
        predictions: Answers.
        gold: References; rows without one are left out and counted.
        columns: Named columns.
        task: `patch` or `frame`; None to tell from the tables.
        wanted: Column and value: only such rows, in the tables that have the column.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Returns:
        The report, ready for JSON; scores in percent.

    Raises:
        TableError: If the tables do not fit, with the first offenders of each kind.
    """
    key = choose_key(predictions, gold, columns.key)
    predictions, gold = keep(predictions, wanted), keep(gold, wanted)
    answer = choose_column(predictions, columns.first, PREDICTED, "answers", "--predicted")
    reference = choose_column(gold, columns.second, GOLD, "reference labels", "--gold")
    task, why = _task(task, key, ((predictions, answer), (gold, reference)))
    names = list(NAMES[task])
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
    clusters, group = _score_clusters(pairs, (predictions, gold), columns.group)
    result = score_task(
        task,
        np.asarray([names.index(labelled.label) for _, labelled in pairs], dtype=np.int64),
        np.asarray([names.index(answered.label) for answered, _ in pairs], dtype=np.int64),
        clusters,
        resamples,
        seed,
    )
    return {
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


def _score_clusters(
    pairs: Sequence[tuple[Item, Item]], tables: Sequence[TextTable], asked: str | None
) -> tuple[list[str] | None, str | None]:
    found = _named_clusters([[pair[place] for pair in pairs] for place in (1, 0)], tables[::-1], asked)
    return found or _groups_beside(pairs, tables) or (None, None)


def _named_clusters(
    sides: Sequence[Sequence[Item]], tables: Sequence[TextTable], asked: str | None
) -> tuple[list[str], str] | None:
    """Return the cluster of each item by a column of either table, and the column; None if neither has one."""
    found = first_with(asked, GROUPS, tables)
    if found is None:
        return None
    place, column = found
    require_no_problem([without_value(sides[place], column, tables[place].where)])
    return [item.row.cells[column] for item in sides[place]], column


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
                    return [group_of[key] for key in keys], f"{BESIDE}{path}"
    return None


def _frame_of(pair: tuple[Item, Item]) -> str:
    """Return the frame of an item as the pipeline names it: in a column of its own, or before the # of a patch."""
    named = next((item.row.cells[_FRAME_ID] for item in pair if item.row.cells.get(_FRAME_ID)), None)
    return named or pair[0].key[0].rsplit("#", 1)[0]


def agree_tables(tables: tuple[TextTable, TextTable], columns: Columns, resamples: int, seed: int) -> dict[str, Any]:
    """Compare the labels of two annotators.

    Args:
        tables: One of each annotator.
        columns: Named columns; `first` is the label in both tables.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Returns:
        The report, ready for JSON; agreement and macro F1 in percent.

    Raises:
        TableError: If the tables do not fit or have no item in common.
    """
    key = choose_key(*tables, columns.key)
    first, second = (
        read_items(
            table,
            key,
            choose_column(table, columns.first, ANNOTATED, "labels", "--label"),
            CLASSES,
            may_be_empty=False,
        )
        for table in tables
    )
    require_no_problem([*first.problems, *second.problems])
    one, other = first.by_key, second.by_key
    both = in_order(one.keys() & other.keys())
    if not both:
        raise TableError(
            f"{first.where} and {second.where}: no item in both by {', '.join(key)}; first: "
            f"{key_text(in_order(one)[0])} and {key_text(in_order(other)[0])}; other columns can be named with --key"
        )
    labels = [[items[key].label for key in both] for items in (one, other)]
    clusters, over = _agree_clusters([[items[k] for k in both] for items in (one, other)], tables, key, columns.group)
    names = _names(key, both, labels)
    answers = np.asarray([[names.index(label) for label in mine] for mine in labels], dtype=np.int64)
    result = agree(answers[0], answers[1], clusters, len(names), resamples, seed)
    looks = second_looks(key, both, *labels)
    return {
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
            "order": list(names),
            "counts": result.confusion.tolist(),
        },
        "second_look": [_look(look) for look in looks],
    }


def _names(key: Key, both: Sequence[Key], labels: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return what macro F1 is over: the two decisions where whole frames are labelled, else the three classes."""
    whole_frames = all(frame_of(key, item) is None for item in both)
    return DECISIONS if whole_frames and not any(CORAL in mine for mine in labels) else CLASSES


def _agree_clusters(
    sides: Sequence[Sequence[Item]], tables: Sequence[TextTable], key: Key, asked: str | None
) -> tuple[list[str], str]:
    """Return the cluster of each item, and what it is: a column, the frame, or the item itself."""
    found = _named_clusters(sides, tables, asked)
    if found is not None:
        return found
    frames = [frame_of(key, item.key) for item in sides[0]]
    known = [frame for frame in frames if frame is not None]
    if len(known) == len(frames):
        return known, FRAME
    return [key_text(item.key) for item in sides[0]], ITEM


def _interval(interval: Interval, scale: Callable[[float], float]) -> dict[str, Any]:
    if not interval.available:
        return {"low": NOT_AVAILABLE, "high": NOT_AVAILABLE, "clusters": interval.clusters, "reason": interval.reason}
    return {"low": scale(interval.low), "high": scale(interval.high), "clusters": interval.clusters}


def _look(look: SecondLook) -> dict[str, Any]:
    frame: Mapping[str, int] = (
        {"frame_disagreements": look.frame_disagreements, "frame_items": look.frame_items} if look.frame else {}
    )
    return {"item": key_text(look.key), "labels": [look.first, look.second], **frame}
