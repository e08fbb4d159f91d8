"""Is B better than A? Two revisions, or several runs on each side, as one report."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import pandas as pd

from reseed.base.errors import ReseedError
from reseed.history.repository import Repository, Revision
from reseed.history.run import DETAILS, Run
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
from reseed.score.registry import FRAME, NOT_AVAILABLE, PATCH, SCORES, TASKS, Task, percent

# Results and their parameters, compared elsewhere.
_NOT_CODE: Final = ("params.yaml", "dvc.lock", "metrics/", "plots/")
# What shapes a result; the rest of the files (docs, tests) are named apart.
_SHAPING: Final = ("reseed/", "stages/", "dvc.yaml", "requirements.txt", "requirements.lock", ".dvc/")
_ABSENT: Final = "(absent)"


def changed_params(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the parameters whose values differ: between the sides, or among the runs of one.

    Args:
        first: `params.yaml` of each run of one side.
        second: Likewise.

    Returns:
        Dotted key, old and new value as text (several, where the runs of a side differ), sorted by key.
    """
    sides = [[flat(params) for params in side] for side in (first, second)]
    keys = sorted({key for side in sides for values in side for key in values})
    changes = []
    for key in keys:
        old, new = (_several(values.get(key, _ABSENT) for values in side) for side in sides)
        if old != new or len(old) > 1:
            changes.append({"key": key, "old": ", ".join(old), "new": ", ".join(new), "same_on_both": old == new})
    return changes


