"""The report of a pull request and the comparison of two results: what their templates and pictures show."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from matplotlib.figure import Figure

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.audit.trusted import DIFFERS, FAIL, NOT_CHECKED, PASS
from reseed.base.errors import ReseedError
from reseed.base.files import write_bytes
from reseed.compare.comparison import DIFFERENCES
from reseed.compare.pull_request import TREND, flipped_figure
from reseed.figures.baselines import Step, change_figure
from reseed.figures.style import marked, png_bytes
from reseed.history.run import Run
from reseed.pages.render import percent
from reseed.reports.page import MOST_ITEMS, Form, Markdown, code, p_text, points, render
from reseed.score.bootstrap import MIN_CLUSTERS, Interval
from reseed.score.decisions import RATIO
from reseed.score.registry import BY_FULL_KEY, FRAME, HEADLINE, NOT_AVAILABLE, PATCH


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


_MOST_FINDINGS: Final = 3
# The widest rows of the page: with these and no more it fits into a comment, however much changed.
_MOST_PARAMS: Final = 36
_SIGN: Final = {PASS: "✅ PASS", FAIL: "❌ FAIL", NOT_CHECKED: "⚪ NOT CHECKED", DIFFERS: "⚠️ DIFFERS"}
_VERDICTS: Final = (f"{PATCH}.{HEADLINE}", f"{FRAME}.accuracy")
_LEAKAGE: Final = "leakage"
_MOST_BARS: Final = 8
_MERMAID: Final = (
    '%%{init: {"xyChart": {"height": 240}, "themeVariables": {"xyChart": {"plotColorPalette": "#0072b2, #d55e00"}}}}%%'
)
_HAPPENED: Final = {-1: "now wrong", 1: "now right", 0: "no reference"}


def report_page(report: Mapping[str, Any], pictures: Mapping[str, str], stale: Sequence[str] = ()) -> str:
    """Return the page.

    Args:
        report: Of `reseed.compare.pull_request`.
        pictures: Path of each picture, from where the page lies, by what it shows.
        stale: Why the scores of head are not those of the parameters and sources as they are now.
    """
    scores = [row | {"label": BY_FULL_KEY[row["score"]].full_label} for row in report["scores"]]
    flips = report["flips"] and flip_rows(report)
    happened = [flip["better"] for flip in flips or []]
    return render(
        "report.md.j2",
        "markdown",
        **{
            **report,
            "scores": scores,
            "tested": [row for row in scores if row["score"] in _VERDICTS],
            "evidence": report["verdicts"]["head"],
            "one_training": report["trainings"] is None or min(report["trainings"].values()) < 2,
            "head_name": _named(report["head"]),
            "base_name": _named(report["base"]),
            "synthetic_notice": SYNTHETIC_NOTICE,
            "warnings": warnings(report),
            "stale": stale,
            "lacking_text": f"the single answers of {' and of '.join(report['lacking'])} are not stored here",
            "sites": [row | {"patches": site_patches(row, report)} for row in report["sites"]],
            "operating": operating_rows(report["operating_point"]),
            "flips": flips,
            "now": {"right": happened.count(1), "wrong": happened.count(-1), "unknown": happened.count(0)},
            "changed": changed_data(report),
            "audit": [_check(check) for check in report["checks"]],
            "most_params": _MOST_PARAMS,
            "charts": [] if report["alone"] else [Markdown(chart) for chart in _charts(report)],
            "pictures": {name: Markdown(path) for name, path in pictures.items()},
        },
    )


def _charts(report: Mapping[str, Any]) -> list[str]:
    """Return two small pictures as Mermaid, which a comment on GitHub draws: it shows no picture that is not hosted."""
    found = []
    rows = {"macro F1": report["macro_f1"], **{row["class"]: row for row in report["classes"]}}
    pairs = {name: [row[side]["f1"] for side in ("base", "head")] for name, row in rows.items()}
    if all(isinstance(value, float) for pair in pairs.values() for value in pair):
        base, head = zip(*pairs.values(), strict=True)
        found.append(_chart("F1 of test patches: bars head, line base", list(pairs), [("bar", head), ("line", base)]))
    trend = [row for row in report["trend"] if isinstance(row[TREND[0]], float)][-_MOST_BARS:]
    if len(trend) > 1:
        values = [row[TREND[0]] for row in trend]
        found.append(_chart("Patch macro F1 of the last commits", [row["commit"] for row in trend], [("bar", values)]))
    return found


def _chart(title: str, names: Sequence[str], lines: Sequence[tuple[str, Sequence[float]]]) -> str:
    axis = ", ".join(f'"{name}"' for name in names)
    drawn = [f"  {kind} [{', '.join(f'{value:.1f}' for value in values)}]" for kind, values in lines]
    axes = [f"  x-axis [{axis}]", '  y-axis "percent" 0 --> 100']
    return "\n".join([_MERMAID, "xychart-beta", f'  title "{title}"', *axes, *drawn])


def _named(revision: Mapping[str, str]) -> Markdown:
    commit, name = revision["commit"], revision["name"]
    if not commit:
        return Markdown("the workspace")
    return code(commit[:7]) if commit.startswith(name) else Markdown(f"{code(name)} ({code(commit[:7])})")


def warnings(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the audit of both sides found, the worst in bold."""
    found = [
        _warning("The result of base is not that of its code, parameters and data", check, check["reason"])
        | {"after": "Scores may differ by more than what changed."}
        for check in report["base_checks"]
        if check["status"] == FAIL and not report["alone"]
    ]
    for check in report["checks"]:
        if check["check"] == _LEAKAGE and check["status"] == FAIL:
            found.append(_warning("The split leaks", None, check["reason"]))
        elif check["check"] == _LEAKAGE:
            near = [note for note in check["notes"] if "neighbours" in note]
            found += [_warning("The split may leak", None, note) | {"certain": False} for note in near]
        elif check["status"] == FAIL:
            found.append(_warning("The audit fails", check, check["reason"]))
    return found


