"""The result of one check, and check code: would the revision run the trusted code, file by file?

The trusted code is that of the audit's own checkout or of a named revision. Code of the audited revision is read and
compared, never run.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path, PurePosixPath
from typing import Any, Final

import reseed
from reseed.base.documents import parse_yaml
from reseed.base.errors import ReseedError
from reseed.history.recorded import declared
from reseed.history.repository import Repository
from reseed.history.run import Run

PASS: Final = "PASS"  # noqa: S105
FAIL: Final = "FAIL"
NOT_CHECKED: Final = "NOT CHECKED"
DIFFERS: Final = "DIFFERS"


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Args:
        status: PASS, FAIL, NOT CHECKED or, of code, DIFFERS.
        reason: One line: what was compared, what is wrong, or why nothing was checked.
        findings: Everything that is wrong or missing, one line each.
        notes: What a reader should know and what is no failure.
        wanted: Whether it was to be done; what nobody asked for does not change the exit code.
    """

    status: str
    reason: str
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    wanted: bool = True


def judged(failures: Sequence[str], unchecked: Sequence[str], passed: str, notes: Sequence[str] = ()) -> Check:
    """Return FAIL if anything is wrong, else NOT CHECKED if anything could not be compared, else PASS.

    Args:
        failures: What is wrong.
        unchecked: What could not be compared.
        passed: The reason of a PASS.
        notes: See `Check`.
    """
    if failures:
        return Check(FAIL, _counted(failures), (*failures, *unchecked), tuple(notes))
    if unchecked:
        return Check(NOT_CHECKED, _counted(unchecked), tuple(unchecked), tuple(notes))
    return Check(PASS, passed, (), tuple(notes))


def _counted(lines: Sequence[str]) -> str:
    return lines[0] if len(lines) == 1 else f"{lines[0]} (and {len(lines) - 1} more)"


# What decides what runs, beside Python files: the pipeline, and which versions of which libraries. The configuration
# of DVC does not count: no check uses that of a revision, and it names each team's own remote.
DECIDING: Final = re.compile(r"dvc\.yaml|requirements[\w.-]*|pyproject\.toml|setup\.(py|cfg)")
PACKAGES: Final = ("reseed", "stages")
# A module, compiled or not, a path file, an archive of modules.
_IMPORTABLE: Final = {".py", ".pyc", ".pyo", ".pyd", ".so", ".dll", ".dylib", ".pth", ".egg", ".zip", ".whl"}


@dataclass(frozen=True)
class Code:
    """The code of one state of the project.

    Args:
        name: For people.
        files: Content by POSIX path below its root: everything that Python or DVC would take from there.
        folder: Where it lies ready to run; None if it has to be laid out first.
    """

    name: str
    files: Mapping[str, bytes]
    folder: Path | None = None

    @cached_property
    def pipeline(self) -> dict[str, Any]:
        """The stages of its dvc.yaml."""
        value = parse_yaml(self.files["dvc.yaml"], f"dvc.yaml of {self.name}")
        return dict(value["stages"])

    def order(self) -> list[str]:
        """Return every stage after those whose outputs it reads."""
        maker = {path: stage for stage in self.pipeline for path in self.outputs(stage)}
        reads = {stage: {maker[path] for path in self.inputs(stage) if path in maker} for stage in self.pipeline}
        return list(TopologicalSorter(reads).static_order())

    def inputs(self, stage: str) -> list[str]:
        """Return the data that a stage reads: its `deps` that are no code."""
        deps = declared(self.pipeline[stage], "deps")
        return sorted(path for path in deps if path.split("/")[0] not in PACKAGES and path not in self.files)

    def outputs(self, stage: str) -> set[str]:
        """Return what a stage writes."""
        return declared(self.pipeline[stage], "outs", "metrics", "plots")

    def ready(self, folder: Path) -> Path:
        """Return where this code lies ready to run; it is laid out in `folder` if it lies nowhere yet."""
        if self.folder is not None:
            return self.folder
        if not folder.exists():
            for path, content in self.files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
        return folder


def trusted_code(repository: Repository, revision: str | None) -> Code:
    """Return the code of the checkout that runs this audit, or that of a revision.

    Raises:
        ReseedError: If there is no such revision, or it is no version of this project.
    """
    if revision is not None:
        code = revision_code(Run(repository, repository.resolve(revision)))
        if "dvc.yaml" not in code.files:
            raise ReseedError(f"--trusted {revision}: no version of this project, it has no dvc.yaml")
        return code
    root = Path(next(iter(reseed.__path__))).resolve().parent
    if not (root / "dvc.yaml").is_file():
        raise ReseedError(f"{root}: the code that runs has no dvc.yaml beside it; run the audit from a checkout")
    return Code("this checkout", dict(_lying_code(root)), root)


def revision_code(run: Run) -> Code:
    """Return the code that git tracks at a revision; links are left out."""
    return Code(run.name, {path: run.source(path) for path in run.tracked if is_code(path) and run.has(path)})


def is_code(path: str) -> bool:
    """Whether the file shapes what runs: of a package, importable from the root, or deciding commands and versions."""
    name = PurePosixPath(path)
    if name.parts[0] in PACKAGES or DECIDING.fullmatch(path):
        return True
    # Nothing imports tests, benchmarks or docs unless code of the packages does, and that is compared.
    return name.suffix in _IMPORTABLE and name.parts[0] not in {"tests", "benchmarks", "docs"}


def _lying_code(root: Path) -> Iterator[tuple[str, bytes]]:
    below = [path for top in PACKAGES for path in sorted((root / top).rglob("*")) if "__pycache__" not in path.parts]
    for path in (*below, *sorted(root.iterdir())):
        name = path.relative_to(root).as_posix()
        if path.is_file() and is_code(name):
            yield name, path.read_bytes()


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
_DIFF_LONGEST: Final = 5000  # lines of a file


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
    """Return the differences as a unified diff, the trusted code first."""
    lines: list[str] = []
    for path, how in differences(run, trusted):
        sides = [trusted.files.get(path, b""), run.source(path) if run.has(path) else b""]
        # Comparing takes the square of the length.
        if any(b"\0" in side or side.count(b"\n") > _DIFF_LONGEST for side in sides):
            lines.append(f"{how} (binary, or longer than {_DIFF_LONGEST} lines)")
            continue
        old, new = (side.decode(errors="replace").splitlines() for side in sides)
        lines += difflib.unified_diff(old, new, f"{path} ({trusted.name})", f"{path} ({run.name})", lineterm="")
    return lines[:_DIFF_LINES] + ([f"and {len(lines) - _DIFF_LINES} lines more"] if len(lines) > _DIFF_LINES else [])


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
