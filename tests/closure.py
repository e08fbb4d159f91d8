"""Which files of the project a stage loads, read off the import statements.

`python -m tests.closure` prints the list of each stage as it belongs into `deps` of dvc.yaml.
"""

import ast
from pathlib import Path

PACKAGES = ("reseed", "stages")


def closure(module: str, root: Path) -> list[str]:
    """Return the project files that importing `module` loads, package `__init__` files included, sorted."""
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        for path in _files(waiting.pop(), root):
            if path not in found:
                found.add(path)
                waiting.extend(_imports(path))
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


def _imports(path: Path) -> list[str]:
    modules = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            # `from package import module` names a module, `from module import name` does not: both are tried.
            modules.extend([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
    return modules


if __name__ == "__main__":
    ROOT = Path(__file__).parents[1]
    for stage in sorted((ROOT / "stages").glob("*.py")):
        if stage.stem not in {"__init__", "runner"}:
            print(f"{stage.stem}:")
            for file in closure(f"stages.{stage.stem}", ROOT):
                print(f"      - {file}")
