"""The rules of the project that a reader would otherwise have to check by eye."""

import ast
import importlib
import itertools
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from ruamel.yaml import YAML

from reseed.params.sections import SECTIONS, require_valid
from tests.deps import with_code_deps

ROOT = Path(__file__).parents[2]
PIPELINE = yaml.safe_load((ROOT / "dvc.yaml").read_text())
STAGES = PIPELINE["stages"]
PROFILES = sorted([ROOT / "params.yaml", *(ROOT / "params").glob("*.yaml")])
# Stages that read a part of a section only: DVC reruns pretrained when these two change, not the whole of train.
RECIPE = {f"train.{key}" for key in SECTIONS["train"].model_fields if key != "repeats"}
PARTS = {"pretrained": {"train.backbone", "train.weights"}, "train": RECIPE}
# Sections that a stage reads beside its own.
BESIDE = {"pull": ["demo"], "repeats": ["train", "predict"]}


def leaves(section: str) -> set[str]:
    return {f"{section}.{key}" for key in SECTIONS[section].model_fields}


def test_deps_name_all_the_code_that_the_stages_load() -> None:
    text = (ROOT / "dvc.yaml").read_text()
    assert text == with_code_deps(text), "`make deps` writes the lists"


@pytest.mark.parametrize("stage", STAGES)
def test_params_declared_are_params_read(stage: str) -> None:
    sections = [name for name in [stage, *BESIDE.get(stage, [])] if name in SECTIONS]
    read = PARTS.get(stage) or set().union(*map(leaves, sections))
    read |= RECIPE if stage == "baselines" else set()
    assert sorted(STAGES[stage]["params"]) == sorted(read)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_thin_and_described(stage: str) -> None:
    assert len((ROOT / f"stages/{stage}.py").read_text().splitlines()) <= 100
    assert STAGES[stage]["cmd"] == f"python -m stages.{stage}"
    assert STAGES[stage]["desc"]
    for kind in ("outs", "metrics"):
        for out in STAGES[stage].get(kind, []):
            assert all(entry["desc"] for entry in out.values())


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_that_makes_a_result_look_reproduced_when_it_is_not(stage: str) -> None:
    assert not {"frozen", "always_changed", "wdir", "vars"} & set(STAGES[stage])
    assert "${" not in STAGES[stage]["cmd"]
    for kind in ("outs", "metrics"):
        for out in STAGES[stage].get(kind, []):
            assert all("persist" not in entry for entry in out.values())


@pytest.mark.parametrize("stage", STAGES)
def test_outputs_are_files_but_for_two_folders(stage: str) -> None:
    names = [name for kind in ("outs", "metrics") for out in STAGES[stage].get(kind, []) for name in out]
    assert {name for name in names if not Path(name).suffix} <= {"data/raw", "plots/figures"}


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.name)
def test_no_key_that_dvc_would_ignore(profile: Path) -> None:
    """DVC leaves keys named `size` and `nfiles` out of its run cache key (treeverse/dvc#10296)."""

    def keys(value: object) -> list[str]:
        if isinstance(value, dict):
            return [*value, *(key for child in value.values() for key in keys(child))]
        return [key for child in value for key in keys(child)] if isinstance(value, list) else []

    assert not {"size", "nfiles"} & set(keys(YAML(typ="safe").load(profile)))


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.name)
def test_every_profile_is_complete_and_valid(profile: Path) -> None:
    require_valid(profile)


def test_every_key_of_the_default_parameters_has_a_comment_above_it() -> None:
    lines = (ROOT / "params.yaml").read_text().splitlines()
    section = ""
    bare = []
    for above, line in itertools.pairwise(lines):
        if line and not line.startswith((" ", "#")):
            section = line.rstrip(":")
        elif (
            line.startswith("  ")
            and line[2] not in " -#"
            and not above.lstrip().startswith("#")
            # keys that share one comment stand directly below each other
            and (not above.startswith("  ") or above.rstrip().endswith(":"))
        ):
            bare.append(f"{section}.{line.strip()}")
    assert not bare


def test_every_output_stands_in_the_dictionary() -> None:
    text = (ROOT / "data/README.md").read_text()
    names = [name for s in STAGES.values() for kind in ("outs", "metrics") for out in s.get(kind, []) for name in out]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_package_init_files_hold_a_docstring_and_no_code() -> None:
    """They are deps of every stage: code there would rerun everything, and DVC warns of each empty file."""
    for path in ROOT.glob("reseed/**/__init__.py"):
        assert len(ast.parse(path.read_text()).body) == 1, path
        assert ast.get_docstring(ast.parse(path.read_text())), path


def test_only_network_and_its_engine_import_torch() -> None:
    found = subprocess.run(
        ["git", "grep", "--untracked", "-lE", r"^\s*(import|from) torch", "--", "reseed", "stages"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    assert [name for name in found if not name.startswith(("reseed/network/", "reseed/engines/"))] == []


def test_every_stage_has_a_docstring_that_asks_its_question() -> None:
    for stage, entry in STAGES.items():
        doc = importlib.import_module(f"stages.{stage}").__doc__
        assert doc is not None
        assert doc.startswith(f"Stage {stage}: "), stage
        assert entry["desc"].rstrip("?").split()[0].lower() in doc.lower()


@pytest.mark.parametrize("page", ["README.md", "docs/field.md"])
def test_what_the_commands_of_a_page_write_stays_out_of_git(page: str) -> None:
    text = (ROOT / page).read_text()
    written = re.findall(r"python -m reseed .*--out ([\w./]+)", text) + ["MODEL_CARD.md"] * ("reseed card" in text)
    assert len(written) >= 3
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", *written], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    assert ignored == written
