"""Is B better than A? Two revisions, or several runs on each side, as one report."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from reseed.base.errors import ReseedError
from reseed.compare.changes import changed_code, changed_data, changed_params
from reseed.history.repository import Repository
from reseed.history.run_state import RunState
from reseed.score.bootstrap import Difference
from reseed.score.paired import (
    TESTED,
    Answers,
    SetDifferences,
    decisions_test,
    flips,
    paired,
    run_counts,
    set_differences,
)
from reseed.score.percent import NOT_AVAILABLE, percent
from reseed.score.scoring import FRAME, PATCH, SCORES, Task

TASKS: Final[tuple[Task, ...]] = (PATCH, FRAME)
_P_DECIMALS: Final = 6
_SHOWN: Final = 10


def compare(
    repository: Repository, first: Sequence[RunState], second: Sequence[RunState], resamples: int, seed: int
) -> dict[str, Any]:
    """Compare two sides.

    Args:
        repository: Of both.
        first: One or several runs.
        second: Likewise; a difference is second minus first.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Returns:
        The report, ready for JSON: scores in percent, differences in percent points.

    Raises:
        ReseedError: If the runs of one side do not share their test set, so that no mean over them means anything.
    """
    for name, side in (("first", first), ("second", second)):
        _require_one_test_set(name, side)
    a, b = ([run.answers for run in side] for side in (first, second))
    differences = set_differences(a[0], b[0])
    same = differences.none
    tested = paired(a, b, resamples, seed) if same else dict.fromkeys(TASKS, None)
    return {
        "synthetic": any(run.synthetic for run in (*first, *second)),
        "a": [_named(run) for run in first],
        "b": [_named(run) for run in second],
        "same_test_set": same,
        "test_set": _test_set(a[0]),
        "test_set_differences": {} if same else _listed(differences),
        "units": "scores in percent, differences (b minus a) in percent points",
        "scores": [row for task in TASKS for row in _score_rows(task, a, b, tested[task], same=same)],
        "mcnemar": _mcnemar(a, b, same=same),
        "flips": [asdict(flip) for flip in flips(a, b)] if same else [],
        "params": changed_params([run.params for run in first], [run.params for run in second]),
        "data": changed_data(first[0], second[0]),
        "code": changed_code(repository, first[0].revision, second[0].revision),
    }


def _require_one_test_set(name: str, side: Sequence[RunState]) -> None:
    for run in side[1:]:
        found = _listed(set_differences(side[0].answers, run.answers))
        what = [
            f"  {key.replace('_', ' ')} ({len(items)}): {', '.join(map(_text, items[:_SHOWN]))}"
            for key, items in found.items()
            if items
        ]
        if what:
            raise ReseedError(
                f"the runs of the {name} side have different test sets, so a mean over them means nothing; a is "
                f"{side[0].revision}, b is {run.revision}:\n" + "\n".join(what)
            )


def _text(item: Any) -> str:
    return item if isinstance(item, str) else " ".join(map(str, item.values()))


def _named(run: RunState) -> dict[str, str]:
    return {"name": run.revision.name, "commit": run.revision.commit}


def _test_set(run: Answers) -> dict[str, int]:
    return {
        "patches": len(run.patches),
        "frames": len(run.frames),
        "labelled_frames": int((run.frames["gold"] != "").sum()),
        "groups": int(run.frames["group"].nunique()),
    }


def _listed(found: SetDifferences) -> dict[str, list[Any]]:
    return {
        name: [item if isinstance(item, str) else dict(zip(("item", "a", "b"), item, strict=True)) for item in items]
        for name, items in (
            ("test_frames_of_a_only", found.frames_only_first),
            ("test_frames_of_b_only", found.frames_only_second),
            ("frames_with_another_image", found.images),
            ("frames_with_another_reference", found.frame_labels),
            ("labelled_patches_of_a_only", found.patches_only_first),
            ("labelled_patches_of_b_only", found.patches_only_second),
            ("patches_with_another_reference", found.patch_labels),
        )
    }


def _score_rows(
    task: Task, a: Sequence[Answers], b: Sequence[Answers], tested: Difference | None, *, same: bool
) -> list[dict[str, Any]]:
    counts = [[run_counts(run, task) for run in side] for side in (a, b)]
    rows = []
    for name, score in SCORES[task].items():
        sides = [[float(score(matrix)) for matrix in side if matrix.any()] for side in counts]
        row: dict[str, Any] = {"score": f"{task}.{name}", "a": _spread(sides[0]), "b": _spread(sides[1])}
        if not same or not sides[0] or not sides[1]:
            row["difference"] = NOT_AVAILABLE
        else:
            row["difference"] = percent(float(np.mean(sides[1])) - float(np.mean(sides[0])))
        rows.append(row | (_tested(tested) if name == TESTED[task] else {}))
    return rows


def _spread(values: Sequence[float]) -> dict[str, Any]:
    """Return the mean over runs and, for several, their standard deviation (n - 1) and each value."""
    if not values:
        return {"mean": NOT_AVAILABLE, "runs": 0}
    spread: dict[str, Any] = {"mean": percent(float(np.mean(values))), "runs": len(values)}
    if len(values) > 1:
        spread["sd"] = percent(float(np.std(values, ddof=1)))
        spread["values"] = [percent(value) for value in values]
    return spread


def _tested(tested: Difference | None) -> dict[str, Any]:
    if tested is None:
        return {"low": NOT_AVAILABLE, "high": NOT_AVAILABLE, "p": NOT_AVAILABLE, "reason": "no paired test"}
    interval = tested.interval
    if not interval.available:
        return {"low": NOT_AVAILABLE, "high": NOT_AVAILABLE, "p": NOT_AVAILABLE, "reason": interval.reason}
    return {
        "low": percent(interval.low),
        "high": percent(interval.high),
        "p": round(tested.p, _P_DECIMALS),
        "clusters": interval.clusters,
    }


def _mcnemar(a: Sequence[Answers], b: Sequence[Answers], *, same: bool) -> Mapping[str, Any]:
    if not same:
        return {"p": NOT_AVAILABLE, "reason": "the test sets differ"}
    if len(a) > 1 or len(b) > 1:
        return {"p": NOT_AVAILABLE, "reason": "it compares two runs; here a side has several"}
    found = decisions_test(a[0], b[0])
    if found is None:
        return {"p": NOT_AVAILABLE, "reason": "no test frame has a reference decision"}
    return {
        "both_right": found.both_right,
        "only_a_right": found.only_first,
        "only_b_right": found.only_second,
        "neither_right": found.neither,
        "p": round(found.p, _P_DECIMALS),
    }
