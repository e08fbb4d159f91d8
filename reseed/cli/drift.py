"""`python -m reseed drift [REV]`: is the committed result that of the committed code, parameters and data?"""

import argparse
from pathlib import Path
from typing import Any, Final

from reseed.audit.checks import PASS, Check
from reseed.audit.drift import Drift, Tolerance, metric_drift
from reseed.audit.registry import CHECKS, Audit, run_checks
from reseed.audit.trusted import trusted_code
from reseed.audit.working import working_folder
from reseed.base.errors import ReseedError
from reseed.base.files import read_json
from reseed.cli.arguments import not_negative, show
from reseed.history.repository import Repository
from reseed.history.run import METRICS, Run
from reseed.reports.page import aligned

# What needs neither data nor a run: the recorded digests against the files of the commit.
_CHECKS: Final = frozenset({"claim", "chain"})
# About twice what the demo moved between two processors (docs/pull_requests.md).
_PATCH_POINTS: Final = 5.0
_FRAMES: Final = 3
_SHOWN: Final = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "revision", nargs="?", default="HEAD", metavar="REV", help="git revision whose result is checked; default: HEAD"
    )
    parser.add_argument(
        "--patch-points",
        type=_points,
        default=_PATCH_POINTS,
        metavar="POINTS",
        help=f"percentage points that a patch score may differ by; default: {_PATCH_POINTS:g}",
    )
    parser.add_argument(
        "--frames",
        type=not_negative,
        default=_FRAMES,
        metavar="N",
        help=f"test frames that the number of right decisions may differ by; default: {_FRAMES}",
    )


def run(args: argparse.Namespace) -> int:
    """Check the digests of the commit, hold the scores of the workspace against its own; return 1 if one drifted."""
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
    drifts = metric_drift(there, here, Tolerance(args.patch_points, args.frames)) if there else []
    checked = {name: checks[name] for name in CHECKS if name in _CHECKS}
    report = {"synthetic": any(_rendered(scores) for scores in (there, here))}
    show(report, lambda _: _lines(committed.name, checked, drifts), as_json=False)
    return int(any(check.status != PASS for check in checked.values()) or not all(each.within for each in drifts))


def _metrics(path: Path) -> dict[str, Any]:
    value = read_json(path)
    if not isinstance(value, dict):
        raise ReseedError(f"{path}: holds {type(value).__name__}, expected the scores of a run")
    return value


def _rendered(metrics: dict[str, Any]) -> bool:
    data = metrics.get("data")
    return isinstance(data, dict) and bool(data.get("synthetic"))


def _lines(name: str, checks: dict[str, Check], drifts: list[Drift]) -> list[str]:
    lines = [f"{name}: digests and parameters of its dvc.lock against its files"]
    for check, found in checks.items():
        lines.append(f"  {check:<5}  {found.status}  {found.reason}")
        lines += [f"         {line}" for line in found.findings[1:_SHOWN]]
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
    ]


def _points(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not in 0 to 100")
    return value
