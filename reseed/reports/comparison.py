"""A comparison for people: text for a terminal or Markdown for a pull request, the same content in both."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.reports.page import aligned, markdown
from reseed.score.bootstrap import MIN_CLUSTERS
from reseed.score.percent import NOT_AVAILABLE

_SHOWN: Final = 10
# Score key and how people call it.
CALLED: Final = {
    "patch.macro_f1": "patch macro F1",
    "patch.accuracy": "patch accuracy",
    "patch.no_deploy_f1": "patch F1 No-Deploy",
    "patch.coral_f1": "patch F1 Coral",
    "patch.deploy_f1": "patch F1 Deploy",
    "frame.macro_f1": "frame macro F1",
    "frame.accuracy": "frame accuracy",
    "frame.deploy_precision": "frame Deploy precision",
    "frame.deploy_recall": "frame Deploy recall",
    "frame.deploy_f1": "frame Deploy F1",
}


class _Page:
    """Lines in one of the two forms."""

    def __init__(self, *, as_markdown: bool) -> None:
        self.as_markdown = as_markdown
        self.lines: list[str] = []

    def title(self, text: str) -> None:
        self.lines += [""] if self.lines[-1] else []
        self.lines += [f"### {text}", ""] if self.as_markdown else [text]

    def say(self, text: str) -> None:
        # Without the blank line Markdown runs paragraphs together.
        self.lines += [text, ""] if self.as_markdown else [f"  {text}"]

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.lines += [*markdown(header, rows), ""] if self.as_markdown else aligned(header, rows)

    def list(self, items: Sequence[str]) -> None:
        shown = [*items[:_SHOWN], *([f"... and {len(items) - _SHOWN:,} more"] if len(items) > _SHOWN else [])]
        self.lines += [*(f"- {item}" for item in shown), ""] if self.as_markdown else [f"    {item}" for item in shown]


def comparison_lines(report: Mapping[str, Any], *, as_markdown: bool) -> list[str]:
    """Return the report as lines; Markdown carries the synthetic mark itself, `show` puts it around text."""
    page = _Page(as_markdown=as_markdown)
    if as_markdown:
        page.lines.append("## Comparison of A and B")
        page.lines += ["", f"> **{SYNTHETIC_NOTICE}**"] if report["synthetic"] else []
        page.lines.append("")
    page.say(f"A  {_side(report['a'])}")
    page.say(f"B  {_side(report['b'])}")
    _verdict(page, report)
    _scores(page, report)
    if report["same_test_set"]:
        _decisions(page, report)
    else:
        _other_test_set(page, report["test_set_differences"])
    _params(page, report["params"])
    _data(page, report["data"])
    _code(page, report["code"])
    while page.lines[-1] == "":
        page.lines.pop()
    return page.lines


def _side(revisions: Sequence[Mapping[str, str]]) -> str:
    def one(revision: Mapping[str, str]) -> str:
        short = revision["commit"][:7]
        return short if revision["commit"].startswith(revision["name"]) else f"{revision['name']} ({short})"

    return ", ".join(map(one, revisions))


def _verdict(page: _Page, report: Mapping[str, Any]) -> None:
    if not report["same_test_set"]:
        page.say("The test sets differ: the scores below are not of the same items, and nothing is tested.")
        return
    for row in report["scores"]:
        if "p" in row and row["difference"] != NOT_AVAILABLE:
            page.say(_sentence(row))


def _sentence(row: Mapping[str, Any]) -> str:
    name, difference = CALLED[row["score"]], row["difference"]
    if row["p"] == NOT_AVAILABLE:
        return f"{_capital(name)}: {difference:+.2f} points; how sure that is cannot be said: {row['reason']}."
    if row["low"] > 0 or row["high"] < 0:
        better = "better" if difference > 0 else "worse"
        return f"{_capital(name)}: B is {better} by {abs(difference):.2f} points ({_range(row)}, p {p_text(row['p'])})."
    if difference == 0 and row["low"] == row["high"] == 0:
        return f"{_capital(name)}: no difference at all."
    return (
        f"{_capital(name)}: {difference:+.2f} points, not told apart from none ({_range(row)}, p {p_text(row['p'])})."
    )


def _scores(page: _Page, report: Mapping[str, Any]) -> None:
    test = report["test_set"]
    clusters = max((row.get("clusters", 0) for row in report["scores"]), default=0)
    over = f"; paired cluster bootstrap over {clusters} groups" if clusters >= MIN_CLUSTERS else ""
    items = f"{test['patches']:,} labelled test patches and {test['labelled_frames']:,} labelled test frames"
    page.title(f"Scores on {items}{over}" if report["same_test_set"] else "Scores, each on its own test set")
    rows = [
        [
            CALLED[row["score"]],
            _mean(row["a"]),
            _mean(row["b"]),
            row["difference"] if isinstance(row["difference"], str) else f"{row['difference']:+.2f}",
            _range(row) if "low" in row else "",
            p_text(row["p"]) if "p" in row else "",
        ]
        for row in report["scores"]
    ]
    page.table(("", "A", "B", "B - A", "95 % interval", "p"), rows)
    if any("sd" in row[side] for row in report["scores"] for side in ("a", "b")):
        page.say("Mean over runs +- standard deviation; the interval is of the difference of the means.")
        for row in report["scores"]:
            if "p" in row and row["difference"] != NOT_AVAILABLE and abs(row["difference"]) < _widest(row):
                page.say(
                    f"{_capital(CALLED[row['score']])}: the difference is smaller than the spread over runs "
                    f"({_widest(row):.2f}): other runs may turn it around."
                )


def _widest(row: Mapping[str, Any]) -> float:
    return float(max(row[side].get("sd", 0.0) for side in ("a", "b")))


def _decisions(page: _Page, report: Mapping[str, Any]) -> None:
    page.title("Frame decisions")
    found = report["mcnemar"]
    if found["p"] == NOT_AVAILABLE:
        page.say(f"McNemar: n/a, {found['reason']}.")
    else:
        page.say(
            f"McNemar (exact): {found['only_a_right']} right in A only, {found['only_b_right']} in B only, "
            f"{found['both_right']} in both, {found['neither_right']} in neither; p {p_text(found['p'])}."
        )
    flips = report["flips"]
    if not flips:
        page.say("No decision flipped.")
        return
    a, b = len(report["a"]), len(report["b"])
    page.say(f"Flipped: {len(flips):,} of {report['test_set']['frames']:,} test frames{_first(flips)}.")
    rows = [
        [flip["frame_id"], _decided(flip["first"], a), _decided(flip["second"], b), flip["gold"] or "(no label)"]
        for flip in flips[:_SHOWN]
    ]
    page.table(("frame", "A", "B", "gold"), rows)


def _decided(deploys: int, runs: int) -> str:
    if runs == 1:
        return "Deploy" if deploys else "No-Deploy"
    return f"Deploy in {deploys} of {runs}"


def _other_test_set(page: _Page, differences: Mapping[str, Sequence[Any]]) -> None:
    page.title("How the test sets differ")
    for name, items in differences.items():
        if items:
            page.say(f"{_capital(name.replace('_', ' '))}: {len(items):,}")
            page.list([item if isinstance(item, str) else _change(item, "item", "a", "b") for item in items])


def _params(page: _Page, changes: Sequence[Mapping[str, Any]]) -> None:
    page.title("Parameters")
    if not changes:
        page.say("No parameter differs.")
        return
    differing = [change for change in changes if not change["same_on_both"]]
    if differing:
        page.table(("key", "A", "B"), [[change["key"], change["old"], change["new"]] for change in differing])
    within = [f"{change['key']} ({change['old']})" for change in changes if change["same_on_both"]]
    if within:
        page.say(f"Differs among the runs of a side, the same on both: {', '.join(within)}.")


def _data(page: _Page, data: Mapping[str, Sequence[Any]]) -> None:
    page.title("Data")
    if not any(data.values()):
        page.say("No source, frame, label or split differs.")
    for source in data["sources"]:
        page.say(f"Source {source['name']}: sha256 {source['old'][:12]} -> {source['new'][:12]}")
    for name, items in data.items():
        if items and name != "sources":
            page.say(f"{_capital(name.replace('_', ' '))}: {len(items):,}")
            page.list([_data_item(item) for item in items])


def _data_item(item: Any) -> str:
    if isinstance(item, str):
        return item
    if "old" in item:
        return _change(item, "frame", "old", "new")
    counts = [f"{item[name]} {name}" for name in ("added", "removed", "relabelled") if item[name]]
    return f"{item['frame']}: {', '.join(counts)}"


def _code(page: _Page, code: Mapping[str, Sequence[Any]]) -> None:
    page.title("Code")
    files = code["files"]
    if not files:
        page.say("No file that shapes a result differs.")
    else:
        page.list([f"{file['path']} ({_lines(file)})" for file in files])
    if code["other_files"]:
        page.say(f"Other files: {', '.join(code['other_files'][:_SHOWN])}{_first(code['other_files'])}")


def _lines(file: Mapping[str, Any]) -> str:
    return "binary" if file["added"] is None else f"+{file['added']} -{file['removed']}"


def _change(item: Mapping[str, str], name: str, old: str, new: str) -> str:
    return f"{item[name]}: {item[old] or '(none)'} -> {item[new] or '(none)'}"


def _mean(side: Mapping[str, Any]) -> str:
    if isinstance(side["mean"], str):
        return side["mean"]
    return f"{side['mean']:.2f}" + (f" +- {side['sd']:.2f}" if "sd" in side else "")


def _range(row: Mapping[str, Any]) -> str:
    return NOT_AVAILABLE if row["low"] == NOT_AVAILABLE else f"{row['low']:+.2f} to {row['high']:+.2f}"


def p_text(p: float | str) -> str:
    """Return a p as people read it."""
    return p if isinstance(p, str) else ("< 0.001" if p < 0.001 else f"{p:.3f}")


def _first(items: Sequence[Any]) -> str:
    return f", the first {_SHOWN}" if len(items) > _SHOWN else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
