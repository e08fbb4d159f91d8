"""What dvc.yaml lists of the code: `python -m tests.deps` checks it, `--write` writes it (`make lint`, `make deps`).

Written anew for every stage: the code below its `deps`, its `params`, and the form of its outputs, a line each where
there is room. The rest of dvc.yaml is written by hand. Where two branches have changed it, take the stages of
either side and write.
"""

import argparse
import ast
import importlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import TextWrapper
from typing import Any, Final

import yaml

from reseed.audit.chain import closure
from reseed.audit.trusted import PACKAGES

ROOT: Final = Path(__file__).parents[1]
PIPELINE: Final = ROOT / "dvc.yaml"
# Packages that a stage depends on as a whole: an edit in one of them runs every stage again that uses it.
WHOLE: Final = ("reseed/base", "reseed/network", "reseed/engines", "reseed/score")
# Packages that one stage depends on as a whole. Figures and pages feed nothing, and evaluate draws nearly all of them.
WHOLE_FOR: Final = {"evaluate": ("reseed/figures", "reseed/pages")}
# Stages that read a part of a section only: another learning rate does not bring the start weights anew.
PARTS: Final = {"pretrained": ("train.backbone", "train.weights")}
# Stages whose parameters stand on a line each, so that a diff names the one that came or went.
LISTED: Final = {"train"}
# What reads a section, and which one where it is always the same.
_LOADERS: Final = {"load_section": "", "load_train_params": "train"}
_WIDTH: Final = 120
_DATA: Final = (".yaml", ".json", ".csv")


def code_deps(stage: str, root: Path = ROOT) -> list[str]:
    """Return what a stage loads: a folder for `WHOLE` and where it loads all of a package, else files."""
    loaded_files = set(
        closure(f"stages.{stage}", lambda path: (root / path).read_bytes() if (root / path).is_file() else None)
    )
    files = loaded_files | _data_files(loaded_files, root)
    loaded = (name for name in _packages(root) if _modules(root / name, root) <= files)
    folders = [*WHOLE, *WHOLE_FOR.get(stage, ()), *loaded]
    return sorted({next((name for name in folders if file.startswith(f"{name}/")), file) for file in files})


def _data_files(files: set[str], root: Path) -> set[str]:
    """Return the files beside the loaded modules that are no Python, such as declarations: the modules read them."""
    folders = {str(Path(file).parent) for file in files if not file.endswith("/__init__.py")}
    beside = (path for folder in folders for path in (root / folder).iterdir() if path.is_file())
    return {path.relative_to(root).as_posix() for path in beside if path.suffix in _DATA}


def _packages(root: Path) -> list[str]:
    return sorted(path.parent.relative_to(root).as_posix() for path in root.glob("reseed/*/**/__init__.py"))


def _modules(folder: Path, root: Path) -> set[str]:
    """Return the modules of a package; an `__init__` that only has a docstring is no code, see `closure`."""
    return {path.relative_to(root).as_posix() for path in folder.rglob("*.py") if path.name != "__init__.py"}


def params(stage: str, root: Path = ROOT) -> list[str]:
    """Return the parameters that a stage reads: every key of each section that it loads, in the order of its model."""
    found: dict[str, None] = dict.fromkeys(PARTS.get(stage, ()))
    for node in ast.walk(ast.parse((root / f"stages/{stage}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _LOADERS:
            model = node.args[-1]
            assert isinstance(model, ast.Name)
            section = _LOADERS[node.func.id] or ast.literal_eval(node.args[1])
            fields = getattr(importlib.import_module(f"reseed.params.{section}"), model.id).model_fields
            found |= dict.fromkeys(f"{section}.{key}" for key in fields)
    assert found, f"stages/{stage}.py calls load_section for no section"
    return list(found)


def written(text: str, root: Path = ROOT) -> str:
    """Return the text of dvc.yaml with everything that follows from the code written anew."""
    stages = yaml.safe_load(text)["stages"]
    before, after = re.split(r"^stages:\n(?:(?: .*)?\n)*", text, maxsplit=1, flags=re.MULTILINE)
    blocks = ["\n".join(_stage(name, entry, root)) for name, entry in stages.items()]
    return f"{before}stages:\n" + "\n\n".join(blocks) + f"\n\n{after}"


def _stage(name: str, entry: Mapping[str, Any], root: Path) -> Iterator[str]:
    yield f"  {name}:"
    data = [path for path in entry.get("deps", []) if not str(path).startswith(tuple(f"{name}/" for name in PACKAGES))]
    for key, value in (dict(entry) | {"params": params(name, root)}).items():
        if key == "deps":
            yield "    deps:"
            yield from (f"      - {path}" for path in [*dict.fromkeys(data), *code_deps(name, root)])
        elif key == "params" and name in LISTED:
            yield "    params:"
            yield from (f"      - {parameter}" for parameter in value)
        elif key == "params":
            yield from TextWrapper(_WIDTH, "    ", "      ", break_on_hyphens=False).wrap(
                f"params: [{', '.join(value)}]"
            )
        elif key in {"outs", "metrics"}:
            yield f"    {key}:"
            for out in value:
                yield from _output(out)
        else:
            yield f"    {key}: {json.dumps(value) if key == 'desc' else value}"


def _output(out: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    ((path, options),) = out.items()
    values = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in options.items()]
    line = f"      - {path}: {{{', '.join(values)}}}"
    if len(line) <= _WIDTH:
        yield line
    else:
        yield f"      - {path}:"
        yield from (f"          {value}" for value in values)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write dvc.yaml")
    before = PIPELINE.read_text(encoding="utf-8")
    after = written(before)
    if parser.parse_args().write:
        PIPELINE.write_text(after, encoding="utf-8")
    elif before != after:
        sys.exit("error: dvc.yaml does not list the code and parameters that the stages load; run `make deps`")
