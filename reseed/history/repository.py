"""The repository: its revisions, the files that git tracks at each, and the objects of DVC's cache and remote.

Nothing is checked out and no link is followed: what a revision holds was written by others.
"""

import hashlib
import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from dvc.exceptions import DvcException

from reseed.base.errors import ReseedError
from reseed.base.files import new_file

_EXPERIMENTS: Final = "refs/exps"
# What DVC keeps below refs/exps for itself: the queue, stashes, the experiment that runs.
_INTERNAL: Final = {"exec", "stash", "queue", "celery", "temp", "apply"}
_LINK_MODE: Final = "120000"
_FILE_MODE: Final = "100"
# Nothing is read in the place of what was asked for, and no command of a configuration that came along is run: not to
# list files, to bring objects that a partial clone left out, or to look at a signature.
_AS_IT_IS: Final = (
    "--no-replace-objects",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "protocol.allow=never",
    "-c",
    "log.showSignature=false",
)
# Of one file that git tracks, and of all small ones together, which are read at once.
FILE_BYTES: Final = 256 << 20
_SMALL_BYTES: Final = 1 << 20
_ALL_SMALL_BYTES: Final = 512 << 20
OBJECT_BYTES: Final = 16 << 30
_READ_BYTES: Final = 2 << 30  # a table, a list of files


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


