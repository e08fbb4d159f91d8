"""Scores for a terminal: of a run, of tables handed in, of annotators and of cross-validation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reseed.artifacts.patches import TEST, VAL
from reseed.artifacts.raw import SYNTHETIC_NOTICE, label_notices
from reseed.compare.tables import BESIDE
from reseed.reports.page import confusion_rows, interval_text, percent_text, render
from reseed.score.matching import GROUPS
from reseed.score.registry import (
    BY_FULL_KEY,
    ENTRIES,
    FRAME,
    HEADLINE,
    NAMES,
    NOT_AVAILABLE,
    PATCH,
    SCORES,
    TASKS,
    Task,
    class_key,
)


def labels_of(details: Mapping[str, Any]) -> list[str]:
    """Return what the scored splits say of their labels: `annotated`, `weak`, `machine`, or both of the last."""
    return [str(details[PATCH][split].get("labels")) for split in (VAL, TEST)]


def scores_page(
    metrics: Mapping[str, Any], details: Mapping[str, Any], figures: Path, details_file: Path, stale: Sequence[str] = ()
) -> str:
    """Return the page.

    Args:
        metrics: Content of `metrics/metrics.json`.
        details: Content of `metrics/details.json`.
        figures: Folder of the pictures.
        details_file: Where the details lie.
        stale: Why these are not the scores of the parameters and sources as they are now.
    """
    synthetic = bool(metrics["data"]["synthetic"])
    return render(
        "scores.txt.j2",
        "text",
        marks=[SYNTHETIC_NOTICE] * synthetic + label_notices(*labels_of(details)),
        stale=stale,
        tasks=[_task(task, metrics[task], details) for task in TASKS],
        rule=details["rules"]["used"],
        alpha=metrics[FRAME]["alpha"],
        ask=details["ask"] if isinstance(details.get("ask"), dict) else None,
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
        page=str(figures.with_name("report.html")),
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


def score_page(report: Mapping[str, Any]) -> str:
    """Return the report of `reseed.compare.tables.score_tables` as text."""
    task, intervals = report["task"], report["intervals"]
    return render(
        "score.txt.j2",
        "text",
        **{
            **report,
            "task_scores": report[task],
            "plural": "patches" if task == PATCH else "frames",
            "rows": [
                [entry.label, percent_text(report[task][key]), interval_text(intervals.get(key))]
                for key, entry in SCORES[task].items()
            ],
            "group_columns": GROUPS,
            "beside": BESIDE,
            "clusters": max((interval["clusters"] for interval in intervals.values()), default=0),
            "reasons": _reasons(intervals.values()),
            "confusion_rows": confusion_rows(report["confusion"]["order"], report["confusion"]["counts"]),
        },
    )


def agree_page(report: Mapping[str, Any], shown: int) -> str:
    """Return the report of `reseed.compare.tables.agree_tables` as text, with the first `shown` disagreements."""
    kappa, within = report["kappa"], report["kappa_interval"]
    known = within["low"] != NOT_AVAILABLE
    looks = report["second_look"]
    return render(
        "agree.txt.j2",
        "text",
        **{
            **report,
            "rows": [
                ["agreement", percent_text(report["agreement"]), interval_text(report["agreement_interval"])],
                [
                    "Cohen's kappa",
                    kappa if isinstance(kappa, str) else f"{kappa:.3f}",
                    f"{within['low']:.3f} to {within['high']:.3f}" if known else NOT_AVAILABLE,
                ],
                [
                    "macro F1, one against the other",
                    percent_text(report["macro_f1"]),
                    interval_text(report["macro_f1_interval"]),
                ],
            ],
            "reasons": _reasons(report[f"{name}_interval"] for name in ("agreement", "kappa", "macro_f1")),
            "confusion_rows": confusion_rows(report["confusion"]["order"], report["confusion"]["counts"]),
            "shown": shown,
            "by_frame": any("frame_items" in look for look in looks[:shown]),
            "look_rows": [
                [
                    look["item"],
                    " / ".join(look["labels"]),
                    f"{look['frame_disagreements']} of {look['frame_items']}" if "frame_items" in look else "",
                ]
                for look in looks[:shown]
            ],
        },
    )


def crossval_page(report: Mapping[str, Any]) -> str:
    """Return the report of `reseed.compare.crossval.crossval_report` as text."""
    shown = [BY_FULL_KEY[key] for key in (f"{PATCH}.{HEADLINE}", "patch.accuracy", "patch.deploy_f1", "frame.accuracy")]
    folds = sorted(report["folds"], key=lambda fold: _worst_first(fold[f"{PATCH}_{HEADLINE}"]))
    return render(
        "crossval.txt.j2",
        "text",
        **{
            **report,
            "headers": [entry.label if entry.task != FRAME else entry.full_label for entry in shown],
            "rows": [
                [
                    fold["group"],
                    f"{fold['n_patches']:,}",
                    *(percent_text(fold[f"{entry.task}_{entry.key}"]) for entry in shown),
                ]
                for fold in folds
            ],
            "pooled": [
                [
                    entry.full_label,
                    percent_text(report[entry.task][entry.key]),
                    interval_text(report[entry.task]["intervals"][entry.key]),
                ]
                for entry in ENTRIES
            ],
            "over": report["spread"][f"{PATCH}_{HEADLINE}"],
            "spreads": {f"{task} macro F1": trainings_text(report, task) for task in TASKS if report[task]["n"]},
            "reason": report[PATCH]["intervals"][HEADLINE].get("reason", ""),
        },
    )


def _worst_first(value: float | str) -> float:
    return 101.0 if isinstance(value, str) else value


def _reasons(intervals: Any) -> list[str]:
    return sorted({interval.get("reason", "") for interval in intervals} - {""})
