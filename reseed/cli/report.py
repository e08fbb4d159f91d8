"""`python -m reseed report`: a run as a page for a browser, or what a change does to its result."""

import argparse
import sys
from pathlib import Path
from typing import Final

from reseed.audit.objects import working_folder
from reseed.audit.registry import CHECKS, OPTIONAL, Audit, run_checks
from reseed.audit.trusted import Check, trusted_code
from reseed.base.errors import ReseedError
from reseed.base.files import write_text
from reseed.cli.main import add_bootstrap
from reseed.compare.pull_request import pull_request
from reseed.compare.sweep import read_sweep, sweep_lines
from reseed.history.recorded import stale_lines
from reseed.history.repository import HERE, Repository
from reseed.history.run import Run
from reseed.reports.html import html_change, html_report
from reseed.reports.report import draw, report_page

# Runs the network again: `audit` does, a page within seconds does not.
_SLOW: Final = frozenset({"re-derive"})
# What tells, without data or a run, whether the result of base is that of its own code and parameters.
_OF_BASE: Final = ("claim", "chain")
_NOT_ASKED: Final = "not run without --derive"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--base", metavar="REV", help="git revision or DVC experiment to compare with")
    parser.add_argument(
        "--head", metavar="REV", help="git revision or DVC experiment that is proposed; default: the workspace"
    )
    parser.add_argument(
        "--html",
        nargs="?",
        const="",
        metavar="REV",
        help="write a page for a browser instead: of the workspace, or of this revision; with --base, of the change",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="file to write, default with --html: report.html; else, or with -, the page is printed",
    )
    parser.add_argument(
        "--figures", type=Path, metavar="DIR", help="also write figures to this folder and show them on the page"
    )
    parser.add_argument("--derive", action="store_true", help="also run the re-derive check of the audit (slower)")
    add_bootstrap(parser)


def run(args: argparse.Namespace) -> int:
    """Read both sides, audit head, write the page; return 0 whatever the audit says."""
    if args.html is not None:
        return _html(args)
    if args.base is None:
        raise ReseedError("report: name what to compare with, --base REV, or ask for the page of one run, --html")
    out: Path | None = None if args.out is None or str(args.out) == "-" else args.out
    if args.figures is not None and out is None:
        raise ReseedError("--figures needs --out: the page refers to the figures by their path relative to it")
    repository = Repository(Path())
    base = repository.resolve(args.base)
    head = HERE if args.head is None else repository.resolve(args.head)
    skip = OPTIONAL if args.derive else OPTIONAL | _SLOW
    proposed = Run(repository, head)
    with working_folder() as folder:
        trusted = trusted_code(repository, None)
        first = frozenset(CHECKS) - set(_OF_BASE)
        of_base = run_checks(Audit(Run(repository, base), trusted, folder, {}, first))
        checks = run_checks(Audit(proposed, trusted, folder, {}, frozenset(skip), _NOT_ASKED))
    checked = {name: of_base[name] for name in _OF_BASE}
    report = pull_request(repository, base, head, checks, args.resamples, args.seed, checked)
    pictures = {} if args.figures is None or out is None else draw(report, proposed, args.figures, out.parent)
    stale = [] if head.commit else stale_lines(repository.root)
    page = report_page(report, pictures, stale)
    if out is None:
        sys.stdout.write(page)
    else:
        write_text(out, page)
        sys.stderr.write(f"{out}: written\n")
    return 0


def _experiments(run: Run) -> tuple[list[str], list[list[str]]] | None:
    """Return the table of the experiments of a run, None where it has none."""
    try:
        return sweep_lines(read_sweep(run.repository.root, [run.commit] if run.commit else []).report())
    except ReseedError:
        return None


def _html_change(args: argparse.Namespace, repository: Repository, head: Run, checks: dict[str, Check]) -> str:
    base = repository.resolve(args.base)
    report = pull_request(repository, base, head.revision, checks, args.resamples, args.seed)
    return html_change(report, Run(repository, base), head, [] if head.commit else stale_lines(repository.root))


def _html(args: argparse.Namespace) -> int:
    if args.figures is not None or (args.html and args.head):
        raise ReseedError("report --html: leave out --figures, the page holds its pictures, and name head only once")
    repository = Repository(Path())
    named = args.html or args.head
    run = Run(repository, repository.resolve(named) if named else HERE)
    skip = OPTIONAL if args.derive else OPTIONAL | _SLOW
    with working_folder() as folder:
        checks = run_checks(Audit(run, trusted_code(repository, None), folder, {}, frozenset(skip), _NOT_ASKED))
        page = _html_change(args, repository, run, checks) if args.base else html_report(run, checks, _experiments(run))
    if str(args.out) == "-":
        sys.stdout.write(page)
        return 0
    out = args.out or Path("report.html")
    write_text(out, page)
    sys.stderr.write(f"{out}: written\n")
    return 0
