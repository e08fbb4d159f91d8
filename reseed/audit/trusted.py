"""Code of the project: that which an audit trusts, of its own checkout or a named revision, and that of a revision."""

import re
from collections.abc import Iterator, Mapping
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
