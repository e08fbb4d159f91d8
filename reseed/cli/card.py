"""`python -m reseed card [REV]`: the model card of a result."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from reseed.audit.statement import data_statement
from reseed.base.errors import ReseedError
from reseed.base.files import write_text
from reseed.history.record import read_record
from reseed.history.repository import HERE, Repository
from reseed.history.snapshot import Snapshot, snapshot
from reseed.reports.card import Card, card_page

_MODEL: Final = "models/model.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("revision", nargs="?", metavar="REV", help="git revision or DVC experiment; default: workspace")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("MODEL_CARD.md"),
        metavar="FILE.md",
        help="where to write it; default: MODEL_CARD.md; - prints it",
    )
    parser.add_argument("--fetch", action="store_true", help="get objects that the cache lacks from the default remote")


def run(args: argparse.Namespace) -> int:
    """Read the revision, write its card."""
    repository = Repository(Path())
    revision = HERE if args.revision is None else repository.resolve(args.revision)
    record = read_record(repository, revision)
    with snapshot(repository, revision.commit or None, fetch=args.fetch) as state:
        statement, missing = _stated(state)
        page = card_page(Card(record, _model(state), statement, missing))
    if str(args.out) == "-":
        sys.stdout.write(page)
    else:
        write_text(args.out, page)
        sys.stderr.write(f"{args.out}: the card of {revision if revision.commit else 'the workspace'}\n")
    return 0


def _stated(state: Snapshot) -> tuple[dict[str, Any], str]:
    """Return the data statement, or none and why."""
    try:
        return data_statement(state), ""
    except ReseedError as error:
        return {}, str(error)


def _model(state: Snapshot) -> dict[str, Any]:
    """Return `models/model.json`; nothing where its object is not stored here."""
    try:
        file = state.stored(_MODEL)
        value = {} if file is None else json.loads(file.read_bytes())
    except (ReseedError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
