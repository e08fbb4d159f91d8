"""`python -m reseed card [REV]`: the model card of a result."""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

from reseed.audit.statement import data_statement
from reseed.base.errors import ReseedError, printable
from reseed.base.files import write_text
from reseed.history.recorded import stale_lines
from reseed.history.repository import HERE, Repository
from reseed.history.run import Run
from reseed.reports.card import Card, card_page
from reseed.reports.reforms import WORDS, checklist, read_people

_MODEL: Final = "models/model.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("revision", nargs="?", metavar="REV", help="git revision or DVC experiment; default: workspace")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("MODEL_CARD.md"),
        metavar="FILE.md",
        help="file to write; default: MODEL_CARD.md; - prints it",
    )
    parser.add_argument(
        "--reforms",
        action="store_true",
        help="print the 32 items of the REFORMS checklist instead, each answered by the record, by people, or open",
    )
    parser.add_argument(
        "--fetch", action="store_true", help="download files that the cache lacks from the default remote"
    )


def run(args: argparse.Namespace) -> int:
    """Read the revision, write its card."""
    repository = Repository(Path())
    revision = HERE if args.revision is None else repository.resolve(args.revision)
    described = Run(repository, revision, remote="keep" if args.fetch else "never").with_result()
    statement, missing = _stated(described)
    stale = [] if revision.commit else stale_lines(repository.root)
    people = read_people(described)
    items = checklist(described, people, statement)
    if args.reforms:
        rows = [[item.key, item.state, item.module, item.question, item.answer] for item in items]
        counts = Counter(item.state for item in items)
        sys.stdout.write(printable("\n".join([*(" | ".join(row) for row in rows), _counted(counts)])) + "\n")
        return 0
    page = card_page(Card(described, _model(described), statement, missing, stale, people, items))
    if str(args.out) == "-":
        sys.stdout.write(page)
    else:
        write_text(args.out, page)
        sys.stderr.write(f"{args.out}: the card of {revision if revision.commit else 'the workspace'}\n")
    return 0


def _counted(counts: Counter[str]) -> str:
    return (
        f"\n{counts['record']} answered from the record, {counts['people']} by people ({WORDS}), {counts['open']} open"
    )


def _stated(described: Run) -> tuple[dict[str, Any], str]:
    """Return the data statement, or none and why."""
    try:
        return data_statement(described), ""
    except ReseedError as error:
        return {}, str(error)


def _model(described: Run) -> dict[str, Any]:
    """Return `models/model.json`; nothing where its object is not stored here."""
    try:
        return described.mapping(_MODEL)
    except ReseedError:
        return {}
