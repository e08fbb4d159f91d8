"""The code that each stage depends on, as dvc.yaml lists it: `python -m tests.deps` checks it, `--write` writes it."""

import argparse
import re
import sys
from pathlib import Path
from typing import Final

import yaml

from reseed.audit.chain import closure
from reseed.audit.trusted import PACKAGES

ROOT: Final = Path(__file__).parents[1]
PIPELINE: Final = ROOT / "dvc.yaml"
# Packages that a stage depends on as a whole: an edit in one of them runs every stage again that uses it.
WHOLE: Final = ("reseed/base", "reseed/network", "reseed/engines", "reseed/score")


def code_deps(stage: str, root: Path = ROOT) -> list[str]:
    """Return what a stage loads: a folder for `WHOLE` and where it loads all of a package, else files."""
    files = set(
        closure(f"stages.{stage}", lambda path: (root / path).read_bytes() if (root / path).is_file() else None)
    )
    folders = [*WHOLE, *(name for name in _packages(root) if _modules(root / name, root) <= files)]
    return sorted({next((name for name in folders if file.startswith(f"{name}/")), file) for file in files})


def _packages(root: Path) -> list[str]:
    return sorted(path.parent.relative_to(root).as_posix() for path in root.glob("reseed/*/**/__init__.py"))


def _modules(folder: Path, root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in folder.rglob("*.py")}


def with_code_deps(text: str, root: Path = ROOT) -> str:
    """Return the text of dvc.yaml with the code of every stage written anew below its `deps`."""
    for stage in yaml.safe_load(text)["stages"]:
        block = re.search(rf"^  {stage}:\n(?:(?:    .*)?\n)*", text, re.MULTILINE)
        assert block is not None
        old = block.group()
        bare = re.sub(rf"^      - (?:{'|'.join(PACKAGES)})/.*\n", "", old, flags=re.MULTILINE)
        lines = "".join(f"      - {path}\n" for path in code_deps(stage, root))
        before, data, after = re.split(r"(^    deps:\n(?:      - .*\n)*)", bare, maxsplit=1, flags=re.MULTILINE)
        text = text.replace(old, before + data + lines + after)
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the lists into dvc.yaml")
    before = PIPELINE.read_text(encoding="utf-8")
    after = with_code_deps(before)
    if parser.parse_args().write:
        PIPELINE.write_text(after, encoding="utf-8")
    elif before != after:
        sys.exit("error: dvc.yaml does not list the code that the stages load; run `make deps`")
