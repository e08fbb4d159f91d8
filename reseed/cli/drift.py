"""`python -m reseed drift [REV]`: is the committed result that of the committed code, parameters and data?"""

import argparse
from pathlib import Path
from typing import Any, Final

from reseed.audit.drift import Drift, Tolerance, contradictions, metric_drift, tolerance_of
from reseed.audit.objects import working_folder
from reseed.audit.registry import CHECKS, Audit, run_checks
from reseed.audit.trusted import PASS, Check, trusted_code
from reseed.base.errors import ReseedError
from reseed.base.files import read_json
from reseed.cli.main import not_negative, show
from reseed.history.repository import Repository
from reseed.history.run import METRICS, Run
from reseed.reports.page import aligned

# What needs neither data nor a run: the recorded digests against the files of the commit.
_CHECKS: Final = frozenset({"claim", "chain"})
_DETAILS: Final = "metrics/details.json"
_SHOWN: Final = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "revision", nargs="?", default="HEAD", metavar="REV", help="git revision whose result is checked; default: HEAD"
    )
    parser.add_argument(
        "--patch-points",
        type=_points,
        metavar="POINTS",
        help="percentage points that a patch score may differ by; default: from the recorded trainings, else 5",
    )
    parser.add_argument(
        "--frames",
        type=not_negative,
        metavar="N",
        help="test frames that the number of right decisions may differ by; default: likewise, else 3",
    )


def run(args: argparse.Namespace) -> int:
    """Compare the commit with itself, then with the workspace; return 1 if it contradicts itself or a score drifted."""
    workspace = Path(METRICS)
    if not workspace.is_file():
        raise ReseedError(f"{METRICS}: no run here to hold against {args.revision}; `dvc repro` makes one")
    repository = Repository(Path())
    committed = Run(repository, repository.resolve(args.revision))
    with working_folder() as folder:
        left_out = frozenset(CHECKS) - _CHECKS
        checks = run_checks(Audit(committed, trusted_code(repository, None), folder, {}, left_out))
    here = _metrics(workspace)
    there = committed.metrics if committed.has(METRICS) else {}
    details = committed.details if committed.has(_DETAILS) else {}
    wrong = contradictions(there, details) if there else []
    tolerance = _given(args, tolerance_of(there, details), there)
    drifts = metric_drift(there, here, tolerance) if there else []
    checked = {name: checks[name] for name in CHECKS if name in _CHECKS}
    report = {"synthetic": any(_rendered(scores) for scores in (there, here))}
    show(report, lambda _: _lines(committed.name, checked, wrong, drifts, tolerance), as_json=False)
    sound = all(check.status == PASS for check in checked.values()) and not wrong
    return int(not sound or not all(each.within for each in drifts))


def _given(args: argparse.Namespace, measured: Tolerance, committed: dict[str, Any]) -> Tolerance:
    """Return the tolerance that was asked for on the command line, in place of the measured one."""
    frame = committed.get("frame")
    n = frame.get("n") if isinstance(frame, dict) else None
    points, frames = args.patch_points, args.frames
    if points is None and frames is None:
        return measured
    return Tolerance(
        measured.patch_points if points is None else points,
        measured.frame_points if frames is None else 100 * frames / n if isinstance(n, int) and n > 0 else 0.0,
        "as given on the command line; otherwise " + measured.said,
    )


def _metrics(path: Path) -> dict[str, Any]:
    value = read_json(path)
    if not isinstance(value, dict):
        raise ReseedError(f"{path}: holds {type(value).__name__}, expected the scores of a run")
    return value


def _rendered(metrics: dict[str, Any]) -> bool:
    data = metrics.get("data")
    return isinstance(data, dict) and bool(data.get("synthetic"))


def _lines(
    name: str, checks: dict[str, Check], wrong: list[str], drifts: list[Drift], tolerance: Tolerance
) -> list[str]:
    lines = [f"{name}: digests and parameters of its dvc.lock against its files"]
    for check, found in checks.items():
        lines.append(f"  {check:<5}  {found.status}  {found.reason}")
        lines += [f"         {line}" for line in found.findings[1:_SHOWN]]
    lines += [f"{name} contradicts itself: {each}" for each in wrong[:_SHOWN]]
    if not drifts:
        return [*lines, f"{name} has no {METRICS}, so there are no scores to hold the run against"]
    rows = [
        [each.score, str(each.committed), str(each.rerun), each.allowed, "ok" if each.within else "DRIFTED"]
        for each in drifts
    ]
    return [
        *lines,
        "",
        f"Scores of {name} against those of the run in the workspace (percent)",
        *aligned(("", "committed", "run here", "may differ by", ""), rows),
        f"tolerance: {tolerance.said}",
    ]


def _points(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not in 0 to 100")
    return value
