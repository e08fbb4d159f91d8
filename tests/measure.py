"""How large the project is: `make measure` prints it, and a test holds the bounds."""

import ast
from collections import Counter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_SHORT_LINES: Final = 80
_LONG_LINES: Final = 400

# What each number may reach. A feature that needs more than there is room for shows what else could go.
AT_MOST: Final = {
    "modules in reseed/": 187,
    "lines in reseed/ and stages/": 35_650,
    f"modules below {_SHORT_LINES} lines with one importer": 30,
    f"modules above {_LONG_LINES} lines": 0,
    "lines of dvc.yaml": 450,
}


def measure(root: Path = ROOT) -> dict[str, int]:
    """Return the numbers, by the names of `AT_MOST`; package `__init__` files count as modules, as lines too."""
    files = sorted([*root.glob("reseed/**/*.py"), *root.glob("stages/*.py")])
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    importers = Counter(name for path in files for name in _imported(path))
    short = [
        path
        for path, count in lines.items()
        if count < _SHORT_LINES and importers[".".join(path.relative_to(root).with_suffix("").parts)] == 1
    ]
    numbers = (
        sum(path.is_relative_to(root / "reseed") for path in files),
        sum(lines.values()),
        len(short),
        sum(count > _LONG_LINES for count in lines.values()),
        len((root / "dvc.yaml").read_text(encoding="utf-8").splitlines()),
    )
    return dict(zip(AT_MOST, numbers, strict=True))


def _imported(path: Path) -> set[str]:
    """Return every dotted name that a file imports, and every name it imports from one: either may be a module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


if __name__ == "__main__":
    for name, number in measure().items():
        print(f"{number:>7,}  {name} (at most {AT_MOST[name]:,})")
