"""`python -m reseed audit [REV]`: which data, code and parameters produced this score, and can that be shown?"""

import argparse
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from reseed.artifacts.patches import SPLITS
from reseed.audit.export_crate import require_crate_target, write_exports
from reseed.audit.objects import working_folder
from reseed.audit.recompute import conclusions
from reseed.audit.registry import CHECKS, OPTIONAL, Audit, read_claims, run_checks, verdict
from reseed.audit.statement import data_statement, files_table, frame_effect
from reseed.audit.trusted import FAIL, Check, diff_lines, trusted_code
from reseed.base.errors import ReseedError
from reseed.base.files import write_text
from reseed.cli.main import add_json, show
from reseed.history.recorded import stale_lines
from reseed.history.repository import HERE, Repository
from reseed.history.run import Run

_SHOWN: Final = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("revision", nargs="?", metavar="REV", help="git revision or DVC experiment; default: workspace")
    parser.add_argument(
        "--claim",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a score to confirm, such as patch.macro_f1=84.2; repeatable",
    )
    parser.add_argument(
        "--trusted",
        metavar="REV",
        help="recompute with the code of this revision or tag; default: the code of the checkout you run this from",
    )
    parser.add_argument(
        "--diff", action="store_true", help="also print how the code of REV differs from the trusted code"
    )
    parser.add_argument(
        "--fetch", action="store_true", help="download files that the cache lacks from the default remote"
    )
    parser.add_argument("--rerun", action="store_true", help="also run every stage again, training included")
    parser.add_argument(
        "--retrain", action="store_true", help="also train again from the stored labels, and compare the score"
    )
    parser.add_argument(
        "--run-revision-code",
        dest="revision_code",
        action="store_true",
        help="also run every stage with the code of REV, which nobody vouches for, in a sandbox without network",
    )
    parser.add_argument("--no-sandbox", action="store_true", help="run that code without a sandbox, with your rights")
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        choices=[name for name in CHECKS if name not in OPTIONAL],
        help="skip a check; repeatable",
    )
    parser.add_argument("--files", type=Path, metavar="OUT.csv", help="write every frame of train, val and test here")
    parser.add_argument("--crate", type=Path, metavar="DIR", help="write a Workflow Run RO-Crate to this new folder")
    parser.add_argument(
        "--statement", type=Path, metavar="OUT.json", help="write an in-toto statement (SLSA provenance)"
    )
    parser.add_argument("--frame", metavar="ID", help="also show how this frame changes the score")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Do the checks, print them with the data statement and the verdict; return 0, 1 or 3 as the verdict says."""
    skip = {*args.skip, *(name for name in OPTIONAL if not getattr(args, name.replace("-", "_")))}
    claims = read_claims(args.claim)
    if args.crate is not None:
        require_crate_target(args.crate)
    repository = Repository(Path())
    revision = HERE if args.revision is None else repository.resolve(args.revision)
    audited = Run(repository, revision, remote="keep" if args.fetch else "never")
    with working_folder() as folder:
        trusted = trusted_code(repository, args.trusted)
        checks = run_checks(Audit(audited, trusted, folder, claims, frozenset(skip), sandbox=not args.no_sandbox))
        statement = _stated(audited)
        if args.files is not None:
            write_text(args.files, files_table(audited).to_csv(index=False, lineterminator="\n"))
        found = verdict(checks)
        report = {
            "revision": audited.name,
            "commit": audited.commit,
            "trusted": trusted.name,
            "synthetic": bool(statement.get("synthetic")),
            "verdict": found.line,
            "exit_code": found.exit_code,
            "passed": found.passed,
            "conclusions": conclusions(audited, trusted, checks),
            "checks": [{"check": name, **asdict(check)} for name, check in checks.items()],
            "stale": [] if audited.commit else stale_lines(repository.root),
            "statement": statement,
            **({} if not args.diff else {"diff": diff_lines(audited, trusted)}),
            **({} if args.frame is None else {"frame": frame_effect(audited, args.frame)}),
            **_exported(audited, checks, statement, folder, args),
        }
    show(report, _lines, as_json=args.json)
    return found.exit_code


def _exported(
    audited: Run, checks: Mapping[str, Check], statement: Mapping[str, Any], folder: Path, args: argparse.Namespace
) -> dict[str, list[str]]:
    """Write what was asked for; of a run that failed nothing, and the report says so."""
    if args.crate is None and args.statement is None:
        return {}
    failed = [name for name, check in checks.items() if check.status == FAIL]
    if failed:
        return {"exported": [f"nothing: check {', '.join(failed)} failed, and only a run without failure is handed on"]}
    lines = write_exports(audited, checks, statement, folder=folder, crate=args.crate, statement=args.statement)
    return {"exported": lines}


def _stated(audited: Run) -> dict[str, Any]:
    try:
        return data_statement(audited)
    except ReseedError as error:
        return {"not_available": str(error)}
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # written by others, see `run_checks`
        return {"not_available": f"a stored file is not of the known form: {type(error).__name__}: {error}"}


def _lines(report: Mapping[str, Any]) -> list[str]:
    lines = [f"Audit of {report['revision']} with the code of {report['trusted']}"]
    width = max(len(check["check"]) for check in report["checks"])
    for number, check in enumerate(report["checks"], 1):
        lines.append(f"{number} {check['check']:<{width}}  {check['status']:<11}  {check['reason']}")
        lines += [f"      {finding}" for finding in check["findings"][1:_SHOWN]]
        if len(check["findings"]) > _SHOWN:
            lines.append(f"      and {len(check['findings']) - _SHOWN} more (--json lists all)")
        lines += [f"      note: {note}" for note in check["notes"]]
    lines += [f"! {line}" for line in report["stale"]]
    lines += ["", *report["diff"]] if "diff" in report else []
    lines += ["", *_statement(report["statement"])]
    lines += ["", *_frame(report["frame"])] if "frame" in report else []
    lines += [f"exported {what}" for what in report.get("exported", [])]
    lines += ["", *report["conclusions"], "", report["verdict"]]
    return lines


def _statement(statement: dict[str, Any]) -> list[str]:
    if "not_available" in statement:
        return [f"No data statement: {statement['not_available']}"]
    lines = ["Data statement"]
    for weights in statement["imported"]:
        lines.append(f"IMPORTED {weights['what']}: {weights['file']}, sha256 {weights['sha256']}")
        lines.append("      trained elsewhere: that it never learnt the test frames is not proven")
    for source in statement["sources"]:
        where = f", {source['uri']}" if source["uri"] else ""
        lines.append(f"source {source['name']} ({source['kind']}{where}): {source['files']} files, {source['licence']}")
        pinned = "pinned" if source["pinned"] else "not pinned"
        lines.append(f"      release {source['release']}, sha256 {source['sha256']}, {pinned}")
    lines.append(f"annotator {statement['annotator']}")
    for kind in ("frames", "patches"):
        lines += [f"{kind}", *_table(statement[kind])]
    for kind, reasons in statement["quarantined"].items():
        said = ", ".join(f"{n} {reason}" for reason, n in reasons.items())
        lines.append(f"quarantined {kind}: {said or 'none'}")
    pretrained = statement["pretrained"]
    if not any(weights["what"] == "network" for weights in statement["imported"]):
        digest = f", sha256 {pretrained['sha256']}" if pretrained["sha256"] else ""
        lines.append(f"pretrained: {pretrained['weights']}{digest}")
    lines += [f"claims, not verified: {claim}" for claim in statement["claims"]]
    return lines + [f"note: {note}" for note in statement["notes"]]


def _frame(frame: Mapping[str, Any]) -> list[str]:
    lines = [f"Frame {frame['frame_id']} ({frame['site']}, {frame['split']})", f"      sha256 {frame['sha256']}"]
    lines += [
        f"  {row['n']} patches {row['gold'] or 'unlabelled'}, taken for {row['predicted']}" for row in frame["patches"]
    ]
    lines.append(f"  decision {frame['decision']}, reference {frame['gold'] or 'none'}")
    if not frame["scores"]:
        lines.append(f"  not scored: its split is {frame['split']}")
    return lines + [f"  {row['score']} {row['with']}, without it {row['without']}" for row in frame["scores"]]


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """Return one line per split and site, one column per class."""
    classes = sorted({row["class"] for row in rows})
    counted = Counter({(row["split"], row["site"], row["class"]): row["n"] for row in rows})
    places = sorted({(row["split"], row["site"]) for row in rows}, key=lambda place: (SPLITS.index(place[0]), place[1]))
    wide = max([len(site) for _, site in places] + [4])
    lines = [f"  {'split':<6} {'site':<{wide}}" + "".join(f"{name:>12}" for name in classes)]
    for split, site in places:
        numbers = "".join(f"{counted[split, site, name]:>12,}" for name in classes)
        lines.append(f"  {split:<6} {site:<{wide}}{numbers}")
    return lines
