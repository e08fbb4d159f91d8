"""Which files of the project a stage loads, read off the import statements."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from reseed.base.errors import ReseedError

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
