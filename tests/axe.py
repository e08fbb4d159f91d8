"""The accessibility checker axe-core, from npm: tests run it in the pages they have open."""

import functools
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Page

VERSION = "4.12.1"
# WCAG 2.0 to 2.2, levels A and AA.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@functools.cache
def _script() -> str | None:
    npm = shutil.which("npm")
    if npm is None:
        return None
    with tempfile.TemporaryDirectory(prefix="reseed-axe-") as folder:
        command = [npm, "pack", "--silent", f"axe-core@{VERSION}"]
        try:
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
        with tarfile.open(Path(folder, f"axe-core-{VERSION}.tgz")) as packed:
            member = packed.extractfile("package/axe.min.js")
            assert member is not None
            return member.read().decode("utf-8")


def violations(page: Page) -> list[str]:
    """Return what axe finds against WCAG 2.2 AA, a line each: the rule and the first element."""
    script = _script()
    if script is None:
        pytest.skip(f"axe-core {VERSION} could not be fetched: npm is missing or has no network")
    page.run(f"{script}; true")
    found: list[dict[str, Any]] = page.run(
        f"axe.run(document, {{runOnly: {TAGS}}}).then(({{violations}}) => violations.map(({{id, nodes}}) =>"
        " ({id, n: nodes.length, html: nodes[0].html.slice(0, 200), why: nodes[0].failureSummary})))"
    )
    return [f"{one['id']} ({one['n']}): {one['html']} {one['why']}" for one in found]
