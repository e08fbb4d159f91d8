"""A comparison for people: what `templates/comparison.md.j2` shows, in a terminal or in a pull request."""

from collections.abc import Mapping
from typing import Any

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.compare.comparison import DIFFERENCES
from reseed.reports.page import Form, p_text, render
from reseed.score.bootstrap import MIN_CLUSTERS
from reseed.score.percent import NOT_AVAILABLE
from reseed.score.registry import BY_FULL_KEY


def comparison_page(report: Mapping[str, Any], form: Form) -> str:
    """Return the report as text; Markdown carries the synthetic mark itself, `show` puts it around text."""
    rows = [
        row | {"label": BY_FULL_KEY[row["score"]].full_label, "widest": max(row[s].get("sd", 0.0) for s in ("a", "b"))}
        for row in report["scores"]
    ]
    clusters = max((row.get("clusters", 0) for row in rows), default=0)
    data = report["data"]
    return render(
        "comparison.md.j2",
        form,
        **{
            **report,
            "synthetic_notice": SYNTHETIC_NOTICE,
            "tested": [row for row in rows if "p" in row and row["difference"] != NOT_AVAILABLE],
            "one_training": " and ".join(name.upper() for name, n in report["trainings"].items() if n < 2),
            "clusters": clusters if clusters >= MIN_CLUSTERS else 0,
            "score_rows": [_score_row(row) for row in rows],
            "several": any("sd" in row[side] for row in rows for side in ("a", "b")),
            "flip_rows": [_flip_row(flip, len(report["a"]), len(report["b"])) for flip in report["flips"]],
            "differences": {
                DIFFERENCES[name].format(a="A", b="B"): [_item(item) for item in items]
                for name, items in report["test_set_differences"].items()
                if items
            },
            "param_rows": [[row["key"], row["old"], row["new"]] for row in report["params"] if not row["same_on_both"]],
            "within": [f"{row['key']} ({row['old']})" for row in report["params"] if row["same_on_both"]],
            "sources": data["sources"],
            "changed": {
                name.replace("_", " "): [_item(item) for item in items]
                for name, items in data.items()
                if items and name != "sources"
            },
        },
    )


def _score_row(row: Mapping[str, Any]) -> list[str]:
    difference, low = row["difference"], row.get("low")
    interval = f"{low:+.2f} to {row['high']:+.2f}" if isinstance(low, float) else low or ""
    return [
        row["label"],
        _mean(row["a"]),
        _mean(row["b"]),
        difference if isinstance(difference, str) else f"{difference:+.2f}",
        interval,
        p_text(row["p"]) if "p" in row else "",
    ]


def _mean(side: Mapping[str, Any]) -> str:
    if isinstance(side["mean"], str):
        return side["mean"]
    return f"{side['mean']:.2f}" + (f" +- {side['sd']:.2f}" if "sd" in side else "")


def _flip_row(flip: Mapping[str, Any], a: int, b: int) -> list[str]:
    return [flip["frame_id"], _decided(flip["first"], a), _decided(flip["second"], b), flip["gold"] or "(no label)"]


def _decided(deploys: int, runs: int) -> str:
    if runs == 1:
        return "Deploy" if deploys else "No-Deploy"
    return f"Deploy in {deploys} of {runs}"


def _item(item: Any) -> str:
    """Return one thing that differs, as a line of a list."""
    if isinstance(item, str):
        return item
    for name, old, new in (("item", "a", "b"), ("frame", "old", "new")):
        if {name, old, new} <= item.keys():
            return f"{item[name]}: {item[old] or '(none)'} -> {item[new] or '(none)'}"
    return f"{item['frame']}: " + ", ".join(f"{n} {what}" for what, n in item.items() if what != "frame" and n)
