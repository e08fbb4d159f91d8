"""Check chain: do the digests of dvc.lock lead from the score to the raw data, this code and these parameters?"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from graphlib import TopologicalSorter
from pathlib import PurePosixPath
from typing import Any, Final

from reseed.audit.trusted import FAIL, PACKAGES, Check, Code, judged
from reseed.base.errors import ReseedError
from reseed.history.recorded import declared, other_params
from reseed.history.repository import folder_digest, md5_of
from reseed.history.run import LOCK, METRICS, RAW, Run

Reader = Callable[[str], bytes | None]


def closure(module: str, read: Reader) -> list[str]:
    """Return the project files that importing `module` loads.

    Imports inside functions count; names that are only known when the code runs cannot be seen. An `__init__` that has
    nothing but its docstring does not count: it loads nothing, and the package works without it.

    Args:
        module: Dotted name, such as `stages.train`.
        read: Returns a file by its POSIX path below the root of the project, None if there is none.

    Returns:
        POSIX paths below the root, sorted; none if there is no such module.

    Raises:
        ReseedError: If a file cannot be parsed.
    """
    found: set[str] = set()
    waiting = [module]
    while waiting:
        for path, content in _files(waiting.pop(), read):
            imports = _imports(path, content)
            if path not in found and imports is not None:
                found.add(path)
                waiting.extend(imports)
    return sorted(found)


def _files(module: str, read: Reader) -> Iterator[tuple[str, bytes]]:
    """Yield the file of a module and the `__init__` of each package above it; nothing for other packages."""
    parts = module.split(".")
    if parts[0] not in PACKAGES:
        return
    packages = [f"{'/'.join(parts[:depth])}/__init__.py" for depth in range(1, len(parts) + 1)]
    for path in (*packages, f"{'/'.join(parts)}.py"):
        content = read(path)
        if content is not None:
            yield path, content


@lru_cache(maxsize=4096)  # every stage loads many of the same files
def _imports(path: str, content: bytes) -> tuple[str, ...] | None:
    """Return every name that a file may import, None for an `__init__` that has nothing but text."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ReseedError(f"{path}: not readable as Python: {error}") from error
    if path.endswith("/__init__.py") and all(
        isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) for n in tree.body
    ):
        return None
    package = PurePosixPath(path).parent.parts
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            # `from package import module` names a module, `from module import name` does not: both are tried.
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(found)


# DVC leaves keys of these names out of what it compares (treeverse/dvc#10296): a change of one would rerun nothing.
BANNED_KEYS: Final = frozenset({"size", "nfiles"})
# What makes DVC call a stage up to date, or a different command, whatever its digests say.
_EVASIVE: Final = ("frozen", "always_changed", "wdir", "vars", "foreach", "matrix")
_COMMAND: Final = re.compile(r"python -m (stages\.\w+)")


def check_chain(run: Run, trusted: Code) -> Check:
    """Compare dvc.lock with dvc.yaml, params.yaml, the tracked files, itself, and what the trusted code reads."""
    if not run.lock:
        return Check(FAIL, f"{run.name} has no {LOCK}, so nothing says what the score was computed from")
    failures = [*_stages(run), *_links(run), *_params(run), *_unrecorded(run, trusted), *_closures(run), *_tracked(run)]
    path = _way_back(run)
    if path[-1] != RAW:
        failures.append(f"the chain from {METRICS} ends at {path[-1]}, not at data/raw")
    n_deps = sum(len(entry.get("deps") or []) for entry in run.lock.values())
    return judged(failures, [], f"{len(run.lock)} stages, {n_deps} dependencies: {' <- '.join(path)}")


def _stages(run: Run) -> Iterator[str]:
    """Yield where dvc.lock and dvc.yaml do not speak of the same pipeline."""
    for name in sorted(run.pipeline.keys() ^ run.lock.keys()):
        where = "dvc.yaml" if name in run.pipeline else LOCK
        yield f"stage {name} stands in {where} alone"
    for name in _both(run):
        wanted, locked = run.pipeline[name], run.lock[name]
        yield from (f"stage {name}: `{key}` in dvc.yaml" for key in _EVASIVE if key in wanted)
        if wanted.get("cmd") != locked.get("cmd"):
            yield f"stage {name}: ran `{locked.get('cmd')}`, dvc.yaml says `{wanted.get('cmd')}`"
        for kind, paths in (("deps", declared(wanted, "deps")), ("outs", declared(wanted, "outs", "metrics"))):
            for path in sorted(paths ^ {str(entry["path"]) for entry in locked.get(kind) or []}):
                where = "dvc.yaml" if path in paths else LOCK
                yield f"stage {name}: {path} is among the {kind} of {where} alone"


def _links(run: Run) -> Iterator[str]:
    """Yield every dependency that is not what its producer made, or not the file of this state."""
    for name, stage in run.lock.items():
        for dep in stage.get("deps") or []:
            path, digest = str(dep["path"]), str(dep.get("md5"))
            made = run.outputs.get(path)
            if made is not None:
                if made.get("md5") != digest:
                    yield f"stage {name} read {path} as {digest}, its producer made {made.get('md5')}"
            elif (found := digest_of(run, path)) is None:
                yield f"stage {name} read {path}, which {run.name} does not have"
            elif found != digest:
                yield f"stage {name} read {path} as {digest}, {run.name} has {found}"


