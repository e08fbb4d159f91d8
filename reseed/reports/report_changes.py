"""The part of the report that says what changed, which decisions flipped, and whether head holds."""

from collections.abc import Mapping
from typing import Any, Final

from reseed.audit.checks import FAIL, NOT_CHECKED, PASS
from reseed.reports.page import MOST_ITEMS, MOST_ROWS, NONE, Page, code, words

_MOST_FINDINGS: Final = 3
# The widest rows of the page: with these and no more it fits into a comment, however much changed.
_MOST_PARAMS: Final = 36
_SIGN: Final = {PASS: "✅ PASS", FAIL: "❌ FAIL", NOT_CHECKED: "⚪ NOT CHECKED"}


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
