"""What changed between two runs: parameters, data, code."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from reseed.history.repository import Repository, Revision
from reseed.history.run_state import RunState

# Results and their parameters, told of elsewhere in the comparison.
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


def changed_data(first: RunState, second: RunState) -> dict[str, Any]:
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


def _sources(first: RunState, second: RunState) -> list[dict[str, Any]]:
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