@dataclass(frozen=True)
class Tracked:
    """A path that git tracks at a revision.

    Args:
        kind: `file`, `link`, or `other` for a submodule.
        length_bytes: Of its content.
        blob: Its object in git; empty in the workspace.
    """

    kind: str
    length_bytes: int
    blob: str


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
                f"{name}: neither a git revision nor a DVC experiment ({listed}). If somebody else made it, run "
                "`git fetch` and `dvc exp pull`; in a shallow clone, `git fetch --unshallow`; if it is not committed, "
                "`git commit` or `dvc exp save --name NAME`"
            )
        return Revision(name, experiments.pop())

    def tracked(self, revision: Revision) -> dict[str, Tracked]:
        """Return every path that git tracks at a revision; of the workspace also those that git would add."""
        if not revision.commit:
            listed = self._git("ls-files", "--cached", "--others", "--exclude-standard", "-z")
            return {path: found for path in _names(listed) if (found := _lying_here(self.root / path)) is not None}
        entries = {}
        for entry in _names(self._git("ls-tree", "-r", "-z", "--long", "--full-tree", revision.commit)):
            about, path = entry.split("\t", 1)
            mode, _, blob, length = about.split()
            kind = "file" if mode.startswith(_FILE_MODE) else "link" if mode == _LINK_MODE else "other"
            entries[path] = Tracked(kind, int(length) if length.isdigit() else 0, blob)
        return entries

    def small_files(self, tracked: dict[str, Tracked]) -> dict[str, bytes]:
        """Return the content of every tracked file of at most a megabyte, read in one go; links are none.

        Raises:
            ReseedError: If they are too large together, or git lacks one.
        """
        small = {path: e for path, e in tracked.items() if e.kind == "file" and e.length_bytes <= _SMALL_BYTES}
        total = sum(entry.length_bytes for entry in small.values())
        if total > _ALL_SMALL_BYTES:
            raise ReseedError(f"{len(small)} small files of {total:,} bytes together; {_ALL_SMALL_BYTES:,} are read")
        here = {path: (self.root / path).read_bytes() for path, entry in small.items() if not entry.blob}
        return here | self._blobs({path: entry.blob for path, entry in small.items() if entry.blob})

    def content(self, path: str, entry: Tracked) -> bytes:
        """Return the content of one tracked file.

        Raises:
            ReseedError: If it is a link or a submodule, or too large.
        """
        if entry.kind != "file":
            raise ReseedError(f"{path} is a {'link' if entry.kind == 'link' else 'submodule'} in git, and not followed")
        if entry.length_bytes > FILE_BYTES:
            raise ReseedError(f"{path}: {entry.length_bytes:,} bytes in git; at most {FILE_BYTES:,} are read")
        return self._git("cat-file", "blob", entry.blob) if entry.blob else (self.root / path).read_bytes()

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
        raw = self._git("diff", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", "-z", *commits, "--")
        entries = (entry.split("\t", 2) for entry in _names(raw))
        changed = [(path, _lines(added), _lines(removed)) for added, removed, path in entries]
        if not second.commit:
            new = _names(self._git("ls-files", "--others", "--exclude-standard", "-z"))
            changed += [
                (path, _count_lines(self.root / path), 0)
                for path in new
                if path.startswith(new_below) and (self.root / path).is_file()
            ]
        return sorted(changed, key=lambda file: file[0])

    def committed_at(self, commit: str) -> str:
        """Return when a commit was made, ISO 8601 with the offset of its maker."""
        return str(self._git("show", "--no-patch", "--format=%cI", commit).decode().strip())

    def last_changes(
        self, revision: Revision, path: str, most: int, *, everywhere: bool = False
    ) -> list[tuple[Revision, str, str]]:
        """Return the last commits of the main line that changed a file, the newest first: commit, time and subject.

        Args:
            revision: Where the line ends.
            path: The file.
            most: Commits.
            everywhere: Whether all branches, tags and experiments are looked at instead.
        """
        which = ["--all"] if everywhere else ["--first-parent", revision.commit or "HEAD"]
        form = "--format=%H%x00%cI%x00%s"
        listed = self._git("log", f"--max-count={most}", form, *which, "--", path, may_fail=True)
        rows = [line.split("\0") for line in (listed or b"").decode("utf-8", "replace").splitlines()]
        return [(Revision(commit, commit), when, subject) for commit, when, subject in rows]

    def cached(self, digest: str) -> Path:
        """Return where DVC's cache keeps the object of a md5, whether or not it is there."""
        return self._cache / "files" / "md5" / digest[:2] / digest[2:]

    def fetch(self, digest: str, what: str, goal: Path | None = None) -> Path:
        """Bring an object of the default remote here, a part at a time, compared with its digest; return where it is.

        Args:
            digest: Its md5, with `.dir` for the list of a folder.
            what: What it is, for messages.
            goal: Where to write it; the cache by default.

        Raises:
            MissingError: If no remote is set up, or the remote has no such object.
            ReseedError: If it is damaged.
        """
        try:
            remote = self._dvc.cloud.get_remote_odb(hash_name="md5")
        except DvcException as error:
            raise MissingError(f"{what} is not in the DVC cache, and no remote is set up to fetch it from") from error
        where = remote.oid_to_path(digest)
        try:
            if (remote.fs.size(where) or 0) > OBJECT_BYTES:
                raise ReseedError(f"{what}: more than {OBJECT_BYTES:,} bytes in the remote; they are not fetched")
            with new_file(goal or self.cached(digest)) as part:
                remote.fs.get_file(where, str(part))
                part.chmod(0o444)  # as DVC protects its objects
                if file_md5(part) != digest.removesuffix(".dir"):
                    raise ReseedError(damaged(f"the remote's object of {what}", digest))
        except FileNotFoundError as error:
            place = remote.fs.unstrip_protocol(where)
            raise MissingError(f"{what} is not in the DVC cache, nor in the remote ({place})") from error
        except (DvcException, OSError) as error:
            raise MissingError(f"{what} is not in the DVC cache, and the remote cannot be read: {error}") from error
        return goal or self.cached(digest)

    @cached_property
    def _cache(self) -> Path:
        """The cache that the auditor's own configuration names; that of a revision is never read."""
        from dvc.config import Config  # noqa: PLC0415  a third of a second that few commands need

        named = Config(str(self.root / ".dvc"), validate=False).get("cache", {}).get("dir")
        return Path(self.root / ".dvc", named or "cache")

    @cached_property
    def _dvc(self) -> Any:
        from dvc.repo import Repo  # noqa: PLC0415  a second that only fetching needs

        return Repo(str(self.root))

    def _blobs(self, blob_of: dict[str, str]) -> dict[str, bytes]:
        answer = self._git("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in blob_of.values()).encode())
        found, at = {}, 0
        for path in blob_of:
            end = answer.index(b"\n", at)
            head = answer[at:end].split()
            if head[1] != b"blob":
                raise ReseedError(f"git lacks the content of {path}; fetch the whole commit")
            at = end + 1 + int(head[2])
            found[path] = answer[end + 1 : at]
            at += 1
        return found

    def _experiments(self) -> list[tuple[str, str]]:
        listed = self._git("for-each-ref", "--format=%(refname) %(objectname)", _EXPERIMENTS)
        rows = [line.rsplit(" ", 1) for line in listed.decode().splitlines()]
        return [
            (reference.split("/")[-1], commit)
            for reference, commit in rows
            if reference.removeprefix(f"{_EXPERIMENTS}/").split("/")[0] not in _INTERNAL
        ]

    def _git(self, *arguments: str, may_fail: bool = False, stdin: bytes = b"") -> Any:
        command = ["git", *_AS_IT_IS, *arguments]
        done = subprocess.run(command, cwd=self.root, input=stdin, capture_output=True, check=False)
        if done.returncode == 0:
            return done.stdout
        if may_fail:
            return None
        raise ReseedError(f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}")


class MissingError(ReseedError):
    """An object is neither in the cache nor, where that may be asked, in the remote."""


def require_digest(content: bytes, digest: str, what: str) -> None:
    """Check that an object hashes to its name.

    Raises:
        ReseedError: If it does not.
    """
    if md5_of(content) != digest.removesuffix(".dir"):
        raise ReseedError(damaged(what, digest))


def damaged(what: str, digest: str) -> str:
    """Return what is said of an object that does not hash to its name."""
    return f"{what} is damaged: it does not hash to its name {digest}; remove it and fetch"


def bounded_bytes(path: Path, what: str) -> bytes:
    """Return the content of a file that is read at once.

    Raises:
        ReseedError: If it is too long for that: a file without content can claim any length.
    """
    if (length := path.stat().st_size) > _READ_BYTES:
        raise ReseedError(f"{what}: {length:,} bytes; at most {_READ_BYTES:,} are read at once")
    return path.read_bytes()


def file_md5(path: Path) -> str:
    """Return the md5 of a file, read a part at a time."""
    with path.open("rb") as reader:
        return hashlib.file_digest(reader, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def md5_of(content: bytes) -> str:
    """Return the md5 of a content as DVC computes it, 32 hex digits."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def folder_digest(members: Mapping[str, str]) -> str:
    """Return the md5 that DVC gives a folder, from the md5 of each file by its path in it."""
    rows = [{"md5": members[name], "relpath": name} for name in sorted(members)]
    return f"{md5_of(json.dumps(rows, sort_keys=True).encode())}.dir"


def _lying_here(path: Path) -> Tracked | None:
    if path.is_symlink():
        return Tracked("link", 0, "")
    if path.is_file():
        return Tracked("file", path.stat().st_size, "")
    return Tracked("other", 0, "") if path.exists() else None


def _names(raw: bytes) -> Iterable[str]:
    return [name for name in raw.decode("utf-8", "surrogateescape").split("\0") if name]


def _lines(count: str) -> int | None:
    return None if count == "-" else int(count)


def _count_lines(path: Path) -> int | None:
    content = path.read_bytes()
    return None if b"\0" in content else len(content.splitlines())
