"""One state of the project laid out in a folder of its own: the workspace, or a revision that nobody checked out."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pandas as pd
from dvc.exceptions import DvcException
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from reseed.artifacts.table import Table
from reseed.base.errors import ReseedError
from reseed.base.files import new_file
from reseed.history.repository import Repository

LOCK: Final = "dvc.lock"
WORKSPACE: Final = "workspace"
_FOLDER: Final = ".dir"


@dataclass(frozen=True)
class Snapshot:
    """A state of the project.

    Args:
        repository: That it belongs to.
        name: As it was asked for.
        commit: 40 hex digits; empty for the workspace.
        tree: Folder with the files that git tracks at this state; of the workspace also those git would add.
        fetch: Whether objects that the cache lacks are fetched from the default remote into it.
    """

    repository: Repository
    name: str
    commit: str
    tree: Path
    fetch: bool

    @cached_property
    def lock(self) -> dict[str, Any]:
        """What dvc.lock says of each stage; empty without one."""
        return dict(self.yaml(LOCK).get("stages") or {}) if (self.tree / LOCK).is_file() else {}

    @cached_property
    def pipeline(self) -> dict[str, Any]:
        """The stages of dvc.yaml."""
        return dict(self.yaml("dvc.yaml").get("stages") or {})

    @cached_property
    def outputs(self) -> dict[str, dict[str, Any]]:
        """The lock entry of each output, by its path."""
        return {out["path"]: out for stage in self.lock.values() for out in stage.get("outs") or []}

    def yaml(self, path: str) -> dict[str, Any]:
        """Return a mapping that git tracks.

        Raises:
            ReseedError: If it is missing, is no YAML or no mapping.
        """
        try:
            value = YAML(typ="safe", pure=True).load(self.tree / path)
        except FileNotFoundError as error:
            raise ReseedError(f"{self.name} has no {path}: it is no run of this project") from error
        except (YAMLError, UnicodeDecodeError) as error:
            raise ReseedError(f"{path} of {self.name}: not readable ({' '.join(str(error).split())})") from error
        if not isinstance(value, dict):
            raise ReseedError(f"{path} of {self.name}: holds {type(value).__name__}, expected a mapping")
        return value

    def object(self, digest: str) -> Path | None:
        """Return the cached object of a md5; None if it is not there and was not to be, or cannot be, fetched.

        Raises:
            ReseedError: If what was fetched does not hash to its name.
        """
        cached = self.repository.cached(digest)
        if not cached.is_file() and self.fetch:
            try:
                data = self.repository.from_remote(digest)
            except (DvcException, OSError):
                return None
            if hashlib.md5(data, usedforsecurity=False).hexdigest() != digest.removesuffix(_FOLDER):
                raise ReseedError(f"the remote's object {digest} is damaged: it does not hash to its name")
            with new_file(cached) as part:
                part.write_bytes(data)
            cached.chmod(0o444)  # as DVC protects its objects
        return cached if cached.is_file() else None

    def members(self, path: str) -> list[tuple[str, str]] | None:
        """Return path and md5 of every file of an output; None if it is a folder and the list of its files is missing.

        Raises:
            ReseedError: If the list cannot be read.
        """
        digest = str(self.outputs[path].get("md5"))
        if not digest.endswith(_FOLDER):
            return [(path, digest)]
        listing = self.object(digest)
        if listing is None:
            return None
        try:
            return [(f"{path}/{entry['relpath']}", str(entry["md5"])) for entry in json.loads(listing.read_bytes())]
        except (ValueError, KeyError, TypeError) as error:
            raise ReseedError(f"{path}: the list of its files is damaged; remove {listing} and fetch") from error

    def stored(self, path: str) -> Path | None:
        """Return the file that holds an output or a tracked file; None if its object is not there.

        Raises:
            ReseedError: If neither git nor dvc.lock know the path.
        """
        if (self.tree / path).is_file():
            return self.tree / path
        if path not in self.outputs:
            raise ReseedError(f"{self.name} has no {path}: neither git nor its {LOCK} knows it")
        return self.object(str(self.outputs[path]["md5"]))

    def table(self, path: str, table: Table) -> pd.DataFrame:
        """Read a table of this state.

        Raises:
            ReseedError: If its object is not here.
            TableError: If it has another form.
        """
        file = self.stored(path)
        if file is None:
            raise ReseedError(f"{path} of {self.name}: its object is not here; `--fetch` or `dvc pull` gets it")
        return table.read(file)


@contextmanager
def snapshot(repository: Repository, revision: str | None, *, fetch: bool) -> Iterator[Snapshot]:
    """Lay a state out in a temporary folder.

    Args:
        repository: Around the current folder.
        revision: Git revision or DVC experiment; None for the workspace.
        fetch: See `Snapshot`.

    Raises:
        ReseedError: If there is no such revision.
    """
    with tempfile.TemporaryDirectory(prefix="reseed-audit-") as folder:
        tree = Path(folder, "tree")
        tree.mkdir()
        if revision is None:
            _copy_workspace(repository.root, tree)
            yield Snapshot(repository, WORKSPACE, "", tree, fetch)
        else:
            found = repository.resolve(revision)
            _export(repository.root, found.commit, tree, Path(folder, "index"))
            yield Snapshot(repository, str(found), found.commit, tree, fetch)


def md5_of(path: Path) -> str:
    """Return the md5 of a file as DVC computes it, 32 hex digits."""
    with path.open("rb") as reader:
        return hashlib.file_digest(reader, _md5).hexdigest()


def plain(value: Any) -> Any:
    """Return a YAML value as plain mappings and lists, to be compared."""
    if isinstance(value, Mapping):
        return {str(key): plain(child) for key, child in value.items()}
    return [plain(child) for child in value] if isinstance(value, (list, tuple)) else value


def _md5() -> Any:
    return hashlib.md5(usedforsecurity=False)


def _copy_workspace(root: Path, tree: Path) -> None:
    listed = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z").decode()
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, tree / name)


def _export(root: Path, commit: str, tree: Path, index: Path) -> None:
    env = os.environ | {"GIT_INDEX_FILE": str(index.resolve())}
    _git(root, "read-tree", commit, env=env)
    _git(root, "checkout-index", "--all", f"--prefix={tree.resolve()}/", env=env)


def _git(root: Path, *arguments: str, env: Mapping[str, str] | None = None) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=root, env=env, capture_output=True, check=False)
    if done.returncode != 0:
        raise ReseedError(f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
