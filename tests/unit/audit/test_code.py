"""The code of a revision beside the trusted code: what differs is named, and what it can change."""

from pathlib import Path

import pytest

from reseed.audit.trusted import (
    DIFFERS,
    PASS,
    Code,
    check_code,
    diff_lines,
    group_of,
    is_code,
    revision_code,
    trusted_code,
)
from reseed.base.errors import ReseedError
from reseed.history.repository import Repository
from reseed.history.run import Run
from tests.unit.audit.history import History

CODE = {
    "dvc.yaml": "stages: {}\n",
    "pyproject.toml": '[project]\nversion = "0.3.0"\n',
    "requirements.lock": "dvc==3.67.1\n",
    "reseed/__init__.py": "",
    "reseed/score/alpha.py": "ALPHA = 1\n",
    "reseed/survey/labels.py": "",
    "reseed/network/training.py": "",
    "stages/train.py": "",
    "reseed/infer/page.html": "<p>",
    "README.md": "read me\n",
    "tests/test_a.py": "",
}


@pytest.fixture
def history(tmp_path: Path) -> History:
    root = tmp_path / "repository"
    root.mkdir()
    history = History(root).start()
    commit(history, CODE)
    return history


def commit(history: History, files: dict[str, str]) -> None:
    for name, text in files.items():
        (history.root / name).parent.mkdir(parents=True, exist_ok=True)
        (history.root / name).write_text(text)
    history.git("add", "-A", "--force")
    history.git("commit", "--quiet", "--allow-empty", "-m", "Change")


def sides(history: History) -> tuple[Run, Code]:
    """The last commit, and the one before as trusted."""
    repository = Repository(history.root)
    return Run(repository, repository.resolve("HEAD")), trusted_code(repository, "HEAD~1")


def test_equal_code_is_named_by_its_version(history: History) -> None:
    commit(
        history,
        {"README.md": "another\n", "tests/test_a.py": "import os\n", "docs/conf.py": "", ".dvc/config": "[core]\n"},
    )
    found = check_code(*sides(history))
    assert found.status == PASS
    assert found.reason.endswith(": reseed 0.3.0, unchanged")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("psutil.py", "`import psutil` takes it before any library"),
        ("numpy/__init__.py", "`import numpy` takes it"),
        ("yaml/loader.py", "`import yaml` takes it"),
        ("torch.cpython-311-x86_64-linux-gnu.so", "`import torch` takes it"),
        ("pandas.pyc", "`import pandas` takes it"),
        ("sitecustomize.py", "Python runs it at every start"),
        ("usercustomize.py", "Python runs it at every start"),
        ("evil.pth", "Python runs it at every start"),
        ("reseed/score/more.py", "is only there"),
        ("reseed/score/__pycache__/alpha.cpython-311.pyc", "is only there"),
        ("reseed/score.so", "is only there"),
        ("stages/hidden.so", "is only there"),
        ("setup.cfg", "is only there"),
        ("requirements-extras.txt", "is only there"),
        ("requirements.lock", "was changed"),
        ("dvc.yaml", "was changed"),
        ("reseed/infer/page.html", "was changed"),
    ],
)
def test_whatever_python_or_dvc_would_take_is_named(history: History, path: str, says: str) -> None:
    commit(history, {path: "changed\n"})
    found = check_code(*sides(history))
    assert found.status == DIFFERS
    assert path in found.reason
    assert any(path in line and says in line for line in found.findings), found.findings


def test_a_file_that_is_gone_is_named(history: History) -> None:
    history.git("rm", "--quiet", "reseed/score/alpha.py")
    commit(history, {})
    found = check_code(*sides(history))
    assert found.status == DIFFERS
    assert any("reseed/score/alpha.py is not there" in line for line in found.findings)


@pytest.mark.parametrize("name", ["psutil", "numpy.py", "reseed/score/other.py", "stages/more", "sitecustomize.py"])
def test_a_link_that_could_be_code_is_named(history: History, name: str) -> None:
    (history.root / name).symlink_to("/tmp")  # noqa: S108  a name, nothing is written there
    commit(history, {})
    found = check_code(*sides(history))
    assert found.status == DIFFERS
    assert any(f"{name} is a link in git" in line for line in found.findings)


@pytest.mark.parametrize(
    ("path", "group"),
    [
        ("reseed/survey/labels.py", "gold labels"),
        ("stages/catalog.py", "gold labels"),
        ("reseed/patches/splits.py", "the split"),
        ("reseed/network/training.py", "the training"),
        ("stages/train.py", "the training"),
        ("reseed/score/alpha.py", "the scores"),
        ("stages/evaluate.py", "the scores"),
        ("reseed/figures/style.py", "looks"),
        ("reseed/cli/audit.py", "looks"),
        ("reseed/base/csv.py", "everything"),
        ("stages/runner.py", "everything"),
        ("psutil.py", "everything"),
        ("dvc.yaml", "everything"),
        ("requirements.lock", "everything"),
    ],
)
def test_files_stand_under_what_they_can_change(path: str, group: str) -> None:
    assert is_code(path)
    assert group_of(path) == group


def test_the_difference_is_shown(history: History) -> None:
    commit(history, {"reseed/score/alpha.py": "ALPHA = 2\n", "reseed/a.so": "\0", "reseed/b.py": "a\nb\n" * 3000})
    lines = diff_lines(*sides(history))
    assert "-ALPHA = 1" in lines
    assert "+ALPHA = 2" in lines
    longer = "is only there (binary, or longer than 5000 lines)"
    assert {f"reseed/a.so {longer}", f"reseed/b.py {longer}"} <= set(lines)


def test_trusted_code_is_laid_out_without_links_and_only_once(history: History, tmp_path: Path) -> None:
    (history.root / "reseed/linked.py").symlink_to("/etc/passwd")
    commit(history, {"psutil.py": "x = 1\n"})
    repository = Repository(history.root)
    code = revision_code(Run(repository, repository.resolve("HEAD")))
    folder = code.ready(tmp_path / "laid")
    assert (folder / "psutil.py").read_text() == "x = 1\n"
    assert not (folder / "reseed/linked.py").exists()
    assert not (folder / "README.md").exists()
    assert code.ready(folder) == folder


def test_a_revision_of_another_project_is_not_trusted(history: History) -> None:
    history.git("rm", "--quiet", "dvc.yaml")
    commit(history, {})
    with pytest.raises(ReseedError, match="--trusted HEAD: no version of this project"):
        trusted_code(Repository(history.root), "HEAD")


def test_the_code_that_runs_here_is_trusted_by_default(history: History) -> None:
    code = trusted_code(Repository(history.root), None)
    assert code.name == "this checkout"
    assert {"reseed/audit/trusted.py", "stages/train.py", "dvc.yaml", "requirements.lock"} <= code.files.keys()
    assert not [path for path in code.files if "__pycache__" in path or path.startswith("tests/")]
    assert "data/raw" in code.inputs("catalog")
    assert "metrics/metrics.json" in code.outputs("evaluate")