def _warning(what: str, check: Mapping[str, Any] | None, reason: str) -> dict[str, Any]:
    return {"what": what, "certain": True, "check": check["check"] if check else "", "reason": reason, "after": ""}


def site_patches(row: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """Return how many labelled patches a site has, on both sides where that differs."""
    n = [side["n_patches"] for side in (row["base"], row["head"])]
    base, head = (NOT_AVAILABLE if value == NOT_AVAILABLE else f"{value:,.0f}" for value in n)
    return head if report["alone"] or base == head else f"{base} → {head}"


def operating_rows(sides: Mapping[str, Mapping[str, Any] | None]) -> list[dict[str, str]]:
    """Return how each side decides frames and what comes of it, a row for each thing."""

    def row(name: str, show: Any) -> dict[str, str]:
        return {"name": name} | {key: NOT_AVAILABLE if side is None else show(side) for key, side in sides.items()}

    entries = [BY_FULL_KEY[f"{FRAME}.{key}"] for key in ("deploy_precision", "deploy_recall")]
    counts = {"decided Deploy": "deployed", "wrongly Deploy": "false_deploy", "missed Deploy": "missed_deploy"}
    return [
        row("decision rule", _rule),
        row("frames", lambda side: f"{side['n']:,}"),
        *(row(entry.label, lambda side, key=entry.key: percent(side[key])) for entry in entries),
        *(row(name, lambda side, key=key: _count(side.get(key))) for name, key in counts.items()),
    ]


def _count(value: int | None) -> str:
    return NOT_AVAILABLE if value is None else f"{value:,}"


def _rule(side: Mapping[str, Any]) -> str:
    if side["rule"] != RATIO:
        return f"{side['rule']} rule"
    best = side["best_on_validation"]
    how = "best on validation" if side["auto"] else "set by hand"
    if not side["auto"] and isinstance(best, float) and best != side["alpha"]:
        how += f"; best on validation: {best:g}"
    return f"alpha {side['alpha']:g}, {how}"


def flip_rows(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the frames that base and head decide differently, those now wrong first."""
    flips = [
        flip | {"base": _decision(flip["first"]), "head": _decision(flip["second"]), "better": _better(flip)}
        for flip in report["flips"]
    ]
    return sorted(flips, key=lambda flip: (flip["better"], flip["frame_id"]))


def _decision(deploys: int) -> str:
    return "Deploy" if deploys else "No-Deploy"


def _better(flip: Mapping[str, Any]) -> int:
    """Return 1 if head decides rightly, -1 if base did, 0 without a reference."""
    if not flip["gold"]:
        return 0
    return 1 if _decision(flip["second"]) == flip["gold"] else -1


def changed_data(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what changed in the data, a row for each source, table or kind of change."""
    empty: dict[str, Any] = {"name": "", "sha256": (), "path": "", "n": 0, "first": ""}
    if report["data"] is None:
        return [empty | {"path": path} for path in report["inputs"]]
    data = report["data"]
    lines = [
        empty | {"name": row["name"], "sha256": (row["old"][:12], row["new"][:12])} for row in data.get("sources", [])
    ]
    for name, items in data.items():
        if items and name != "sources":
            first = items[0] if isinstance(items[0], str) else items[0]["frame"]
            lines.append(empty | {"name": name.replace("_", " "), "n": len(items), "first": first})
    return lines


def _check(check: Mapping[str, Any]) -> dict[str, Any]:
    lines = [check["reason"], *check["findings"][1:_MOST_FINDINGS], *(f"note: {note}" for note in check["notes"])]
    return {"name": check["check"], "sign": _SIGN[check["status"]], "lines": lines[:MOST_ITEMS]}


def draw(report: Mapping[str, Any], state: Run, folder: Path, beside: Path) -> dict[str, str]:
    """Write the pictures of a report.

    Args:
        report: Of `reseed.compare.pull_request`.
        state: Head.
        folder: For the pictures.
        beside: Folder of the page.

    Returns:
        Path of each picture relative to the page, as in a link, by what it shows; none where there is no base.
    """
    if report["alone"]:
        return {}
    figures = {"Patch scores of base and head": ("scores.png", _scores_figure(report))}
    if report["flips"]:
        try:
            figures["Frames whose decision flipped"] = ("flipped_frames.png", _flips_figure(report, state))
        except ReseedError as error:
            sys.stderr.write(f"note: the flipped frames are not drawn: {error}\n")
    for name, figure in figures.values():
        write_bytes(folder / name, png_bytes(marked(figure, report["label_notices"])))
    place = Path(os.path.relpath(folder, beside))
    return {shown: quote((place / name).as_posix()) for shown, (name, _) in figures.items()}


def _scores_figure(report: Mapping[str, Any]) -> Figure:
    rows = {"macro F1": report["macro_f1"], **{row["class"]: row for row in report["classes"]}}
    steps = [
        Step(name, _value(row["base"]), _value(row["head"]), _interval(row["base"]), _interval(row["head"]))
        for name, row in rows.items()
    ]
    headline = report["scores"][0]
    title = f"Patch macro F1 {percent(headline['base'])} on base, {percent(headline['head'])} on head"
    if headline["difference"] != NOT_AVAILABLE:
        title += f": {points(headline['difference'])} points"
    subtitle = f"{report['test_set']['head']['patches']:,} labelled test patches. "
    if not report["same_test_set"]:
        subtitle += "The two are not of the same test set: no difference is claimed. "
    known = any(step.base_interval.available or step.head_interval.available for step in steps)
    subtitle += "Lines: 95 % intervals of each score alone." if known else "No intervals: too few groups."
    return change_figure(steps, title, subtitle, synthetic=report["synthetic"])


def _flips_figure(report: Mapping[str, Any], state: Run) -> Figure:
    rows: dict[str, list[str]] = {}
    for flip in flip_rows(report):
        rows.setdefault(f"{_HAPPENED[flip['better']]}\n→ {flip['head']}", []).append(flip["frame_id"])
    return flipped_figure(state, rows, synthetic=report["synthetic"])


def _value(side: Mapping[str, Any]) -> float | None:
    return side["f1"] if isinstance(side["f1"], float) else None


def _interval(side: Mapping[str, Any]) -> Interval:
    if side["low"] == NOT_AVAILABLE:
        return Interval(float("nan"), float("nan"), 0, "none")
    return Interval(side["low"] / 100, side["high"] / 100, 0)
