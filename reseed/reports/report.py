"""The report of a pull request as one page of GitHub Markdown, numbers rounded for people."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from reseed.artifacts.raw import SYNTHETIC_NOTICE, WEAK_NOTICE
from reseed.audit.checks import DIFFERS, FAIL, NOT_CHECKED, PASS
from reseed.reports.comparison import CALLED, p_text
from reseed.reports.page import MOST_ITEMS, MOST_ROWS, NONE, Page, code, percent, points, words
from reseed.score.percent import NOT_AVAILABLE

_MOST_FINDINGS: Final = 3
# The widest rows of the page: with these and no more it fits into a comment, however much changed.
_MOST_PARAMS: Final = 36
_SIGN: Final = {PASS: "✅ PASS", FAIL: "❌ FAIL", NOT_CHECKED: "⚪ NOT CHECKED", DIFFERS: "⚠ DIFFERS"}


def add_flips(page: Page, report: Mapping[str, Any]) -> None:
    """Add the frames that base and head decide differently, those now wrong first."""
    page.title("Frames whose decision flipped")
    if report["flips"] is None:
        page.say(f"Not known: {lacking(report)}.")
        return
    if report["same_test_set"] is False:
        page.say("Not listed: the test sets differ.")
        return
    flips = sorted(report["flips"], key=lambda flip: (better(flip), flip["frame_id"]))
    if not flips:
        page.say("None.")
        return
    counts = [sum(better(flip) == kind for flip in flips) for kind in (-1, 1, 0)]
    unlabelled = f", {counts[2]} without a reference" if counts[2] else ""
    page.say(f"{len(flips):,}: {counts[1]} now right, {counts[0]} now wrong{unlabelled}.")
    page.table(
        ("frame", "base", "head", "gold", ""),
        [
            [code(flip["frame_id"]), *(decision(flip[side]) for side in ("first", "second")), flip["gold"] or NONE,
             {-1: "❌ now wrong", 0: NONE, 1: "✅ now right"}[better(flip)]]
            for flip in flips[:MOST_ROWS]
        ],
        numbers=False,
    )  # fmt: skip
    if len(flips) > MOST_ROWS:
        page.say(f"… and {len(flips) - MOST_ROWS:,} more (`python -m reseed compare --json` lists all).")


def lacking(report: Mapping[str, Any]) -> str:
    """Return whose single answers are missing."""
    return f"the single answers of {' and of '.join(report['lacking'])} are not stored here"


def decision(deploys: int) -> str:
    """Return the decision of one run, given how many runs decide Deploy."""
    return "Deploy" if deploys else "No-Deploy"


def better(flip: Mapping[str, Any]) -> int:
    """Return 1 if head decides rightly, -1 if base did, 0 without a reference."""
    if not flip["gold"]:
        return 0
    return 1 if decision(flip["second"]) == flip["gold"] else -1


def add_changes(page: Page, report: Mapping[str, Any]) -> None:
    """Add the parameters, the data and the code that differ."""
    page.title("What changed")
    changes = [[code(row["key"]), code(row["old"]), code(row["new"])] for row in report["params"]]
    page.say("**Parameters**" if changes else "**Parameters**: none")
    page.table(("key", "base", "head"), changes[:_MOST_PARAMS], numbers=False)
    if len(changes) > _MOST_PARAMS:
        page.say(f"… and {len(changes) - _MOST_PARAMS:,} more.")
    data = _data(report)
    page.say("**Data**" if data else "**Data**: none")
    page.items(data, MOST_ITEMS)
    files = [f"{code(file['path'])} {_lines(file)}" for file in report["code"]["files"]]
    others = len(report["code"]["other_files"])
    page.say(
        f"**Code**{'' if files else ': none that shapes a result'}{f' (and {others:,} other files)' * bool(others)}"
    )
    page.items(files, MOST_ROWS)


def _data(report: Mapping[str, Any]) -> list[str]:
    if report["data"] is None:
        return [f"{code(path)} has another digest" for path in report["inputs"]]
    data = report["data"]
    lines = [
        f"source {code(row['name'])}: sha256 {code(row['old'][:12])} → {code(row['new'][:12])}"
        for row in data["sources"]
    ]
    for name, items in data.items():
        if items and name != "sources":
            first = items[0] if isinstance(items[0], str) else items[0]["frame"]
            lines.append(f"{name.replace('_', ' ')}: {len(items):,}, the first {code(first)}")
    return lines


def _lines(file: Mapping[str, Any]) -> str:
    return "(binary)" if file["added"] is None else f"+{file['added']} -{file['removed']}"


def add_audit(page: Page, report: Mapping[str, Any], head: str) -> None:
    """Add the rungs of the audit of head."""
    page.title(f"Audit of {head}")
    rows = []
    for rung in report["rungs"]:
        said = [rung["reason"], *rung["findings"][1:_MOST_FINDINGS], *(f"note: {note}" for note in rung["notes"])]
        rows.append([rung["rung"], _SIGN[rung["status"]], "<br>".join(words(line) for line in said[:MOST_ITEMS])])
    page.table(("rung", "status", "why"), rows, numbers=False)


_HEADLINE: Final = ("patch.macro_f1", "frame.accuracy")
_BESIDE: Final = ("patch.accuracy", "frame.macro_f1")
_LEAKAGE: Final = "leakage"


def report_page(report: Mapping[str, Any], pictures: Mapping[str, str]) -> str:
    """Return the page.

    Args:
        report: Of `reseed.compare.pull_request`.
        pictures: Path of each picture, from where the page lies, by what it shows.
    """
    page = Page()
    head = _named(report["head"])
    page.title(
        f"Result of {head}" if report["alone"] else f"What {head} does to the result of {_named(report['base'])}", 2
    )
    page.warn(_warnings(report))
    if report["alone"]:
        page.say(f"No comparison, head alone: {words(report['alone'])}.")
    else:
        for row in _rows(report, _HEADLINE):
            page.say(_verdict(row, report))
        if report["not_compared"]:
            page.say(f"Not stored here: {words(report['not_compared'])}.")
    _scores(page, report)
    _classes(page, report)
    _sites(page, report)
    _operating(page, report)
    for shown, path in pictures.items():
        page.say(f"![{shown}]({path})")
    if not report["alone"]:
        add_flips(page, report)
        add_changes(page, report)
    add_audit(page, report, head)
    return page.text()


def _named(revision: Mapping[str, str]) -> str:
    commit, name = revision["commit"], revision["name"]
    if not commit:
        return "the workspace"
    return code(commit[:7]) if commit.startswith(name) else f"{code(name)} ({code(commit[:7])})"


def _warnings(report: Mapping[str, Any]) -> list[str]:
    lines = [f"**{SYNTHETIC_NOTICE}.**"] * report["synthetic"] + [f"**{WEAK_NOTICE}.**"] * report["weak"]
    if report["same_test_set"] is False:
        lines.append("**The test sets differ**: no difference is claimed; each side is scored on its own test set.")
    elif report["same_test_set"] is None and not report["alone"]:
        lines.append("**Whether both have the same test set cannot be told here**, so no difference is claimed.")
    if not report["alone"]:
        lines += [
            f"**The result of base is not that of its code, parameters and data** (rung {rung['rung']}): "
            f"{words(rung['reason'])}. Scores may differ by more than what changed."
            for rung in report["base_rungs"]
            if rung["status"] == FAIL
        ]
    for rung in report["rungs"]:
        if rung["rung"] == _LEAKAGE and rung["status"] == FAIL:
            lines.append(f"**The split leaks**: {words(rung['reason'])}.")
        elif rung["rung"] == _LEAKAGE:
            lines += [f"The split may leak: {words(note)}." for note in rung["notes"] if "neighbours" in note]
        elif rung["status"] == FAIL:
            lines.append(f"**The audit fails at rung {rung['rung']}**: {words(rung['reason'])}.")
    return lines


def _rows(report: Mapping[str, Any], names: Sequence[str]) -> list[Mapping[str, Any]]:
    found = {row["score"]: row for row in report["scores"]}
    return [found[name] for name in names]


def _verdict(row: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    name = CALLED[row["score"]]
    said = f"**{name[0].upper()}{name[1:]} {percent(row['base'])} → {percent(row['head'])}**"
    difference = row["difference"]
    if difference == NOT_AVAILABLE:
        return f"{said}: no difference is claimed."
    if row.get("p", NOT_AVAILABLE) == NOT_AVAILABLE:
        why = row.get("reason") or lacking(report)
        return f"{said}: {points(difference)} points. **Whether that is more than noise cannot be said**: {words(why)}."
    if difference == row["low"] == row["high"] == 0:
        return f"{said}: every answer is the same."
    sure = f"95 % interval {_range(row)}, p {p_text(row['p'])}"
    if row["low"] > 0 or row["high"] < 0:
        moved = "rises" if difference > 0 else "falls"
        return f"{said}: it {moved} by {points(abs(difference))[1:]} points ({sure}). **It stands out of the noise.**"
    return f"{said}: {points(difference)} points ({sure}). **It does not stand out of the noise.**"


def _range(row: Mapping[str, Any]) -> str:
    low = row.get("low", NOT_AVAILABLE)
    return NONE if low == NOT_AVAILABLE else f"{points(low)} to {points(row['high'])}"


def _scores(page: Page, report: Mapping[str, Any]) -> None:
    test = report["test_set"]["head"]
    rows = _rows(report, (_HEADLINE[0], _BESIDE[0], _HEADLINE[1], _BESIDE[1]))
    if report["alone"]:
        page.table(("", "head"), [[CALLED[row["score"]], percent(row["head"])] for row in rows])
    else:
        page.table(
            ("", "base", "head", "change", "95 % interval", "p"),
            [
                [
                    CALLED[row["score"]],
                    percent(row["base"]),
                    percent(row["head"]),
                    points(row["difference"]),
                    _range(row),
                    p_text(row["p"]) if row.get("p", NOT_AVAILABLE) != NOT_AVAILABLE else NONE,
                ]
                for row in rows
            ],
        )
    rounded = "" if report["alone"] else " Scores and changes are rounded separately."
    page.say(f"Test set of head: {test['patches']:,} labelled patches, {test['frames']:,} labelled frames.{rounded}")
    differences = report["test_set"]["differences"]
    page.items([f"{name.replace('_', ' ').replace('of a', 'of base').replace('of b', 'of head')}: {n:,}"
                for name, n in differences.items()], MOST_ITEMS)  # fmt: skip


def _classes(page: Page, report: Mapping[str, Any]) -> None:
    page.title("By class")
    header = [
        "patch class",
        "labelled",
        "F1 base",
        "F1 head",
        "change",
        "95 % interval of head",
        "precision",
        "recall",
    ]
    rows = []
    for row in report["classes"]:
        base, head = row["base"], row["head"]
        low, high = head["low"], head["high"]
        rows.append(
            [
                row["class"],
                f"{head['support']:,}",
                percent(base and base["f1"]),
                percent(head["f1"]),
                points(row["difference"]),
                NONE if low == NOT_AVAILABLE else f"{low:.1f} to {high:.1f}",
                _from_to(base and base["precision"], head["precision"]),
                _from_to(base and base["recall"], head["recall"]),
            ]
        )
    _without_base(page, report, header, rows, drop=(2, 4))


def _sites(page: Page, report: Mapping[str, Any]) -> None:
    page.title("By site")
    header = ["test site", "labelled patches", "macro F1 base", "macro F1 head", "change", "frame accuracy"]
    rows = []
    for row in report["sites"][:MOST_ROWS]:
        base, head = row["base"], row["head"]
        n = [f"{side['n_patches']:,.0f}" if side["n_patches"] != NOT_AVAILABLE else NONE for side in (base, head)]
        rows.append(
            [
                code(row["site"]),
                n[1] if report["alone"] or n[0] == n[1] else f"{n[0]} → {n[1]}",
                percent(base["macro_f1"]),
                percent(head["macro_f1"]),
                points(row["difference"]),
                percent(head["frame_accuracy"])
                if report["alone"]
                else _from_to(base["frame_accuracy"], head["frame_accuracy"]),
            ]
        )
    _without_base(page, report, header, rows, drop=(2, 4))
    if len(report["sites"]) > MOST_ROWS:
        page.say(f"… and {len(report['sites']) - MOST_ROWS:,} more sites (`metrics/by_site.csv`).")


def _without_base(
    page: Page, report: Mapping[str, Any], header: Sequence[str], rows: Sequence[Sequence[str]], drop: Sequence[int]
) -> None:
    """Add a table, without the columns `drop` where there is no base."""
    kept = [n for n in range(len(header)) if not (report["alone"] and n in drop)]
    page.table([header[n] for n in kept], [[row[n] for n in kept] for row in rows])


def _from_to(base: float | str | None, head: float | str) -> str:
    """Return both values in one cell, the sign once."""
    if isinstance(base, float) and isinstance(head, float):
        return f"{base:.1f} → {head:.1f} %"
    return percent(head) if base is None else f"{percent(base)} → {percent(head)}"


def _operating(page: Page, report: Mapping[str, Any]) -> None:
    page.title("Operating point")
    base, head = report["operating_point"]["base"], report["operating_point"]["head"]
    rows = [
        ("decision rule", *(_rule(side) for side in (base, head))),
        ("frames", *(NONE if side is None else f"{side['n']:,}" for side in (base, head))),
        ("Deploy precision", *(percent(side and side["deploy_precision"]) for side in (base, head))),
        ("Deploy recall", *(percent(side and side["deploy_recall"]) for side in (base, head))),
        *(
            (name, *(NONE if side is None or key not in side else f"{side[key]:,}" for side in (base, head)))
            for name, key in (
                ("decided Deploy", "deployed"),
                ("wrongly Deploy", "false_deploy"),
                ("missed Deploy", "missed_deploy"),
            )
        ),
    ]
    _without_base(page, report, ("labelled test frames", "base", "head"), rows, drop=(1,))


def _rule(side: Mapping[str, Any] | None) -> str:
    if side is None:
        return NONE
    if side["rule"] != "ratio":
        return words(f"{side['rule']} rule")
    best = side["best_on_validation"]
    how = "best on validation" if side["auto"] else "set by hand"
    if not side["auto"] and isinstance(best, float) and best != side["alpha"]:
        how += f"; best on validation: {best:g}"
    return f"alpha {side['alpha']:g}, {how}"
