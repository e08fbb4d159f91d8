"""Check code: is what the revision would run the trusted code, file by file? It is read and compared, never run."""

import difflib
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from reseed.audit.checks import DIFFERS, PASS, Check
from reseed.audit.trusted import PACKAGES, Code, is_code
from reseed.history.run import Run

# What a file can change, by the start of its path, the most serious first: a file stands where it first fits.
GROUPS: Final[dict[str, str]] = {
    "everything": r"(?!reseed/|stages/)|reseed/(base|params|artifacts)/|reseed/__|stages/(runner|__)",
    "gold labels": r"reseed/(sources|survey|demo)/|stages/(pull|catalog)|reseed/patches/(extract|frame)|stages/extract",
    "the split": r"reseed/patches/|stages/split",
    "the training": r"reseed/(network|engines)/|stages/(train|pretrained|predict|repeats|baselines)",
    "the scores": r"reseed/score/|stages/(aggregate|evaluate)",
}
_LOOKS: Final = "looks"
# What therefore is not known, in words.
UNKNOWN: Final[dict[str, str]] = {
    "everything": "any stage may have done something else than the trusted code does",
    "gold labels": "the reference labels and pixels may have been made in another way",
    "the split": "frames may have been divided or patches packed in another way",
    "the training": "the network may have been trained on other patches, or in another way, than the parameters say",
    "the scores": "the decisions and scores may have been computed in another way",
    "looks": "figures, reports and commands may look or say something else",
}
_DIFF_LINES: Final = 2000


def check_code(run: Run, trusted: Code) -> Check:
    """Compare every file that shapes what runs; say what each that differs can change."""
    differing = list(differences(run, trusted))
    links = sorted(path for path, entry in run.tracked.items() if entry.kind != "file")
    findings = [f"{path} is a {run.tracked[path].kind} in git: not followed, and never read" for path in links]
    notes = findings if not any(_shapes(path) for path in links) else []
    for group in [*GROUPS, _LOOKS]:
        own = [line for path, line in differing if group_of(path) == group]
        if own:
            findings.append(f"code that can change {group} differs, so {UNKNOWN[group]}:")
            findings += [f"  {line}" for line in own]
    if not differing and not any(_shapes(path) for path in links):
        n_files = len(trusted.files)
        return Check(
            PASS,
            f"{n_files} files of code are those of {trusted.name}: {made_by(trusted)}, unchanged",
            (),
            tuple(notes),
        )
    groups = [group for group in [*GROUPS, _LOOKS] if any(group_of(path) == group for path, _ in differing)]
    named = ", ".join(path for path, _ in differing[:3]) or ", ".join(links[:3])
    more = f" and {len(differing) - 3} more" if len(differing) > 3 else ""
    reach = ", ".join(groups) or "everything"
    reason = f"differs from {trusted.name}: {named}{more}; it can change {reach} (--diff shows how)"
    return Check(DIFFERS, reason, (reason, *findings), ())


def made_by(trusted: Code) -> str:
    """Return name and version of the trusted code."""
    found = re.search(rb'^version = "([^"]+)"', trusted.files.get("pyproject.toml", b""), re.MULTILINE)
    return f"reseed {found[1].decode(errors='replace')}" if found else "reseed"


def differences(run: Run, trusted: Code) -> Iterator[tuple[str, str]]:
    """Yield the path of each file that differs, and how, sorted by path."""
    own = {path for path in run.tracked if is_code(path) and run.has(path)}
    for path in sorted(own | trusted.files.keys()):
        if path not in own:
            yield path, f"{path} is not there"
        elif path not in trusted.files:
            yield path, f"{path} is only there{_shadow(path)}"
        elif run.source(path) != trusted.files[path]:
            yield path, f"{path} was changed"


def diff_lines(run: Run, trusted: Code) -> list[str]:
    """Return the differences as a unified diff, the trusted code first; control characters are written out."""
    lines: list[str] = []
    for path, how in differences(run, trusted):
        sides = [trusted.files.get(path, b""), run.source(path) if run.has(path) else b""]
        if any(b"\0" in side for side in sides):
            lines.append(f"{how} (binary)")
            continue
        old, new = (side.decode(errors="replace").splitlines() for side in sides)
        lines += difflib.unified_diff(old, new, f"{path} ({trusted.name})", f"{path} ({run.name})", lineterm="")
    shown = [printable(line) for line in lines[:_DIFF_LINES]]
    return shown + ([f"and {len(lines) - _DIFF_LINES} lines more"] if len(lines) > _DIFF_LINES else [])


def group_of(path: str) -> str:
    """Return what a file of code can change."""
    return next((group for group, pattern in GROUPS.items() if re.match(pattern, path)), _LOOKS)


def _shapes(path: str) -> bool:
    """Whether a link could be code: it stands in a package, or where Python would find a module or a package."""
    return is_code(path) or ("/" not in path and PurePosixPath(path).suffix == "")


def _shadow(path: str) -> str:
    """Return what a file outside the packages does to imports."""
    if path.split("/", maxsplit=1)[0] in PACKAGES:
        return ""
    name = PurePosixPath(path)
    if name.parts[0] in {"sitecustomize.py", "usercustomize.py"} or name.suffix == ".pth":
        return ": Python runs it at every start"
    module = name.parts[0].split(".")[0]
    return f": `import {module}` takes it before any library of that name"


def printable(line: str) -> str:
    """Return a line with control characters written out: text of others does nothing to a terminal."""
    return "".join(c if c.isprintable() or c == "\t" else repr(c)[1:-1] for c in line)
