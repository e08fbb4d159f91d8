"""Handing an audited run on: a Workflow Run RO-Crate, an in-toto statement."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reseed.audit.checks import Check
from reseed.audit.exports.attestation import provenance
from reseed.audit.exports.crate import write_crate
from reseed.audit.exports.entities import CrateRun
from reseed.audit.exports.files import run_files
from reseed.base.errors import ReseedError
from reseed.base.files import write_json
from reseed.history.run import Run


def write_exports(
    run: Run,
    checks: Mapping[str, Check],
    stated: Mapping[str, Any],
    *,
    folder: Path,
    crate: Path | None,
    statement: Path | None,
) -> list[str]:
    """Write what is asked for; return a line about each file or folder written.

    Args:
        run: The run.
        checks: What the audit found.
        stated: Its data statement.
        folder: Of the audit, for the files that git tracks.
        crate: New or empty folder, or None.
        statement: JSON file, or None.

    Raises:
        ReseedError: If there is no data statement, or a file that must be in is not stored here or is a link.
    """
    if "sources" not in stated:
        raise ReseedError(f"there is no data statement: {stated['not_available']}")
    files = run_files(run, folder / "files")
    sources = tuple(stated["sources"])
    done = []
    if statement is not None:
        write_json(statement, provenance(run, files, list(sources)))
        done.append(f"in-toto statement: {statement}")
    if crate is not None:
        code = run.commit or run.repository.resolve("HEAD").commit
        described = CrateRun(
            run=run,
            code=code,
            name=f"run of {code[:7]}" if run.commit else f"uncommitted run on top of {code[:7]}",
            date=run.repository.committed_at(code),
            files=files,
            sources=sources,
            checks=checks,
        )
        n_entities = write_crate(described, crate)
        n_files = len(described.carried)
        done.append(f"RO-Crate: {crate}, {n_entities} entities and {n_files} files, read back and compared")
    return done
