"""`report --html`: the page of a run with its audit, parameters and digests, and the page of a change."""

import csv
import io
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reseed.artifacts.patches import TRAIN
from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.audit.registry import verdict
from reseed.audit.trusted import Check
from reseed.base.csv import guard
from reseed.base.errors import ReseedError
from reseed.compare.comparison import flat
from reseed.compare.pull_request import TREND
from reseed.history.run import Run
from reseed.pages.render import html_page, percent
from reseed.pages.run_data import RunTables, frame_data, only, pictures
from reseed.pages.run_page import Origin, read_tables, run_page
from reseed.patches.store import open_patches
from reseed.reports.page import capital, p_text, points
from reseed.reports.report import changed_data, flip_rows, operating_rows, site_patches, warnings
from reseed.score.registry import BY_FULL_KEY, FRAME, HEADLINE, NOT_AVAILABLE, PATCH

_PATCHES = "data/patches/patches.npy"


def html_report(
    run: Run, checks: Mapping[str, Check], experiments: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None
) -> str:
    """Return the page of a run.

    Args:
        run: With its answers stored here.
        checks: What the audit of it found.
        experiments: Table of its experiments, header and rows; None where it has none.

    Raises:
        ReseedError: If a file of the run is missing.
    """
    run.with_result()
    commit = run.commit
    checkout = [f"git checkout {commit}"] if commit else []
    origin = Origin(
        name=f"{run.name} ({commit[:7]})" if commit and not commit.startswith(run.name) else run.name,
        audit=(verdict(checks).line, [(name, check.status, check.reason) for name, check in checks.items()]),
        facts=(
            *([("Experiments of this commit", *experiments)] if experiments else []),
            ("Parameters", ("parameter", "value"), list(flat(run.params).items())),
            ("Digests of the files of the run", ("file", "MD5"), list(run.digests.items())),
        ),
        commands=[*checkout, "dvc pull    # or: dvc repro", f"python -m reseed audit {commit}".strip()],
    )
    return run_page(run, stored_patches(run), origin, partial(_alike, run))


_MOST_ALIKE: Final = 3
_LOOKED_THROUGH: Final = 4_000  # training patches, spread evenly: some seconds


