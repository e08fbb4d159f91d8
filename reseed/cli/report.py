"""`python -m reseed report --base REV`: what a change does to the result, as a page for its pull request."""

import argparse
import sys
from pathlib import Path
from typing import Final

from reseed.audit.ladder import LADDER, OPTIONAL, Asked, climb
from reseed.base.errors import ReseedError
from reseed.base.files import write_text
from reseed.cli.arguments import add_bootstrap
from reseed.compare.pull_request import pull_request
from reseed.history.repository import HERE, Repository
from reseed.history.snapshot import snapshot
from reseed.reports.report import draw, report_page

# Runs the network again: `audit` does, a page within seconds does not.
_SLOW: Final = frozenset({"re-derive"})
# What tells, without data or a run, whether the result of base is that of its own code and parameters.
_OF_BASE: Final = ("claim", "chain")
_NOT_ASKED: Final = "not asked for (--derive)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--base", required=True, metavar="REV", help="git revision or DVC experiment to compare with")
    parser.add_argument("--head", metavar="REV", help="likewise, what is proposed; default: the workspace")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write the page here; default, and -: print it")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="also write pictures here, shown on the page")
    parser.add_argument("--derive", action="store_true", help="also climb rung re-derive of the audit (slower)")
    add_bootstrap(parser)


def run(args: argparse.Namespace) -> int:
    """Read both sides, audit head, write the page; return 0 whatever the audit says."""
    out: Path | None = None if args.out is None or str(args.out) == "-" else args.out
    if args.figures is not None and out is None:
        raise ReseedError("--figures needs --out: the page names the pictures by their place beside it")
    repository = Repository(Path())
    base = repository.resolve(args.base)
    head = HERE if args.head is None else repository.resolve(args.head)
    skip = OPTIONAL if args.derive else OPTIONAL | _SLOW
    with snapshot(repository, base.commit, fetch=False) as state:
        of_base = climb(state, Asked({}, frozenset(LADDER) - set(_OF_BASE)))
    with snapshot(repository, head.commit or None, fetch=False) as state:
        rungs = climb(state, Asked({}, frozenset(skip), _NOT_ASKED))
        checked = {name: of_base[name] for name in _OF_BASE}
        report = pull_request(repository, base, head, rungs, args.resamples, args.seed, checked)
        pictures = {} if args.figures is None or out is None else draw(report, state, args.figures, out.parent)
    page = report_page(report, pictures)
    if out is None:
        sys.stdout.write(page)
    else:
        write_text(out, page)
        sys.stderr.write(f"{out}: written\n")
    return 0
