"""What a revision of others may not do to its reader: links, paths outside, odd digests, bombs."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from reseed.base.errors import ReseedError
from reseed.history.repository import MissingError, Repository, folder_digest
from reseed.history.run import Run
from tests.unit.audit.history import History


@pytest.fixture
def history(tmp_path: Path) -> History:
    root = tmp_path / "repository"
    root.mkdir()
    return History(root).start()


def committed(history: History, files: dict[str, str | bytes | Path]) -> Run:
    """Commit files, links where a path is given, and return the run at HEAD."""
    for name, content in files.items():
        path = history.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            path.symlink_to(content)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    history.git("add", "-A")
    history.git("commit", "--quiet", "-m", "Change")
    repository = Repository(history.root)
    return Run(repository, repository.resolve("HEAD"))


def lock_of(*outs: dict[str, Any], deps: tuple[dict[str, Any], ...] = ()) -> str:
    return json.dumps({"schema": "2.0", "stages": {"train": {"cmd": "x", "deps": list(deps), "outs": list(outs)}}})


def stored(history: History, content: bytes, suffix: str = "") -> str:
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest() + suffix
    history.object(digest).parent.mkdir(parents=True, exist_ok=True)
    history.object(digest).write_bytes(content)
    return digest


@pytest.mark.parametrize("workspace", [False, True])
@pytest.mark.parametrize("name", ["LICENSE", "params.yaml", "metrics/metrics.json"])
def test_a_link_is_named_and_never_followed(history: History, tmp_path: Path, name: str, *, workspace: bool) -> None:
    (tmp_path / "id_rsa").write_text("secret: 1\n")
    run = committed(history, {name: tmp_path / "id_rsa", "folder": tmp_path})
    if workspace:
        run = Run(Repository(history.root))
    assert run.tracked[name].kind == "link"
    assert not run.has(name)
    with pytest.raises(ReseedError, match=f"{name} is a link in git, and not followed"):
        run.read(name)
    assert not [path for path in run.tracked if path.startswith("folder/")]
    assert "id_rsa" not in run.tracked


OUTSIDE = [
    "/etc/passwd",
    "../notes.txt",
    "data/../../notes.txt",
    "~/notes.txt",
    "C:/notes.txt",
    "data\\..\\..\\notes.txt",
    ".git/hooks/post-commit",
    "data/.git/config",
    ".dvc/config",
    "a\nb",
    ".",
    "",
]


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("kind", ["deps", "outs"])
def test_a_path_of_the_lock_file_lies_inside(history: History, path: str, kind: str) -> None:
    entry = {"path": path, "md5": "d41d8cd98f00b204e9800998ecf8427e", "size": 0}
    text = lock_of(entry) if kind == "outs" else lock_of(deps=(entry,))
    with pytest.raises(ReseedError, match=r"dvc\.lock of HEAD .* does not lie inside the project"):
        _ = committed(history, {"dvc.lock": text}).lock


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("kind", ["deps", "outs", "metrics", "plots"])
def test_a_path_of_the_pipeline_lies_inside(history: History, path: str, kind: str) -> None:
    entry: Any = {path: {"cache": False}} if kind in {"outs", "metrics"} else path
    text = json.dumps({"stages": {"train": {"cmd": "x", kind: [entry]}}})
    with pytest.raises(ReseedError, match=r"dvc\.yaml of HEAD .* does not lie inside the project"):
        _ = committed(history, {"dvc.yaml": text}).pipeline


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_file_of_a_stored_folder_lies_inside(history: History, path: str) -> None:
    listing = json.dumps([{"md5": "0" * 32, "relpath": path}]).encode()
    digest = stored(history, listing, ".dir")
    run = committed(history, {"dvc.lock": lock_of({"path": "data/raw", "md5": digest})})
    with pytest.raises(ReseedError, match="does not lie inside the project"):
        run.members("data/raw")


@pytest.mark.parametrize("digest", ["../../../etc/passwd", "00", "g" * 32, "0" * 31, None, 7, "0" * 32 + ".dir.dir"])
def test_a_digest_is_a_digest(history: History, digest: Any) -> None:
    run = committed(history, {"dvc.lock": lock_of({"path": "data/a.csv", "md5": digest})})
    with pytest.raises(ReseedError, match=r"no md5 of 32 hex digits"):
        _ = run.outputs


@pytest.mark.parametrize(
    "text",
    ["stages: [1]", "stages: {train: 1}", "[]", "7", "stages: {train: {outs: [{md5: x}]}}", "stages: {t: {outs: [1]}}"],
)
def test_a_lock_file_of_another_form_is_one_clear_line(history: History, text: str) -> None:
    with pytest.raises(ReseedError, match=r"dvc\.lock of HEAD"):
        _ = committed(history, {"dvc.lock": text}).outputs


def test_an_object_is_what_its_name_says_or_nothing(history: History) -> None:
    digest = stored(history, b"content")
    run = committed(history, {"dvc.lock": lock_of({"path": "data/a.csv", "md5": digest})})
    assert run.read("data/a.csv") == b"content"
    history.object(digest).write_bytes(b"forged")
    with pytest.raises(ReseedError, match="damaged"):
        run.read("data/a.csv")
    history.object(digest).unlink()
    with pytest.raises(MissingError, match="its object is not here"):
        run.read("data/a.csv")
    history.object(digest).symlink_to("/etc/passwd")
    assert run.object(digest) is None


def test_large_files_in_git_are_not_read(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    run = committed(history, {"README.md": "x" * 50, "a.bin": "y" * 2_000_000})
    assert len(run.source("a.bin")) == 2_000_000
    monkeypatch.setattr("reseed.history.repository.FILE_BYTES", 1_000_000)
    with pytest.raises(ReseedError, match=r"a\.bin: 2,000,000 bytes in git; at most 1,000,000 are read"):
        run.source("a.bin")
    monkeypatch.setattr("reseed.history.repository._ALL_SMALL_BYTES", 40)
    with pytest.raises(ReseedError, match=r"small files of .* together"):
        committed(history, {"more.txt": "z"}).source("README.md")


def test_the_digest_of_a_folder_is_that_of_dvc() -> None:
    """By `dvc add` of a folder with a.txt (a) and b/c.txt (c)."""
    members = {"a.txt": "0cc175b9c0f1b6a831c399e269772661", "b/c.txt": "4a8a08f09d37b73795649038408b5f33"}
    listing = (
        b'[{"md5": "0cc175b9c0f1b6a831c399e269772661", "relpath": "a.txt"}, '
        b'{"md5": "4a8a08f09d37b73795649038408b5f33", "relpath": "b/c.txt"}]'
    )
    assert folder_digest(members) == hashlib.md5(listing, usedforsecurity=False).hexdigest() + ".dir"