def _alike(run: Run, tables: RunTables, asked: Sequence[str]) -> list[list[str]]:
    """Return the training patches that look most alike to the network of a run; none where it is not stored here."""
    from reseed.engines.predictions import load_folder, most_alike  # noqa: PLC0415  torch: seconds that only this needs

    row_of = {patch: row for row, patch in enumerate(tables.index["patch_id"])}
    known = tables.patches[(tables.patches["split"] == TRAIN) & (tables.patches["gold"] != "")]
    names = known["patch_id"].tolist()[:: max(1, -(-len(known) // _LOOKED_THROUGH))]
    if tables.store is None or len(names) < _MOST_ALIKE:
        return [[] for _ in asked]
    try:
        with tempfile.TemporaryDirectory(prefix="reseed-model-") as folder:
            for name in ("model.pt", "model.json"):
                Path(folder, name).write_bytes(run.read(f"models/{name}"))
            network, _ = load_folder(Path(folder))
    except ReseedError:
        return [[] for _ in asked]
    rows = [row_of[name] for name in names]
    found = most_alike(network, tables.store, [row_of[patch] for patch in asked], rows, _MOST_ALIKE)
    return [[names[place] for place in places] for places in found.tolist()]


def stored_patches(run: Run) -> NDArray[np.uint8] | None:
    """Return the packed patches of a run, for pictures; None where they are not stored here."""
    digest = run.digests.get(_PATCHES)
    cached = run.object(digest) if digest else None
    lying = run.repository.root / _PATCHES
    path = cached or (lying if not run.commit and lying.is_file() else None)
    try:
        return None if path is None else open_patches(path)
    except ReseedError:
        return None


_CARDS: Final = (f"{PATCH}.{HEADLINE}", f"{FRAME}.accuracy", f"{FRAME}.{HEADLINE}")
_NO_PICTURES: Final[Mapping[str, Any]] = {"frames": {"id": []}, "pictures": {}}


def html_change(report: Mapping[str, Any], base: Run, head: Run, stale: Sequence[str] = ()) -> str:
    """Return the page of a change.

    Args:
        report: Of `reseed.compare.pull_request`.
        base: What head is compared with; it may hold no result.
        head: What is proposed.
        stale: Why the scores of head are not those of the parameters and sources as they are now.
    """
    rows = {row["score"]: row for row in report["scores"]}
    flips = flip_rows(report) if report["flips"] and report["same_frames"] else []
    checks = {check["check"]: check for check in report["checks"]}
    marks = [SYNTHETIC_NOTICE] * report["synthetic"] + list(report["label_notices"])
    warned = [f"{warning['what']}: {warning['reason']}." for warning in warnings(report)]
    headline = ", ".join(f"{BY_FULL_KEY[key].full_label} {_from_to(rows[key], report)}" for key in _CARDS[:2])
    return html_page(
        "change.html.j2",
        ("page", "chart", "grid", "change"),
        {**_flipped_data(flips, base, head), "csv": {"trend": _trend_csv(report["trend"])}},
        None,
        title=f"{head.name} against {base.name}: {headline}",
        marks=marks,
        base_name=base.name,
        head_name=head.name,
        headline=capital(headline),
        lead=[*stale, *warned, *_test_sets(report)],
        cards=[_card(rows[key], report) for key in _CARDS],
        flipped=_flipped(report, flips),
        score_rows=[_score_row(row) for row in report["scores"]],
        class_rows=[_class_row(row) for row in report["classes"]],
        site_rows=[_site_row(row, report) for row in report["sites"]],
        operating_rows=[[row["name"], row["base"], row["head"]] for row in operating_rows(report["operating_point"])],
        param_rows=[[row["key"], row["old"], row["new"]] for row in report["params"]],
        data_rows=[_data_line(line) for line in changed_data(report)],
        code_rows=[[file["path"], *_lines(file)] for file in report["code"]["files"]],
        audit_rows=[[name, check["status"], check["reason"]] for name, check in checks.items()],
        verdict=f"Audit: {'passed' if report['passed'] else 'failed'}",
    )


def _finding(row: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """Return in words what may be said of a difference."""
    if report["alone"]:
        return f"base has no result ({report['alone']})"
    if isinstance(row["difference"], str):
        return "no difference is claimed, the test sets are not known to be the same"
    if isinstance(row.get("p", NOT_AVAILABLE), str):
        why = row.get("reason") or report["not_compared"]
        return (
            f"{points(row['difference'])} points, whether by more than chance is not known{f' ({why})' if why else ''}"
        )
    if row["difference"] == row["low"] == row["high"] == 0:
        return "every answer is the same"
    interval = f"95 % interval {points(row['low'])} to {points(row['high'])}, p {p_text(row['p'])}"
    one = "" if report["trainings"] and min(report["trainings"].values()) > 1 else "; of one training each"
    if row["low"] > 0 or row["high"] < 0:
        way = "rises" if row["difference"] > 0 else "falls"
        return f"it {way} by {points(row['difference'])[1:]} points ({interval}{one})"
    return f"no difference is shown: {points(row['difference'])} points ({interval}{one})"


def _from_to(row: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    known = not report["alone"] and isinstance(row["base"], float)
    return (f"{row['base']:.1f} → " if known else "") + percent(row["head"])


def _card(row: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    headline = row["score"] == _CARDS[0]
    base = None if report["alone"] else row["base"]
    return {
        "label": capital(BY_FULL_KEY[row["score"]].full_label),
        "from_to": _from_to(row, report),
        "base": base,
        "head": row["head"],
        "interval": report["macro_f1"]["head"] if headline else None,
        "finding": capital(_finding(row, report)) + ".",
    }


def _test_sets(report: Mapping[str, Any]) -> list[str]:
    if report["same_test_set"] is False:
        what = "in their patches alone" if report["same_frames"] else "so each side is scored on its own"
        return [f"The test sets differ, {what}."]
    n = report["test_set"]["head"]
    trainings = report["trainings"]
    of = f" Base has {trainings['base']} trainings, head {trainings['head']}." if trainings else ""
    return [f"On {n['patches']:,} test patches and {n['frames']:,} test frames.{of}"]


def _flipped(report: Mapping[str, Any], flips: Sequence[Mapping[str, Any]]) -> str:
    if report["flips"] is None:
        return "Not known: the single answers of both sides are not stored here." if not report["alone"] else "None."
    if report["same_frames"] is False:
        return "Not listed: the test sets differ."
    happened = [flip["better"] for flip in flips]
    right, wrong = happened.count(1), happened.count(-1)
    return f"{len(flips)} frames: {right} now right, {wrong} now wrong, {happened.count(0)} without a reference."


def _flipped_data(flips: Sequence[Mapping[str, Any]], base: Run, head: Run) -> dict[str, Any]:
    """Return the flipped frames with the patches of both sides, and their pictures, where these are stored."""
    if not flips:
        return dict(_NO_PICTURES)
    names = [flip["frame_id"] for flip in flips]
    try:
        tables, before = (only(read_tables(run, stored_patches(run)), names) for run in (head, base))
    except ReseedError:
        return dict(_NO_PICTURES)
    columns, old = frame_data(tables)["frames"], frame_data(before)["frames"]
    answers = dict(zip(old["id"], old["answers"], strict=True))
    by_name = {flip["frame_id"]: flip for flip in flips}
    order = sorted(range(len(columns["id"])), key=lambda i: names.index(columns["id"][i]))
    shown = pictures(tables, columns)
    kept = {key: [columns[key][i] for i in order] for key in ("id", "n", "rows", "cols", "points", "width", "height")}
    kept |= {key: [columns[key][i] for i in order] for key in ("golds", "answers")}
    same = [answers.get(name, "") for name in kept["id"]]
    kept["before"] = [old if len(old) == n else "" for old, n in zip(same, kept["n"], strict=True)]
    kept |= {key: [by_name[name][key] for name in kept["id"]] for key in ("base", "head", "gold", "better")}
    return {"frames": kept, "pictures": {place: shown[i] for place, i in enumerate(order) if i in shown}}


def _trend_csv(trend: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    scores = [[row[name] if isinstance(row[name], float) else "" for name in TREND] for row in trend]
    rows = [[row["commit"], row["committed"], guard(row["subject"])] for row in trend]
    writer.writerows([["commit", "committed", "subject", *TREND], *(a + b for a, b in zip(rows, scores, strict=True))])
    return text.getvalue()


def _score_row(row: Mapping[str, Any]) -> list[str]:
    low = row.get("low")
    interval = f"{points(low)} to {points(row['high'])}" if isinstance(low, float) else NOT_AVAILABLE
    base = percent(row["base"])
    p = p_text(row.get("p", NOT_AVAILABLE))
    label = BY_FULL_KEY[row["score"]].full_label
    return [label, base, percent(row["head"]), points(row["difference"]), interval, p]


def _class_row(row: Mapping[str, Any]) -> list[str]:
    base = NOT_AVAILABLE if row["base"] is None else row["base"]["f1"]
    support = f"{row['head']['support']:,}"
    return [row["class"], support, percent(base), percent(row["head"]["f1"]), points(row["difference"])]


def _site_row(row: Mapping[str, Any], report: Mapping[str, Any]) -> list[str]:
    f1 = [percent(row[side]["macro_f1"]) for side in ("base", "head")]
    return [row["site"], site_patches(row, report), *f1, points(row["difference"])]


def _data_line(line: Mapping[str, Any]) -> str:
    if line["sha256"]:
        return f"source {line['name']}: sha256 {line['sha256'][0]} → {line['sha256'][1]}"
    if line["path"]:
        return f"{line['path']} has another digest"
    return f"{line['name']}: {line['n']:,}, the first {line['first']}"


def _lines(file: Mapping[str, Any]) -> list[str]:
    return ["binary", ""] if file["added"] is None else [f"+{file['added']}", f"-{file['removed']}"]
