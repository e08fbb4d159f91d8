"""Files of another revision, without checking it out: from git, else from DVC's cache, else from its remote."""

import hashlib
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from dvc.exceptions import DvcException
from dvc.repo import Repo
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from reseed.base.errors import ReseedError

_LOCK: Final = "dvc.lock"
_EXPERIMENTS: Final = "refs/exps"
# What DVC keeps below refs/exps for itself: the queue, stashes, the experiment that runs.
_INTERNAL: Final = {"exec", "stash", "queue", "celery", "temp", "apply"}


@dataclass(frozen=True)
class Revision:
    """A state of the project that git knows, or the workspace.

    Args:
        name: As it was asked for.
        commit: 40 hex digits; empty for the workspace.
    """

    name: str
    commit: str

    def __str__(self) -> str:
        """Return name and short commit, or the commit alone where it was asked for by its digits."""
        short = self.commit[:7]
        if not short:
            return self.name
        return short if self.commit.startswith(self.name) else f"{self.name} ({short})"


# The files as they lie there, committed or not.
HERE: Final = Revision("workspace", "")


class Repository:
    """The repository around a folder.

    Args:
        root: Its root, with `.git` and `.dvc`.

    Raises:
        ReseedError: If git or DVC do not know the folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        if not (root / ".dvc").is_dir() or not (root / ".git").exists():
            raise ReseedError(
                f"{root.resolve()}: no repository with git and DVC; run this from the root of the checkout"
            )

    def resolve(self, name: str) -> Revision:
        """Return the revision that a commit, branch, tag or DVC experiment is.

        Raises:
            ReseedError: If there is none, or several experiments have the name.
        """
        found = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", may_fail=True)
        if found is not None:
            return Revision(name, found.decode().strip())
        experiments = {commit for title, commit in self._experiments() if title == name}
        if len(experiments) > 1:
            commits = ", ".join(sorted(commit[:7] for commit in experiments))
            raise ReseedError(f"{len(experiments)} experiments are called {name}; name one by its commit: {commits}")
        if not experiments:
            known = sorted({title for title, _ in self._experiments()})
            listed = f"experiments here: {', '.join(known[:10])}" if known else "there are no experiments here"
            raise ReseedError(
                f"{name}: neither a git revision nor a DVC experiment ({listed}); `git fetch` and `dvc exp pull` bring "
                "those of others, a shallow clone has no history (`git fetch --unshallow`), and what is not committed "
                "yet is neither (`git commit`, or `dvc exp save --name NAME`)"
            )
        return Revision(name, experiments.pop())

    def read(self, revision: Revision, path: str) -> bytes:
        """Return the content of a file at a revision.

        Args:
            revision: Of this repository.
            path: POSIX path below the root: a file that git tracks or an output of a stage.

        Raises:
            ReseedError: If the revision has no such file, or DVC has its object neither in the cache nor in the remote.
        """
        content = self._tracked(revision, path)
        return self._object(revision, path) if content is None else content

    def changed_files(
        self, first: Revision, second: Revision, new_below: tuple[str, ...]
    ) -> list[tuple[str, int | None, int | None]]:
        """Return path, added and removed lines of every file that git tracks and that differs; None if binary.

        Args:
            first: A commit.
            second: A commit, or the workspace: then files that git would add may count too.
            new_below: How the path of a file starts that counts though git does not track it yet.
        """
        commits = [revision.commit for revision in (first, second) if revision.commit]
        raw = self._git("diff", "--numstat", "--no-renames", "-z", *commits, "--") or b""
        entries = (entry.split("\t", 2) for entry in _names(raw))
        changed = [(path, _lines(added), _lines(removed)) for added, removed, path in entries]
        if not second.commit:
            new = _names(self._git("ls-files", "--others", "--exclude-standard", "-z") or b"")
            changed += [
                (path, _count_lines(self.root / path), 0)
                for path in new
                if path.startswith(new_below) and (self.root / path).is_file()
            ]
        return sorted(changed, key=lambda file: file[0])

    def committed_at(self, commit: str) -> str:
        """Return when a commit was made, ISO 8601 with the offset of its maker."""
        return (self._git("show", "--no-patch", "--format=%cI", commit) or b"").decode().strip()

    def cached(self, digest: str) -> Path:
        """Return where DVC's cache keeps the object of a md5, whether or not it is there."""
        return Path(self._dvc.cache.local.oid_to_path(digest))

    def from_remote(self, digest: str) -> bytes:
        """Return an object of the default remote, not compared with its digest.

        Raises:
            DvcException: If no remote is set up.
            OSError: If it cannot be read.
        """
        remote = self._dvc.cloud.get_remote_odb(hash_name="md5")
        return bytes(remote.fs.cat_file(remote.oid_to_path(digest)))

    def _object(self, revision: Revision, path: str) -> bytes:
        digest = self._outputs(revision).get(path)
        if digest is None:
            raise ReseedError(
                f"{revision} has no {path}: neither git nor its {_LOCK} knows it; run `dvc repro` there and commit "
                f"{_LOCK}"
            )
        cache = self._dvc.cache.local
        cached = Path(cache.oid_to_path(digest))
        if cached.is_file():
            content = cached.read_bytes()
            where = str(cached)
        else:
            content, where = self._from_remote(revision, path, digest)
        if hashlib.md5(content, usedforsecurity=False).hexdigest() != digest:
            raise ReseedError(
                f"{where}: damaged, it is not the {path} (md5 {digest}) of {revision}; remove it and fetch"
            )
        return content

    def _from_remote(self, revision: Revision, path: str, digest: str) -> tuple[bytes, str]:
        missing = f"{path} of {revision} (md5 {digest}) is not in the DVC cache"
        remedy = "run `dvc push` where it was made and try again, or make it anew: check the revision out, `dvc repro`"
        try:
            remote = self._dvc.cloud.get_remote_odb(hash_name="md5")
        except DvcException as error:
            raise ReseedError(f"{missing}, and no remote is set up to fetch it from; {remedy}") from error
        where = remote.oid_to_path(digest)
        try:
            return bytes(remote.fs.cat_file(where)), str(where)
        except FileNotFoundError as error:
            raise ReseedError(
                f"{missing}, nor in the remote ({remote.fs.unstrip_protocol(where)}); {remedy}"
            ) from error
        except (DvcException, OSError) as error:
            raise ReseedError(f"{missing}, and the remote cannot be read: {error}") from error

    def _outputs(self, revision: Revision) -> dict[str, str]:
        """Return the md5 of each output file in the lock file of a revision."""
        text = self._tracked(revision, _LOCK)
        if text is None:
            return {}
        try:
            stages: dict[str, Any] = YAML(typ="safe", pure=True).load(text.decode("utf-8")).get("stages") or {}
        except (YAMLError, UnicodeDecodeError, AttributeError) as error:
            raise ReseedError(f"{_LOCK} of {revision}: not readable ({' '.join(str(error).split())})") from error
        return {out["path"]: out["md5"] for stage in stages.values() for out in stage.get("outs") or [] if "md5" in out}

    def _tracked(self, revision: Revision, path: str) -> bytes | None:
        """Return a file that git tracks at a revision, any file of the workspace; None if there is none."""
        if revision.commit:
            return self._git("cat-file", "blob", f"{revision.commit}:{path}", may_fail=True)
        return (self.root / path).read_bytes() if (self.root / path).is_file() else None

    def _experiments(self) -> list[tuple[str, str]]:
        listed = self._git("for-each-ref", "--format=%(refname) %(objectname)", _EXPERIMENTS) or b""
        rows = [line.rsplit(" ", 1) for line in listed.decode().splitlines()]
        return [
            (reference.split("/")[-1], commit)
            for reference, commit in rows
            if reference.removeprefix(f"{_EXPERIMENTS}/").split("/")[0] not in _INTERNAL
        ]

    def _git(self, *arguments: str, may_fail: bool = False) -> bytes | None:
        done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, check=False)
        if done.returncode == 0:
            return done.stdout
        if may_fail:
            return None
        raise ReseedError(f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}")

    @cached_property
    def _dvc(self) -> Repo:
        return Repo(str(self.root))


def _names(raw: bytes) -> list[str]:
    return [name for name in raw.decode("utf-8", "surrogateescape").split("\0") if name]


def _lines(count: str) -> int | None:
    return None if count == "-" else int(count)


def _count_lines(path: Path) -> int | None:
    content = path.read_bytes()
    return None if b"\0" in content else len(content.splitlines())
