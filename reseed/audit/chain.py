"""Rung chain: do the digests of dvc.lock lead from the score to the raw data, this code and these parameters?"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from reseed.audit.checks import FAIL, Rung, judged
from reseed.base.errors import ReseedError
from reseed.history.snapshot import LOCK, Snapshot, md5_of, plain

PACKAGES: Final = ("reseed", "stages")


def closure(module: str, root: Path) -> list[str]:
    """Return the project files that importing `module` loads, package `__init__` files included.

    Imports inside functions count; names that are only known when the code runs cannot be seen.

    Args:
        module: Dotted name, such as `stages.train`.
        root: Folder of the project.

    Returns:
        POSIX paths below `root`, sorted; none if there is no such module.

    Raises:
        ReseedError: If a file cannot be parsed.
    """
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        for path in _files(waiting.pop(), root):
            if path not in found:
                found.add(path)
                waiting.extend(_imports(path, root))
    return sorted(path.relative_to(root).as_posix() for path in found)


def _files(module: str, root: Path) -> list[Path]:
    """Return the file of a module and the `__init__` of each package above it; nothing for other packages."""
    parts = module.split(".")
    if parts[0] not in PACKAGES:
        return []
    packages = [root.joinpath(*parts[:depth], "__init__.py") for depth in range(1, len(parts) + 1)]
    files = [path for path in packages if path.is_file()]
    file = root.joinpath(*parts).with_suffix(".py")
    return [*files, file] if file.is_file() else files


def _imports(path: Path, root: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise ReseedError(f"{path.relative_to(root).as_posix()}: not readable as Python: {error}") from error
    package = path.relative_to(root).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            # `from package import module` names a module, `from module import name` does not: both are tried.
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


METRICS: Final = "metrics/metrics.json"
# DVC leaves keys of these names out of what it compares (treeverse/dvc#10296): a change of one would rerun nothing.
BANNED_KEYS: Final = frozenset({"size", "nfiles"})
# What makes DVC call a stage up to date, or a different command, whatever its digests say.
_EVASIVE: Final = ("frozen", "always_changed", "wdir", "vars", "foreach", "matrix")
_COMMAND: Final = re.compile(r"python -m (stages\.\w+)")
_ABSENT: Final = object()


def check_chain(snapshot: Snapshot) -> Rung:
    """Compare dvc.lock with dvc.yaml, params.yaml, the tracked files and itself."""
    if not snapshot.lock:
        return Rung(FAIL, f"{snapshot.name} has no {LOCK}, so nothing says what the score was computed from")
    failures = [*_stages(snapshot), *_links(snapshot), *_params(snapshot), *_closures(snapshot), *_tracked(snapshot)]
    path = _way_back(snapshot)
    if path[-1] != "data/raw":
        failures.append(f"the chain from {METRICS} ends at {path[-1]}, not at data/raw")
    n_deps = sum(len(entry.get("deps") or []) for entry in snapshot.lock.values())
    return judged(failures, [], f"{len(snapshot.lock)} stages, {n_deps} dependencies: {' <- '.join(path)}")


def _stages(snapshot: Snapshot) -> Iterator[str]:
    """Yield where dvc.lock and dvc.yaml do not speak of the same pipeline."""
    for name in sorted(snapshot.pipeline.keys() ^ snapshot.lock.keys()):
        where = "dvc.yaml" if name in snapshot.pipeline else LOCK
        yield f"stage {name} stands in {where} alone"
    for name in _both(snapshot):
        wanted, locked = snapshot.pipeline[name], snapshot.lock[name]
        yield from (f"stage {name}: `{key}` in dvc.yaml" for key in _EVASIVE if key in wanted)
        if wanted.get("cmd") != locked.get("cmd"):
            yield f"stage {name}: ran `{locked.get('cmd')}`, dvc.yaml says `{wanted.get('cmd')}`"
        for kind, paths in (("deps", _declared(wanted, "deps")), ("outs", _declared(wanted, "outs", "metrics"))):
            for path in sorted(paths ^ {str(entry["path"]) for entry in locked.get(kind) or []}):
                where = "dvc.yaml" if path in paths else LOCK
                yield f"stage {name}: {path} is among the {kind} of {where} alone"


def _links(snapshot: Snapshot) -> Iterator[str]:
    """Yield every dependency that is not what its producer made, or not the file of this state."""
    for name, stage in snapshot.lock.items():
        for dep in stage.get("deps") or []:
            path, digest = str(dep["path"]), str(dep.get("md5"))
            made = snapshot.outputs.get(path)
            if made is not None:
                if made.get("md5") != digest:
                    yield f"stage {name} read {path} as {digest}, its producer made {made.get('md5')}"
            elif not (snapshot.tree / path).is_file():
                yield f"stage {name} read {path}, which {snapshot.name} does not have"
            elif md5_of(snapshot.tree / path) != digest:
                yield f"stage {name} read {path} as {digest}, {snapshot.name} has {md5_of(snapshot.tree / path)}"


def _params(snapshot: Snapshot) -> Iterator[str]:
    """Yield every parameter that was not used as params.yaml has it, and every key that DVC would overlook."""
    values = plain(snapshot.yaml("params.yaml"))
    yield from (
        f"params.yaml: key {key}: DVC overlooks changes of keys with that name"
        for key in sorted(_keys(values))
        if key.split(".")[-1] in BANNED_KEYS
    )
    for name in _both(snapshot):
        locked = (snapshot.lock[name].get("params") or {}).get("params.yaml") or {}
        for key in sorted(locked.keys() ^ set(snapshot.pipeline[name].get("params") or [])):
            yield f"stage {name}: parameter {key} stands in {LOCK if key in locked else 'dvc.yaml'} alone"
        for key, used in locked.items():
            now = _value(values, key)
            if now is _ABSENT or not _same(plain(used), now):
                yield f"stage {name} used {key}: {used}, params.yaml has {'none' if now is _ABSENT else now}"


def _closures(snapshot: Snapshot) -> Iterator[str]:
    """Yield every project file that a stage loads and that its deps do not name."""
    for name, stage in snapshot.pipeline.items():
        command = _COMMAND.fullmatch(str(stage.get("cmd")))
        if command is None:
            yield f"stage {name} runs `{stage.get('cmd')}`, not `python -m stages.<name>`: what it loads is unknown"
            continue
        try:
            loaded = closure(command[1], snapshot.tree)
        except ReseedError as error:
            yield f"stage {name}: {error}"
            continue
        if f"{command[1].replace('.', '/')}.py" not in loaded:
            yield f"stage {name}: {snapshot.name} has no module {command[1]}"
        missing = sorted(set(loaded) - _declared(stage, "deps"))
        yield from (f"stage {name} imports {path}, which is not among its deps" for path in missing)


def _tracked(snapshot: Snapshot) -> Iterator[str]:
    """Yield every output in git that is not the one dvc.lock recorded."""
    for path, out in snapshot.outputs.items():
        if path.split("/")[0] in PACKAGES:
            yield f"{path} is code and the output of a stage"
        if (snapshot.tree / path).is_file() and md5_of(snapshot.tree / path) != out.get("md5"):
            yield f"{path} of {snapshot.name} is {md5_of(snapshot.tree / path)}, {LOCK} recorded {out.get('md5')}"


def _way_back(snapshot: Snapshot) -> list[str]:
    """Return a way from the score to the raw data: the longest, stage by stage; it ends where nothing made a file."""
    makers = {out["path"]: stage for stage in snapshot.lock.values() for out in stage.get("outs") or []}

    def longest(path: str, above: tuple[str, ...]) -> list[str]:
        deps = [str(dep["path"]) for dep in makers.get(path, {}).get("deps") or []]
        ways = [longest(dep, (*above, path)) for dep in deps if dep in makers and dep not in above and dep != path]
        return [path, *max(ways, key=lambda way: (way[-1] == "data/raw", len(way)), default=[])]

    return longest(METRICS, ())


def _both(snapshot: Snapshot) -> list[str]:
    return [name for name in snapshot.pipeline if name in snapshot.lock]


def _declared(stage: Mapping[str, Any], *kinds: str) -> set[str]:
    entries = [entry for kind in kinds for entry in stage.get(kind) or []]
    names = [next(iter(entry)) if isinstance(entry, Mapping) else entry for entry in entries]
    return {PurePosixPath(name).as_posix() for name in names}


def _keys(values: Any, above: str = "") -> Iterator[str]:
    if isinstance(values, dict):
        for key, child in values.items():
            yield f"{above}{key}"
            yield from _keys(child, f"{above}{key}.")
    elif isinstance(values, list):
        for child in values:
            yield from _keys(child, above)


def _value(values: Any, key: str) -> Any:
    for part in key.split("."):
        if not isinstance(values, dict) or part not in values:
            return _ABSENT
        values = values[part]
    return values


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal and of the same kind: 1 is not true, though 1 and 1.0 are one number."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)
