"""The scores of a run in a terminal: what `templates/scores.txt.j2` shows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reseed.artifacts.raw import SYNTHETIC_NOTICE, label_notices
from reseed.artifacts.splits import TEST, VAL
from reseed.reports.page import render
from reseed.score.percent import NOT_AVAILABLE, class_key
from reseed.score.registry import FRAME, HEADLINE, NAMES, PATCH, SCORES, TASKS, Task


def labels_of(details: Mapping[str, Any]) -> list[str]:
    """Return what the scored splits say of their labels: `annotated`, `weak`, `machine`, or both of the last."""
    return [str(details[PATCH][split].get("labels")) for split in (VAL, TEST)]


def scores_page(metrics: Mapping[str, Any], details: Mapping[str, Any], figures: Path, details_file: Path) -> str:
    """Return the page.

    Args:
        metrics: Content of `metrics/metrics.json`.
        details: Content of `metrics/details.json`.
        figures: Folder of the pictures.
        details_file: Where the details lie.
    """
    synthetic = bool(metrics["data"]["synthetic"])
    return render(
        "scores.txt.j2",
        "text",
        marks=[SYNTHETIC_NOTICE] * synthetic + label_notices(*labels_of(details)),
        tasks=[_task(task, metrics[task], details) for task in TASKS],
        rule=details["rules"]["used"],
        alpha=metrics[FRAME]["alpha"],
        verdicts=list(details["baselines"]["verdict"].values()),
        validation=[
            {
                "label": SCORES[task][HEADLINE].full_label,
                "value": details[task][VAL].get(HEADLINE, NOT_AVAILABLE),
            }
            for task in TASKS
        ],
        sources=details["data"]["sources"],
        frames=details["data"]["frames"],
        leakage=(details.get("leakage") or {}).get("in_words", ""),
        figures=str(figures),
        details=str(details_file),
    )


def _task(task: Task, scores: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, Any]:
    headline, *others = ({"label": entry.label, "value": scores[key]} for key, entry in SCORES[task].items())
    test, ceiling, best = details[task][TEST], details["human_ceiling"], details["baselines"]["best"][task]
    classes = test["classes"] if scores["n"] else {}
    supports = {name: classes[class_key(name)]["support"] for name in NAMES[task] if class_key(name) in classes}
    return {
        "task": task,
        "plural": "patches" if task == PATCH else "frames",
        "n": scores["n"],
        "headline": headline,
        "trainings": trainings_text(details, task),
        "interval": _interval(test["intervals"]) if scores["n"] else "",
        "absent": [name for name, n in supports.items() if n == 0],
        "present": [name for name, n in supports.items() if n > 0],
        "best": best if isinstance(best, dict) else None,
        "people": ceiling[task] if isinstance(ceiling, dict) else [],
        "others": others,
    }


def trainings_text(details: Mapping[str, Any], task: Task) -> str:
    """Return mean and standard deviation of the headline over the trainings: `82.8 ± 1.3 (5 trainings)`."""
    found = details.get("trainings") or {}
    spread = found.get(task) or {}
    headline = spread.get(HEADLINE) if isinstance(spread, dict) else None
    if not isinstance(headline, dict):
        return ""
    if headline["sd"] == NOT_AVAILABLE:
        return "1 training: how much of it is luck is not known"
    return f"{headline['mean']:.1f} ± {headline['sd']:.1f} ({found['n']} trainings)"


def _interval(intervals: Mapping[str, Any] | str) -> str:
    if isinstance(intervals, str):
        return f"95 % interval {intervals}"
    found = intervals[HEADLINE]
    if "reason" in found:
        return f"95 % interval {NOT_AVAILABLE}: {found['reason']}"
    return f"95 % interval {found['low']:.2f} to {found['high']:.2f} ({found['clusters']} groups)"
