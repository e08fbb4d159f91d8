"""The rules of the project that a reader would otherwise have to check by eye."""

import ast
import itertools
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from ruamel.yaml import YAML

from reseed.cli.check import SECTIONS, require_valid
from tests.deps import _data_files, params, written
from tests.measure import AT_MOST, measure

ROOT = Path(__file__).parents[2]
PIPELINE = yaml.safe_load((ROOT / "dvc.yaml").read_text())
STAGES = PIPELINE["stages"]
PROFILES = sorted([ROOT / "params.yaml", *(ROOT / "params").glob("*.yaml")])


def test_dvc_yaml_names_the_code_and_the_parameters_that_the_stages_load() -> None:
    text = (ROOT / "dvc.yaml").read_text()
    assert text == written(text), "`make deps` writes them"


def test_every_parameter_is_read_by_a_stage() -> None:
    declared = {f"{section}.{key}" for section, model in SECTIONS.items() for key in model.model_fields}
    assert {key for stage in STAGES for key in params(stage)} == declared


def test_no_edit_of_an_engine_a_score_or_a_figure_trains_again() -> None:
    """Stage catalog draws a figure, so an edit may run it again; its tables stay, and training only reads those."""
    later = ("reseed/engines", "reseed/score", "reseed/figures", "reseed/params/aggregate.py", "stages/evaluate.py")
    for stage in ("split", "extract", "pretrained", "train"):
        assert [dep for dep in STAGES[stage]["deps"] if dep.startswith(later)] == [], stage


def test_alpha_reaches_aggregate_and_evaluate_alone() -> None:
    assert [stage for stage in STAGES if "aggregate.alpha" in STAGES[stage]["params"]] == ["aggregate"]
    made = {name for out in STAGES["aggregate"]["outs"] for name in out}
    assert [stage for stage in STAGES if made & set(STAGES[stage]["deps"])] == ["evaluate"]


def test_there_are_few_stages() -> None:
    """The cost of `dvc exp run` grows faster than the number of stages: a sweep of fifty must stay bearable."""
    assert len(STAGES) <= 11


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
    """No stage lists them; code there would run every stage again, and DVC warns of each empty file."""
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


@pytest.mark.parametrize("stage", STAGES)
def test_dvc_yaml_and_the_stage_describe_it_in_the_same_words(stage: str) -> None:
    desc = STAGES[stage]["desc"]
    doc = ast.get_docstring(ast.parse((ROOT / f"stages/{stage}.py").read_text()))
    assert doc is not None
    assert doc.startswith(f"Stage {stage}: {desc[0].lower()}{desc[1:]}.")


@pytest.mark.parametrize("page", ["README.md", "docs/field.md"])
def test_what_the_commands_of_a_page_write_stays_out_of_git(page: str) -> None:
    text = (ROOT / page).read_text()
    written = re.findall(r"python -m reseed .*--out ([\w./]+)", text) + ["MODEL_CARD.md"] * ("reseed card" in text)
    assert len(written) >= 3
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", *written], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    assert ignored == written


def test_the_project_stays_as_small_as_it_is() -> None:
    numbers = measure()
    assert {name: number for name, number in numbers.items() if number > AT_MOST[name]} == {}


def test_measure_counts_a_small_project_by_hand(tmp_path: Path) -> None:
    files = {
        "reseed/__init__.py": '"""A package."""\n',
        "reseed/short.py": "X = 1\n",  # imported by one
        "reseed/shared.py": "Y = 1\n",  # by two
        "reseed/long.py": "from reseed.short import X\n" + "import reseed.shared\n" * 400,
        "stages/one.py": "from reseed import shared\n",  # by none
        "dvc.yaml": "stages:\n  one:\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert list(measure(tmp_path).values()) == [4, 1 + 1 + 1 + 401 + 1, 1, 1, 2]


def test_declarations_beside_a_loaded_module_are_deps_too() -> None:
    found = _data_files({"reseed/survey/layouts/export_tools.py", "reseed/base/__init__.py"}, ROOT)
    assert "reseed/survey/layouts/coralnet.yaml" in found
    assert all(name.startswith("reseed/survey/layouts/") for name in found)
