"""`report --html`: the page of a run with what the audit found, its parameters, and the digests of its files."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reseed.audit.registry import verdict
from reseed.audit.trusted import Check
from reseed.base.errors import ReseedError
from reseed.compare.comparison import flat
from reseed.history.run import Run
from reseed.pages.run_page import Origin, run_page
from reseed.patches.store import open_patches

_PATCHES = "data/patches/patches.npy"


def html_report(run: Run, checks: Mapping[str, Check]) -> str:
    """Return the page of a run.

    Args:
        run: With its answers stored here.
        checks: What the audit of it found.

    Raises:
        ReseedError: If a file of the run is missing.
    """
    run.with_result()
    commit = run.commit
    checkout = [f"git checkout {commit}"] if commit else []
    origin = Origin(
        name=f"{run.name} ({commit[:7]})" if commit and not commit.startswith(run.name) else run.name,
        audit=(verdict(checks).line, [(name, check.status, check.reason) for name, check in checks.items()]),
        facts=(
            ("Parameters", ("parameter", "value"), list(flat(run.params).items())),
            ("Digests of the files of the run", ("file", "MD5"), list(run.digests.items())),
        ),
        commands=[*checkout, "dvc pull    # or: dvc repro", f"python -m reseed audit {commit}".strip()],
    )
    return run_page(run, stored_patches(run), origin)


def stored_patches(run: Run) -> NDArray[np.uint8] | None:
    """Return the packed patches of a run, for pictures; None where they are not stored here."""
    digest = run.digests.get(_PATCHES)
    cached = run.object(digest) if digest else None
    lying = run.repository.root / _PATCHES
    path = cached or (lying if not run.commit and lying.is_file() else None)
    try:
        return None if path is None else open_patches(path)
    except ReseedError:
        return None
