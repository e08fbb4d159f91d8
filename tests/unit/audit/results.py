"""The scores of a hand-written run, in the files that git keeps, so that a revision has a result to report."""

import json
from typing import Any

import numpy as np

from reseed.base.classes import CLASSES, DECISIONS
from reseed.base.files import write_text
from reseed.score.confusion import class_scores
from reseed.score.plots import BY_SITE
from reseed.score.registry import FRAME, PATCH, TaskScores, as_intervals, as_metrics, class_key, percent, score_task
from tests.unit.audit.history import History, Reef

SITES = ("Ugar", "Mer")


def site_of(group: str) -> str:
    """Groups g0 to g3 are of one site, the others of the other."""
    return SITES[group > "g3"]


def commit_result(history: History, run: Reef, **files: str) -> str:
    """Commit a run with its scores."""
    for path, text in result_files(run).items():
        write_text(history.root / path, text)
    return history.commit(run, **files)


def result_files(run: Reef) -> dict[str, str]:
    patch, frame = scored(run, PATCH), scored(run, FRAME)
    metrics = {
        PATCH: as_metrics(patch),
        FRAME: {"alpha": 0.5} | as_metrics(frame),
        "data": {"synthetic": run.synthetic},
    }
    rows = [site_row(run, site) for site in SITES]
    names = [column.name for column in BY_SITE]
    sites = "\n".join([",".join(names), *(",".join(str(row.get(name, "")) for name in names) for row in rows)])
    return {
        "metrics/metrics.json": json.dumps(metrics),
        "metrics/details.json": json.dumps({task.task: {"test": details(task)} for task in (patch, frame)}),
        "metrics/by_site.csv": sites + "\n",
    }


def scored(run: Reef, task: Any, site: str = "") -> TaskScores:
    items = run.gold if task == PATCH else run.frame_gold
    kept = [name for name in items if own_group(run, name) and (not site or site_of(own_group(run, name)) == site)]
    if task == PATCH:
        gold = np.array([run.gold[name] for name in kept])
        said = np.array([(run.gold[name] + (name in run.wrong)) % 3 for name in kept])
    else:
        gold = np.array([DECISIONS.index(run.frame_gold[name]) for name in kept])
        said = np.array([(value + (name in run.wrong_frames)) % 2 for name, value in zip(kept, gold, strict=True)])
    return score_task(task, gold, said, [own_group(run, name) for name in kept], 1000, 0)


def own_group(run: Reef, item: str) -> str:
    """The group of an item of the test split, empty for others."""
    group, split = run.frames[item.split("#", maxsplit=1)[0]]
    return group if split == "test" else ""


def details(task: TaskScores) -> dict[str, Any]:
    found = class_scores(task.confusion)
    names = CLASSES if task.task == PATCH else DECISIONS
    classes = {
        class_key(name): {
            "precision": percent(found.precision[index]),
            "recall": percent(found.recall[index]),
            "f1": percent(found.f1[index]),
            "support": int(found.support[index]),
        }
        for index, name in enumerate(names)
    }
    known = as_intervals(task.intervals)
    return {"n": task.n, "classes": classes, "intervals": known, "confusion": {"counts": task.confusion.tolist()}}


def site_row(run: Reef, site: str) -> dict[str, Any]:
    patch, frame = as_metrics(scored(run, PATCH, site)), as_metrics(scored(run, FRAME, site))
    counts = {"n_patches": patch["n"], "n_frames": frame["n"]}
    return {"split": "test", "site": site, "frame_accuracy": frame["accuracy"], **patch, **counts}
