"""What DVC stores is what was pulled, or it is refused by name."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from reseed.artifacts.raw import RawSource, write_raw
from reseed.base.errors import SourceError
from reseed.params.pull import Source
from reseed.sources.inventory import require_storable, require_stored
from reseed.sources.pull import bring, record
from tests.unit.survey.folders import put

PATTERNS = Path(__file__).parents[3] / ".dvcignore"


@pytest.mark.parametrize(
    "path",
    [
        "runs/a.jpg",
        ".venv/a.jpg",
        "tow/__pycache__/a.jpg",
        ".mypy_cache/a.jpg",
        "a.part",
        "data/raw.part/a.jpg",
        "reseed/__pycache__/a.jpg",
        ".gitignore",
        "tow/dvc.yaml",
        "dvc.lock",
        "a.jpg.dvc",
        ".DS_Store",
    ],
)
def test_our_own_patterns_do_not_reach_into_the_data(path: str) -> None:
    require_storable("runs", [path, f"tow/{path}"], PATTERNS)


@pytest.mark.parametrize(
    ("path", "named"),
    [
        (".dvcignore", ".dvcignore"),
        ("tow/.dvcignore", ".dvcignore"),
        (".git/config", ".git"),
        ("tow/.git", ".git"),
        (".dvc/config", ".dvc"),
        ("a/.hg/store", ".hg"),
    ],
)
def test_what_dvc_never_stores_is_refused_by_name(path: str, named: str) -> None:
    with pytest.raises(SourceError, match=rf"holds \{named} \(1 of 2 files"):
        require_storable("s", ["a.jpg", path], PATTERNS)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("*.tmp", "tow/a.tmp"), ("Thumbs.db", "tow/Thumbs.db"), ("tow_7", "x/tow_7/a.jpg"), ("/data/raw/s/b", "b/a.jpg")],
)
def test_a_pattern_that_somebody_added_is_refused_by_name(tmp_path: Path, pattern: str, path: str) -> None:
    (tmp_path / ".dvcignore").write_text(f"# mine\n{pattern}\n")
    with pytest.raises(SourceError, match=f"would not store 1 of 2 files.*: {path}"):
        require_storable("s", ["a.jpg", path], tmp_path / ".dvcignore")


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_pull_refuses_such_a_source_and_says_which(tmp_path: Path, kind: str) -> None:
    origin = tmp_path / "origin"
    put(origin, "tow/a.png")
    (origin / ".dvcignore").write_text("tow\n")
    if kind == "archive":
        with zipfile.ZipFile(tmp_path / "reef.zip", "w") as box:
            for name in ("tow/a.png", ".dvcignore"):
                box.write(origin / name, name)
        origin = tmp_path / "reef.zip"
    values = {"name": "reef", "kind": kind, "uri": str(origin), "layout": "survey", "sha256": None, "licence": "x"}
    source = Source.model_validate(values | {"citation": "x", "split": None})
    with pytest.raises(SourceError, match=r"^pull\.sources reef: holds \.dvcignore"):
        record(source, tmp_path / "new", bring(source, tmp_path / "new", tmp_path / "data/raw"))


def pulled(root: Path, *, files: int, size: int, of_this_record: bool = True) -> list[RawSource]:
    """Write a record of 3 files and 30 bytes, and a lock file in which DVC stores others."""
    (root / "data").mkdir()
    source = RawSource("s", "folder", "x", "auto", "0" * 64, 30, 3, "x", pinned=False, synthetic=False)
    write_raw([source], root / "data/raw.json")
    md5 = hashlib.md5((root / "data/raw.json").read_bytes(), usedforsecurity=False).hexdigest()
    (root / "dvc.lock").write_text(
        "schema: '2.0'\nstages:\n  pull:\n    cmd: x\n    outs:\n"
        f"    - path: data/raw\n      md5: {'a' * 32}.dir\n      size: {size}\n      nfiles: {files}\n"
        f"    - path: data/raw.json\n      md5: {md5 if of_this_record else 'b' * 32}\n"
    )
    return [source]


@pytest.mark.parametrize(("files", "size"), [(2, 30), (3, 29), (4, 40)])
def test_other_files_or_bytes_in_the_lock_stop_the_next_stage(tmp_path: Path, files: int, size: int) -> None:
    sources = pulled(tmp_path, files=files, size=size)
    with pytest.raises(SourceError, match=f"3 files of 30 bytes were pulled, but DVC stores {files} files of {size}"):
        require_stored(sources, tmp_path)


def test_what_is_stored_whole_goes_on_and_so_does_a_run_without_dvc(tmp_path: Path) -> None:
    require_stored(pulled(tmp_path, files=3, size=30), tmp_path)
    (tmp_path / "dvc.lock").unlink()
    require_stored([], tmp_path)


def test_the_lock_of_another_record_says_nothing(tmp_path: Path) -> None:
    require_stored(pulled(tmp_path, files=1, size=1, of_this_record=False), tmp_path)
