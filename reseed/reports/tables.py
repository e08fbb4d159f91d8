"""Reports of `score`, `agree` and `crossval` in a terminal: what their templates show."""

from collections.abc import Mapping
from typing import Any

from reseed.compare.tables import BESIDE
from reseed.reports.page import confusion_rows, interval_text, percent_text, render
from reseed.score.matching import GROUPS
from reseed.score.percent import NOT_AVAILABLE
from reseed.score.registry import BY_FULL_KEY, ENTRIES, FRAME, HEADLINE, PATCH, SCORES


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
            "reason": report[PATCH]["intervals"][HEADLINE].get("reason", ""),
        },
    )


def _worst_first(value: float | str) -> float:
    return 101.0 if isinstance(value, str) else value


def _reasons(intervals: Any) -> list[str]:
    return sorted({interval.get("reason", "") for interval in intervals} - {""})
