"""dvc.yaml and dvc.lock of a run: stages whose every path lies inside the project."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from reseed.base.errors import ReseedError

_MD5: Final = re.compile(r"[0-9a-f]{32}(\.dir)?")


def read_lock(value: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """Return the stages of dvc.lock.

    Args:
        value: What the file holds.
        where: Its name, for messages.

    Raises:
        ReseedError: If it is not of the known form, names a path outside the project or an odd digest, or if two
            outputs are one or one lies in another: what is recorded of it would be either.
    """
    stages = _stages(value, where)
    outputs: set[str] = set()
    for name, stage in stages.items():
        for kind in ("deps", "outs"):
            for entry in _list(stage, kind, where):
                if not isinstance(entry, dict) or "path" not in entry:
                    raise ReseedError(f"{where}: stage {name} has {kind} without a path")
                require_inside(str(entry["path"]), f"{where}, stage {name}")
                require_md5(str(entry.get("md5")), f"{entry['path']} in {where}")
        paths = [str(entry["path"]) for entry in _list(stage, "outs", where)]
        if twice := (outputs & set(paths)) or {path for path in paths if paths.count(path) > 1}:
            raise ReseedError(f"{where}: {min(twice)} is an output twice")
        outputs |= set(paths)
    for path in sorted(outputs):
        if above := outputs & set(map(str, PurePosixPath(path).parents)):
            raise ReseedError(f"{where}: output {path} lies in output {min(above)}")
    return stages


def read_pipeline(value: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """Return the stages of dvc.yaml.

    Args:
        value: What the file holds.
        where: Its name, for messages.

    Raises:
        ReseedError: If it is not of the known form, or names a path outside the project.
    """
    stages = _stages(value, where)
    for name, stage in stages.items():
        for kind in ("deps", "outs", "metrics", "plots"):
            _list(stage, kind, where)
            for path in declared(stage, kind):
                require_inside(path, f"{where}, stage {name}")
    return stages


def declared(stage: Mapping[str, Any], *kinds: str) -> set[str]:
    """Return the paths that a stage of dvc.yaml names under these keys."""
    return {PurePosixPath(name).as_posix() for name in _named(stage, kinds)}


def require_inside(path: str, where: str) -> None:
    """Check that a path, as DVC writes it, names something below the root of the project, and nothing of git or DVC.

    Raises:
        ReseedError: If it does not.
    """
    plain = PurePosixPath(path)
    odd = path.startswith(("/", "~")) or "\\" in path or ":" in path.split("/", maxsplit=1)[0] or not path.isprintable()
    if odd or not plain.parts or str(plain) != path or {"..", ".git", ".dvc"} & set(plain.parts):
        raise ReseedError(
            f"{where}: the path {path!r} does not lie inside the project; nothing is read or written there"
        )


def require_md5(digest: str, what: str) -> None:
    """Check that a digest is one, as it becomes the name of a file.

    Raises:
        ReseedError: If it is not.
    """
    if not _MD5.fullmatch(digest):
        raise ReseedError(f"{what}: {digest!r} is no md5 of 32 hex digits")


def _stages(value: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    stages = value.get("stages") or {}
    if not isinstance(stages, dict) or not all(isinstance(stage, dict) for stage in stages.values()):
        raise ReseedError(f"{where}: `stages` is no mapping of stages")
    return {str(name): stage for name, stage in stages.items()}


def _list(stage: Mapping[str, Any], kind: str, where: str) -> list[Any]:
    entries = stage.get(kind) or []
    if not isinstance(entries, list):
        raise ReseedError(f"{where}: `{kind}` is no list")
    return entries


def _named(stage: Mapping[str, Any], kinds: tuple[str, ...]) -> Iterator[str]:
    for kind in kinds:
        for entry in stage.get(kind) or []:
            yield str(next(iter(entry)) if isinstance(entry, Mapping) and entry else entry)
