"""Print the scores of the last run in short: how good, how sure, better than what, and what they come from."""

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from reseed.artifacts.raw import SYNTHETIC_NOTICE, WEAK_NOTICE
from reseed.base.classes import CLASSES, DECISIONS
from reseed.base.errors import ReseedError
from reseed.base.files import read_json
from reseed.cli.arguments import add_json, show

_METRICS: Final = Path("metrics/metrics.json")
_DETAILS: Final = Path("metrics/details.json")
_FIGURES: Final = Path("plots/figures")

# Key in metrics.json and how people call it, in reading order: macro F1 leads.
_PATCH: Final = {
    "macro_f1": "macro F1",
    "accuracy": "accuracy",
    "no_deploy_f1": "F1 No-Deploy",
    "coral_f1": "F1 Coral",
    "deploy_f1": "F1 Deploy",
}
_FRAME: Final = {
    "macro_f1": "macro F1",
    "accuracy": "accuracy",
    "deploy_precision": "Deploy precision",
    "deploy_recall": "Deploy recall",
    "deploy_f1": "Deploy F1",
}
_NAMES: Final = {name.lower().replace("-", "_"): name for name in CLASSES}
_VALIDATION: Final = {"patch_macro_f1": "patch macro F1", "frame_macro_f1": "frame macro F1"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder", nargs="?", default=".", type=Path, help="where the run lies, such as runs/reefscan; default: here"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the table and return exit code 0."""
    folder: Path = args.folder
    metrics, details = _read(folder / _METRICS), _read(folder / _DETAILS)
    try:
        marks = {"synthetic": bool(metrics["data"]["synthetic"]), "weak": _weak(details)}
        text = table(metrics, details, folder / _FIGURES)
    except (KeyError, TypeError) as error:
        raise ReseedError(
            f"{folder / _METRICS} and {folder / _DETAILS} do not hold the scores of one run ({error!r} is missing); "
            "`dvc repro -f evaluate` writes both anew"
        ) from error
    if args.json:
        show(marks | {"units": "scores in percent"} | metrics, lambda _: [], as_json=True)
    else:
        sys.stdout.write(text)
    return 0


def table(metrics: dict[str, Any], details: dict[str, Any], figures: Path) -> str:
    """Return the scores as text.

    Args:
        metrics: Content of `metrics/metrics.json`.
        details: Content of `metrics/details.json`.
        figures: Folder of the pictures.
    """
    patch, frame, data = metrics["patch"], metrics["frame"], metrics["data"]
    weak = _weak(details)
    marks = [f"*** {SYNTHETIC_NOTICE} ***"] * bool(data["synthetic"]) + [f"*** {WEAK_NOTICE} ***"] * weak
    lines = [*marks, ""] if marks else []
    lines += [f"Test patches: {patch['n']:,} labelled", *_task("patch", patch, details, _PATCH)]
    rule = details["rules"]["used"]
    by = f"alpha {frame['alpha']:g}" if rule == "ratio" else f"{rule} rule"
    lines += ["", f"Test frames: {frame['n']:,} labelled, {by}", *_task("frame", frame, details, _FRAME)]
    lines += ["", *details["baselines"]["verdict"].values()]
    lines += ["", "Validation (picks epoch and alpha: optimistic)", *_rows(metrics["validation"], _VALIDATION)]
    sources = [
        f"{source['name']} ({source['kind']}, sha256 {source['sha256'][:12]})" for source in details["data"]["sources"]
    ]
    lines += [
        "",
        f"Data      {', '.join(sources)}: {data['frames_train']:,} train frames, {data['frames_test']:,} test",
    ]
    if "leakage" in details:
        lines.append(f"Leakage   {details['leakage']['in_words']}")
    lines += [f"Pictures  {figures}", f"Details   {figures.parents[1] / _DETAILS}"]
    lines += ["", *marks] if marks else []
    return "\n".join(lines) + "\n"


def _weak(details: dict[str, Any]) -> bool:
    """Return whether patches are scored against the label of their whole frame."""
    return "weak" in [details["patch"][split].get("labels") for split in ("val", "test")]


def _task(task: str, scores: dict[str, Any], details: dict[str, Any], names: dict[str, str]) -> list[str]:
    """Return the rows of one task: beside the headline its interval, below it the best baseline."""
    headline, *others = _rows(scores, names)
    rows = [headline if scores["n"] == 0 else f"{headline}   {_interval(details[task]['test']['intervals'])}"]
    rows += _absent(task, details[task]["test"]) if scores["n"] else []
    best = details["baselines"]["best"][task]
    if isinstance(best, dict):
        rows.append(f"  {'best baseline':<18}{_percent(best['macro_f1']):>9}   {best['name']}")
    ceiling = details["human_ceiling"]
    for entry in ceiling[task] if isinstance(ceiling, dict) else []:
        of = f"scored like the network, on {entry['n']:,} of these"
        rows.append(f"  {'annotator ' + entry['annotator']:<18}{_percent(entry['human']['macro_f1']):>9}   {of}")
    return rows + others


def _absent(task: str, test: dict[str, Any]) -> list[str]:
    """Return a row if a class has no reference here: the macro F1 above counts it as 0, whatever was predicted."""
    absent = [_NAMES[key] for key, entry in test["classes"].items() if entry["support"] == 0]
    if not absent:
        return []
    if task == "frame":
        only = next(name for name in DECISIONS if name not in absent)
        return [f"  ! every frame is {only} by reference: {absent[0]} counts 0 in the macro F1"]
    return [f"  ! no patch is {' or '.join(absent)} by reference: counts 0 in the macro F1"]


def _interval(intervals: dict[str, Any] | str) -> str:
    if isinstance(intervals, str):
        return f"95 % interval {intervals}"
    found = intervals["macro_f1"]
    if "reason" in found:
        return f"95 % interval n/a: {found['reason']}"
    return f"95 % interval {found['low']:.2f} to {found['high']:.2f} ({found['clusters']} groups)"


def _rows(scores: dict[str, Any], names: dict[str, str]) -> list[str]:
    return [f"  {name:<18}{_percent(scores[key]):>9}" for key, name in names.items()]


def _percent(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.2f} %"


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ReseedError(f"{path}: no scores here yet; run `make repro` (or `dvc repro`) first")
    content: dict[str, Any] = read_json(path)
    return content
