"""What DVC stores of data/raw: a file that it would pass over is refused at pull, and the next stage compares.

A score that was made from a file that is stored nowhere cannot be made again.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from pathspec import GitIgnoreSpec
from ruamel.yaml import YAML

from reseed.artifacts.raw import RawSource
from reseed.base.errors import SourceError

IGNORE_FILE: Final = ".dvcignore"
RAW, RECORD = "data/raw", "data/raw.json"
# DVC passes over these wherever they lie, and refuses to work at all where an output holds the last.
_NEVER_STORED: Final = frozenset({".git", ".hg", ".dvc", IGNORE_FILE})
_SHOWN: Final = 5


def require_storable(name: str, paths: Iterable[str], ignored: Path = Path(IGNORE_FILE)) -> None:
    """Check that DVC would store every file of a source.

    Args:
        name: Of the source.
        paths: POSIX paths of its files below data/raw/<name>.
        ignored: The ignore file of the repository.

    Raises:
        SourceError: Names the files that it would pass over, and why.
    """
    lines = ignored.read_text(encoding="utf-8").splitlines() if ignored.is_file() else []
    patterns = GitIgnoreSpec.from_lines(lines)
    everything = list(paths)
    own = [path for path in everything if not _NEVER_STORED.isdisjoint(PurePosixPath(path).parts)]
    if own:
        found = sorted({next(part for part in PurePosixPath(path).parts if part in _NEVER_STORED) for path in own})
        raise SourceError(
            f"holds {', '.join(found)} ({len(own)} of {len(everything)} files, such as {own[0]}), "
            "which belong to Git, Mercurial or DVC and which DVC never stores; give a copy without them, such as an "
            "archive that `git archive` made"
        )
    passed = [path for path in everything if patterns.match_file(f"{RAW}/{name}/{path}")]
    if passed:
        raise SourceError(
            f"DVC would not store {len(passed)} of {len(everything)} files, as {ignored} has a pattern for them: "
            f"{', '.join(passed[:_SHOWN])}{' ...' if len(passed) > _SHOWN else ''}; begin the pattern with a slash, so "
            "that it does not reach into the data, or rename the files"
        )


def require_stored(sources: Sequence[RawSource], root: Path = Path()) -> None:
    """Compare what was pulled with what DVC stores of it, by `dvc.lock`; without DVC there is nothing to compare.

    Args:
        sources: What the pull stage recorded.
        root: Of the repository.

    Raises:
        SourceError: If DVC has fewer or more files or bytes.
    """
    stored = _stored(root)
    files, size = sum(source.files for source in sources), sum(source.bytes for source in sources)
    if stored is not None and stored != (files, size):
        raise SourceError(
            f"{RAW}: {files} files of {size} bytes were pulled, but DVC stores {stored[0]} files of {stored[1]} bytes: "
            f"the run could not be made again; `dvc check-ignore --details` says which line of {IGNORE_FILE} passes "
            "over a file, `dvc repro -f pull` pulls anew"
        )


def _stored(root: Path) -> tuple[int, int] | None:
    """Return files and bytes of data/raw by `dvc.lock`, if it speaks of the record of sources that lies here."""
    lock = root / "dvc.lock"
    if not lock.is_file() or not (root / RECORD).is_file():
        return None
    stages: dict[str, Any] = YAML(typ="safe").load(lock).get("stages") or {}
    outs = {out["path"]: out for out in stages.get("pull", {}).get("outs", ())}
    raw, record = outs.get(RAW, {}), outs.get(RECORD, {})
    here = hashlib.md5((root / RECORD).read_bytes(), usedforsecurity=False).hexdigest()
    if record.get("md5") != here or "nfiles" not in raw:
        return None
    return int(raw["nfiles"]), int(raw["size"])