def _params(run: Run) -> Iterator[str]:
    """Yield every parameter that was not used as params.yaml has it, and every key that DVC would overlook."""
    values = run.params
    yield from (
        f"params.yaml: key {key}: DVC overlooks changes of keys with that name"
        for key in sorted(_keys(values))
        if key.split(".")[-1] in BANNED_KEYS
    )
    for name in _both(run):
        locked = (run.lock[name].get("params") or {}).get("params.yaml") or {}
        for key in sorted(locked.keys() ^ _recorded(run, name)):
            yield f"stage {name}: parameter {key} stands in {LOCK if key in locked else 'dvc.yaml'} alone"
        yield from (
            f"stage {name} used {key}: {used}, params.yaml has {now}" for key, used, now in other_params(locked, values)
        )


def _unrecorded(run: Run, trusted: Code) -> Iterator[str]:
    """Yield every parameter that dvc.lock need not record, so that it may have been changed after the run."""
    for name, stage in trusted.pipeline.items():
        if name in run.pipeline:
            for key in sorted(set(stage.get("params") or []) - _recorded(run, name)):
                yield f"stage {name} reads the parameter {key}, which is not among its params: it was not recorded"
    recorded = {key for name in run.pipeline for key in _recorded(run, name)}
    for key in _leaves(run.params):
        parts = key.split(".")
        if not recorded & {".".join(parts[:depth]) for depth in range(1, len(parts) + 1)}:
            yield f"params.yaml: {key} is among the params of no stage: it was not recorded and may have been changed"


def _recorded(run: Run, stage: str) -> set[str]:
    """Return the parameters of params.yaml that dvc.yaml lists for a stage; those of other files are no strings."""
    return {str(key) for key in run.pipeline[stage].get("params") or []}


def _leaves(values: dict[str, Any], above: str = "") -> Iterator[str]:
    for key, child in values.items():
        if isinstance(child, dict) and child:
            yield from _leaves(child, f"{above}{key}.")
        else:
            yield f"{above}{key}"


def _closures(run: Run) -> Iterator[str]:
    """Yield every project file that a stage loads and that its deps do not name."""
    for name, stage in run.pipeline.items():
        command = _COMMAND.fullmatch(str(stage.get("cmd")))
        if command is None:
            yield f"stage {name} runs `{stage.get('cmd')}`, not `python -m stages.<name>`: what it loads is unknown"
            continue
        try:
            loaded = closure(command[1], lambda path: run.source(path) if run.has(path) else None)
        except ReseedError as error:
            yield f"stage {name}: {error}"
            continue
        if f"{command[1].replace('.', '/')}.py" not in loaded:
            yield f"stage {name}: {run.name} has no module {command[1]}"
        deps = declared(stage, "deps")
        missing = [path for path in loaded if not deps & {path, *map(str, PurePosixPath(path).parents)}]
        yield from (f"stage {name} imports {path}, which is not among its deps" for path in missing)


def _tracked(run: Run) -> Iterator[str]:
    """Yield every output in git that is not the one dvc.lock recorded."""
    for path, out in run.outputs.items():
        if path.split("/")[0] in PACKAGES:
            yield f"{path} is code and the output of a stage"
        if path in run.tracked and (found := digest_of(run, path)) != out.get("md5"):
            yield f"{path} of {run.name} is {found or 'a link'}, {LOCK} recorded {out.get('md5')}"


def digest_of(run: Run, path: str) -> str | None:
    """Return the md5 that DVC gives a tracked file, or a folder of tracked files; None where git has no such file."""
    if run.has(path):
        return md5_of(run.source(path))
    inside = sorted(
        name
        for name in run.tracked
        # .dvcignore leaves the READMEs of packages out of every folder that a stage depends on.
        if name.startswith(f"{path}/") and not name.endswith("/README.md") and run.has(name)
    )
    if not inside:
        return None
    return folder_digest({name.removeprefix(f"{path}/"): md5_of(run.source(name)) for name in inside})


def _way_back(run: Run) -> list[str]:
    """Return a way from the score to the raw data: the longest, stage by stage; it ends where nothing made a file."""
    makers = {out["path"]: stage for stage in run.lock.values() for out in stage.get("outs") or []}

    reads = {path: [str(dep["path"]) for dep in stage.get("deps") or []] for path, stage in makers.items()}
    # Of each file whether its way ends at the raw data, its length, and what comes next: each is looked at once, as
    # there may be more ways than anybody can count.
    ways: dict[str, tuple[bool, int, str]] = {}
    for path in TopologicalSorter(reads).static_order():  # CycleError is a ValueError: no file is its own source
        made = [dep for dep in reads.get(path, []) if dep in makers]
        following = max(made, key=lambda dep: ways[dep][:2], default="")
        ends, length, _ = ways[following] if made else (path == RAW, 0, "")
        ways[path] = (ends, length + 1, following)
    way = [METRICS]
    while way[-1] in ways and (following := ways[way[-1]][2]):
        way.append(following)
    return way


def _both(run: Run) -> list[str]:
    return [name for name in run.pipeline if name in run.lock]


def _keys(values: Any, above: str = "") -> Iterator[str]:
    if isinstance(values, dict):
        for key, child in values.items():
            yield f"{above}{key}"
            yield from _keys(child, f"{above}{key}.")
    elif isinstance(values, list):
        for child in values:
            yield from _keys(child, above)