def flat(values: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """Return every leaf by its dotted key, as JSON text; a list is one leaf."""
    found: dict[str, str] = {}
    for key, value in values.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            found |= flat(value, f"{name}.")
        else:
            found[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return found


def changed_data(first: Run, second: Run) -> dict[str, Any]:
    """Return which sources, frames and labels differ, complete and sorted."""
    a, b = (dict(zip(run.catalog["frame_id"], run.catalog["sha256"], strict=True)) for run in (first, second))
    shared = sorted(a.keys() & b.keys())
    splits = [dict(zip(run.splits["frame_id"], run.splits["split"], strict=True)) for run in (first, second)]
    labels = [
        dict(zip(run.frame_labels["frame_id"], run.frame_labels["label"], strict=True)) for run in (first, second)
    ]
    return {
        "sources": _sources(first, second),
        "frames_added": sorted(b.keys() - a.keys()),
        "frames_removed": sorted(a.keys() - b.keys()),
        "frames_with_another_image": [name for name in shared if a[name] != b[name]],
        "frames_relabelled": _pairs(shared, labels[0], labels[1]),
        "frames_with_other_annotations": _annotations(first.annotations, second.annotations, shared),
        "frames_in_another_split": _pairs(shared, splits[0], splits[1]),
    }


def changed_code(repository: Repository, first: Revision, second: Revision) -> dict[str, Any]:
    """Return the files that differ in git: those that shape a result with their lines, and the names of the others."""
    # What lies around in the workspace and shapes nothing, such as results of `infer`, is no change.
    files = repository.changed_files(first, second, new_below=_SHAPING)
    others = [file for file in files if not file[0].startswith(_NOT_CODE)]
    return {
        "files": [
            {"path": path, "added": added, "removed": removed}
            for path, added, removed in others
            if path.startswith(_SHAPING)
        ],
        "other_files": [path for path, _, _ in others if not path.startswith(_SHAPING)],
    }


def _several(values: Iterable[str]) -> list[str]:
    return sorted(set(values))


def _sources(first: Run, second: Run) -> list[dict[str, Any]]:
    a, b = ({str(source["name"]): source["sha256"] for source in run.sources} for run in (first, second))
    return [
        {"name": name, "old": a.get(name, _ABSENT), "new": b.get(name, _ABSENT)}
        for name in sorted(a.keys() | b.keys())
        if a.get(name) != b.get(name)
    ]


def _pairs(names: Sequence[str], a: Mapping[str, str], b: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {"frame": name, "old": a.get(name, ""), "new": b.get(name, "")} for name in names if a.get(name) != b.get(name)
    ]


def _annotations(first: pd.DataFrame, second: pd.DataFrame, shared: Sequence[str]) -> list[dict[str, Any]]:
    """Return how many gold rectangles of each frame of both runs were added, removed or given another label."""
    place = ["frame_id", "x0", "y0", "x1", "y1"]
    both = first.merge(second, how="outer", on=place, suffixes=("_old", "_new"))
    both = both[both["frame_id"].isin(set(shared))]
    rows = pd.DataFrame(
        {
            "frame": both["frame_id"],
            "added": both["label_old"].isna(),
            "removed": both["label_new"].isna(),
            "relabelled": both["label_old"].notna()
            & both["label_new"].notna()
            & (both["label_old"] != both["label_new"]),
        }
    )
    counts = rows.groupby("frame", sort=True).sum()
    counts = counts[counts.any(axis=1)]
    return [
        {
            "frame": str(frame),
            "added": int(row["added"]),
            "removed": int(row["removed"]),
            "relabelled": int(row["relabelled"]),
        }
        for frame, row in counts.iterrows()
    ]


_P_DECIMALS: Final = 6
_SHOWN: Final = 10


def compare(
    repository: Repository, first: Sequence[Run], second: Sequence[Run], resamples: int, seed: int
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
    all_a, all_b = ([answers for run in side for answers in run.trainings] for side in (first, second))
    differences = set_differences(a[0], b[0])
    same: dict[Task, bool] = {PATCH: differences.none, FRAME: differences.same_frames}
    tested = paired(all_a, all_b, [task for task in TASKS if same[task]], resamples, seed)
    return {
        "synthetic": any(run.synthetic for run in (*first, *second)),
        "a": [_named(run) for run in first],
        "b": [_named(run) for run in second],
        "trainings": {"a": len(all_a), "b": len(all_b)},
        "same_test_set": differences.none,
        "same_frames": differences.same_frames,
        "test_set": _test_set(a[0]),
        "test_set_differences": {} if differences.none else _listed(differences),
        "notes": _notes(first, second),
        "units": "scores in percent, differences (b minus a) in percent points",
        "scores": [row for task in TASKS for row in _score_rows(task, all_a, all_b, tested[task], same=same[task])],
        "mcnemar": _mcnemar(a, b, same=same[FRAME]),
        "verdicts": {"a": beside_scores(first[0]), "b": beside_scores(second[0])},
        "flips": [asdict(flip) for flip in flips(a, b)] if same[FRAME] else [],
        "params": changed_params([run.params for run in first], [run.params for run in second]),
        "data": changed_data(first[0], second[0]),
        "code": changed_code(repository, first[0].revision, second[0].revision),
    }


def beside_scores(run: Run | None) -> dict[str, Any]:
    """Return what a run holds beside its scores: whether baselines are beaten, and what other annotators reach."""
    details = {} if run is None or not run.has(DETAILS) else run.details
    baselines, ceiling = details.get("baselines") or {}, details.get("human_ceiling")
    people = [
        {"task": task, "annotator": entry["annotator"], "n": entry["n"], "macro_f1": entry["human"]["macro_f1"]}
        for task in TASKS
        for entry in (ceiling.get(task, []) if isinstance(ceiling, dict) else [])
    ]
    return {"baselines": list((baselines.get("verdict") or {}).values()), "people": people}


def _notes(first: Sequence[Run], second: Sequence[Run]) -> list[str]:
    """Return what a reader of the parameters could take wrongly: patch sizes that cut the same patches."""
    sizes = sorted({str((run.params.get("extract") or {}).get("patch_size")) for run in (*first, *second)})
    counts = [dict(zip(*run.answers.frames[["frame_id", "n_patches"]].to_numpy().T, strict=True)) for run in
              (*first, *second)]  # fmt: skip
    if len(sizes) == 1 or any(mine != counts[0] for mine in counts):
        return []
    return [f"extract.patch_size {' and '.join(sizes)} give one grid: the same patches are cut from every test frame"]


def _require_one_test_set(name: str, side: Sequence[Run]) -> None:
    for run in side[1:]:
        found = _listed(set_differences(side[0].answers, run.answers))
        what = [
            f"  {DIFFERENCES[key].format(a='a', b='b')} ({len(items)}): {', '.join(map(_text, items[:_SHOWN]))}"
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


def _named(run: Run) -> dict[str, str]:
    return {"name": run.revision.name, "commit": run.revision.commit}


def _test_set(run: Answers) -> dict[str, int]:
    return {
        "patches": len(run.patches),
        "frames": len(run.frames),
        "labelled_frames": int((run.frames["gold"] != "").sum()),
        "groups": int(run.frames["group"].nunique()),
    }


# In which ways two test sets differ: key in the report and how people call it, in the order of SetDifferences.
DIFFERENCES: Final = {
    "test_frames_of_a_only": "test frames of {a} only",
    "test_frames_of_b_only": "test frames of {b} only",
    "frames_with_another_image": "frames with another image",
    "frames_with_another_reference": "frames with another reference",
    "labelled_patches_of_a_only": "labelled patches of {a} only",
    "labelled_patches_of_b_only": "labelled patches of {b} only",
    "patches_with_another_reference": "patches with another reference",
}


def _listed(found: SetDifferences) -> dict[str, list[Any]]:
    return {
        name: [item if isinstance(item, str) else dict(zip(("item", "a", "b"), item, strict=True)) for item in items]
        for name, items in zip(DIFFERENCES, vars(found).values(), strict=True)
    }


def _score_rows(
    task: Task, a: Sequence[Answers], b: Sequence[Answers], tested: Difference | None, *, same: bool
) -> list[dict[str, Any]]:
    counts = [[run_counts(run, task) for run in side] for side in (a, b)]
    rows = []
    for name, score in SCORES[task].items():
        sides = [[float(score(matrix)) for matrix in side if matrix.any()] for side in counts]
        row: dict[str, Any] = {"score": score.full_key, "a": _spread(sides[0]), "b": _spread(sides[1])}
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
        return {"p": NOT_AVAILABLE, "reason": "the test frames differ"}
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
