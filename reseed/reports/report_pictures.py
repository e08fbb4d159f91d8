"""The pictures beside a report: scores before and after, and the frames whose decision flipped."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from matplotlib.figure import Figure

from reseed.artifacts.raw import WEAK_NOTICE
from reseed.base.errors import ReseedError
from reseed.base.files import write_bytes
from reseed.compare.pull_request import flipped_figure
from reseed.figures.change import Step, change_figure
from reseed.figures.style import marked, png_bytes
from reseed.history.run import Run
from reseed.reports.page import percent, points
from reseed.reports.report import better, decision
from reseed.score.bootstrap import Interval
from reseed.score.percent import NOT_AVAILABLE

_SCORES: Final = "scores.png"
_FLIPS: Final = "flipped_frames.png"
_HAPPENED: Final = {-1: "now wrong", 1: "now right", 0: "no reference"}


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
    figures = {"Patch scores of base and head": (_SCORES, _scores(report))}
    if report["flips"]:
        try:
            figures["Frames whose decision flipped"] = (_FLIPS, _flips(report, state))
        except ReseedError as error:
            sys.stderr.write(f"note: the flipped frames are not drawn: {error}\n")
    notices = [WEAK_NOTICE] if report["weak"] else []
    for name, figure in figures.values():
        write_bytes(folder / name, png_bytes(marked(figure, notices)))
    place = Path(os.path.relpath(folder, beside))
    return {shown: quote((place / name).as_posix()) for shown, (name, _) in figures.items()}


def _scores(report: Mapping[str, Any]) -> Figure:
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


def _flips(report: Mapping[str, Any], state: Run) -> Figure:
    rows: dict[str, list[str]] = {}
    for flip in sorted(report["flips"], key=lambda flip: (better(flip), flip["frame_id"])):
        name = f"{_HAPPENED[better(flip)]}\n→ {decision(flip['second'])}"
        rows.setdefault(name, []).append(flip["frame_id"])
    return flipped_figure(state, rows, synthetic=report["synthetic"])


def _value(side: Mapping[str, Any]) -> float | None:
    return side["f1"] if isinstance(side["f1"], float) else None


def _interval(side: Mapping[str, Any]) -> Interval:
    if side["low"] == NOT_AVAILABLE:
        return Interval(float("nan"), float("nan"), 0, "none")
    return Interval(side["low"] / 100, side["high"] / 100, 0)
