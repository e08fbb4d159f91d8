"""Handing an audited run on: a Workflow Run RO-Crate, an in-toto statement."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reseed.audit.chain import METRICS
from reseed.audit.checks import Rung
from reseed.audit.exports.attestation import provenance
from reseed.audit.exports.crate import write_crate
from reseed.audit.exports.crate_run import Run
from reseed.base.errors import ReseedError
from reseed.base.files import write_json
from reseed.history.run_files import run_files
from reseed.history.snapshot import Snapshot


def write_exports(
    snapshot: Snapshot,
    rungs: Mapping[str, Rung],
    stated: Mapping[str, Any],
    *,
    crate: Path | None,
    statement: Path | None,
) -> list[str]:
    """Write what is asked for; return a line about each file or folder written.

    Args:
        snapshot: The run.
        rungs: What the audit said of it.
        stated: Its data statement.
        crate: New or empty folder, or None.
        statement: JSON file, or None.

    Raises:
        ReseedError: If there is no data statement, or a file that must be in is not stored here.
    """
    if "sources" not in stated:
        raise ReseedError(f"there is no data statement: {stated['not_available']}")
    files = run_files(snapshot)
    sources = tuple(stated["sources"])
    done = []
    if statement is not None:
        write_json(statement, provenance(snapshot, files, list(sources)))
        done.append(f"in-toto statement: {statement}")
    if crate is not None:
        code = snapshot.commit or snapshot.repository.resolve("HEAD").commit
        run = Run(
            snapshot=snapshot,
            code=code,
            name=f"run of {code[:7]}" if snapshot.commit else f"uncommitted run on top of {code[:7]}",
            date=snapshot.repository.committed_at(code),
            files=files,
            sources=sources,
            scores=json.loads((snapshot.tree / METRICS).read_bytes()),
            rungs=rungs,
        )
        n_entities = write_crate(run, crate)
        done.append(f"RO-Crate: {crate}, {n_entities} entities and {len(run.carried)} files, read back and compared")
    return done
