import shutil
from pathlib import Path

import pytest

from reseed.audit.objects import _workspace
from reseed.base.errors import ReseedError
from reseed.base.files import write_text
from reseed.compare.comparison import changed_code
from reseed.history.repository import HERE, Repository
from reseed.history.run import Run
from tests.unit.audit.history import History, every, reef

PATCHES = "data/predictions/patches.csv"


@pytest.fixture
def history(tmp_path: Path) -> History:
    root = tmp_path / "repository"
    root.mkdir()
    return History(root).start()


def test_files_of_an_older_revision_without_checking_it_out(history: History) -> None:
    run = reef()
    old = history.commit(run.but(wrong=every(run.gold, 2)))
    content = (history.root / PATCHES).read_bytes()
    history.commit(run)
    repository = Repository(history.root)
    before = sorted(
        path for path in history.root.rglob("*") if ".git/" not in str(path) and ".dvc/tmp" not in str(path)
    )
    assert Run(repository, repository.resolve("HEAD~1")).read(PATCHES) == content
    assert Run(repository, repository.resolve(old[:8])).read("params.yaml") == run.params.encode()
    assert (history.root / PATCHES).read_bytes() != content
    assert before == sorted(
        path for path in history.root.rglob("*") if ".git/" not in str(path) and ".dvc/tmp" not in str(path)
    )


def test_names_of_revisions(history: History) -> None:
    commit = history.commit(reef())
    history.git("update-ref", "refs/exps/00/0000000000/bold-reef", commit)
    history.git("update-ref", "refs/exps/exec/EXEC_BASELINE", commit)
    repository = Repository(history.root)
    assert repository.resolve("bold-reef").commit == commit
    assert str(repository.resolve("main")) == f"main ({commit[:7]})"
    assert str(repository.resolve(commit[:10])) == commit[:7]
    with pytest.raises(ReseedError, match=r"EXEC_BASELINE: neither .* \(experiments here: bold-reef\)"):
        repository.resolve("EXEC_BASELINE")
    other = history.commit(reef().but(params="a: 1\n"))
    history.git("update-ref", "refs/exps/11/1111111111/bold-reef", other)
    with pytest.raises(ReseedError, match="2 experiments are called bold-reef; name one by its commit: "):
        repository.resolve("bold-reef")
    with pytest.raises(ReseedError, match="--upload-pack: neither"):
        repository.resolve("--upload-pack")


def test_a_missing_object_is_named_and_fetched_from_the_remote(history: History, tmp_path: Path) -> None:
    history.commit(reef())
    digest = history.digest(PATCHES)
    content = (history.root / PATCHES).read_bytes()
    history.object(digest).unlink()
    head = Repository(history.root).resolve("HEAD")
    with pytest.raises(ReseedError, match=rf"patches\.csv of HEAD \(.*\) \(md5 {digest}\) .*no remote is set up"):
        Run(Repository(history.root), head, remote="read").read(PATCHES)
    storage = tmp_path / "storage"
    (history.root / ".dvc/config.local").write_text(
        f"[core]\n    remote = here\n['remote \"here\"']\n    url = {storage}\n"
    )
    with pytest.raises(ReseedError, match=rf"md5 {digest}\) is not in the DVC cache, nor in the remote \(.*storage"):
        Run(Repository(history.root), head, remote="read").with_answers()
    kept = storage / "files/md5" / digest[:2] / digest[2:]
    kept.parent.mkdir(parents=True)
    kept.write_bytes(content)
    assert Run(Repository(history.root), head, remote="read").read(PATCHES) == content
    assert not history.object(digest).exists(), "reading fills no cache"
    kept.chmod(0o644)
    kept.write_bytes(content + b"more\n")
    with pytest.raises(ReseedError, match=rf"the remote's object of object {digest} is damaged"):
        Run(Repository(history.root), head, remote="keep").object(digest)
    assert not list(history.object(digest).parent.glob(f"{digest[2:]}*")), "nothing of it stays"
    kept.write_bytes(content)
    fetched = Run(Repository(history.root), head, remote="keep").object(digest)
    assert fetched == history.object(digest)
    assert (fetched.read_bytes(), fetched.stat().st_mode & 0o777) == (content, 0o444)


def test_a_damaged_object_is_not_read(history: History) -> None:
    history.commit(reef())
    history.object(history.digest(PATCHES)).write_text("patch_id\n")
    with pytest.raises(ReseedError, match=r"damaged, it is not the data/predictions/patches\.csv"):
        Run(Repository(history.root), Repository(history.root).resolve("HEAD")).read(PATCHES)


def test_a_revision_without_a_run(history: History) -> None:
    history.git("commit", "--allow-empty", "-m", "empty")
    repository = Repository(history.root)
    with pytest.raises(ReseedError, match=r"has no data/catalog/frames\.csv: neither git nor its dvc\.lock knows it"):
        Run(repository, repository.resolve("HEAD")).with_answers()


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(ReseedError, match="no repository with git and DVC"):
        Repository(tmp_path)


def test_a_worktree_is_a_repository_too(history: History, tmp_path: Path) -> None:
    history.commit(reef())
    history.git("worktree", "add", "--quiet", str(tmp_path / "beside"))
    shutil.copytree(history.root / ".dvc/cache", tmp_path / "beside/.dvc/cache")
    repository = Repository(tmp_path / "beside")
    assert Run(repository, repository.resolve("main")).answers.patches.shape == (288, 4)


def test_what_lies_around_in_the_workspace_is_no_change(history: History) -> None:
    """A new file counts where it shapes a result; any other only once git tracks it."""
    head = history.commit(reef(), docs__note_md="one\n")
    for path, text in (("tow_7/map.html", "a map"), ("reseed/new.py", "x = 1\n"), ("docs/note_md", "two\n")):
        write_text(history.root / path, text)
    repository = Repository(history.root)
    assert changed_code(repository, repository.resolve(head), HERE) == {
        "files": [{"path": "reseed/new.py", "added": 1, "removed": 0}],
        "other_files": ["docs/note_md"],
    }


def test_no_replacement_is_read_in_the_place_of_a_commit(history: History) -> None:
    """`refs/replace` comes along with a copied repository, and git follows it without a word."""
    honest = history.commit(reef(), docs__note_md="honest\n")
    history.git("replace", honest, history.commit(reef(), docs__note_md="forged\n"))
    repository = Repository(history.root)
    assert Run(repository, repository.resolve(honest)).source("docs/note_md") == b"honest\n"


@pytest.mark.parametrize("key", ["core.fsmonitor", "gpg.program", "remote.origin.uploadpack"])
def test_no_command_of_a_configuration_that_came_along_is_run(history: History, tmp_path: Path, key: str) -> None:
    commit = history.commit(reef(), docs__note_md="note\n")
    blob = history.git("rev-parse", f"{commit}:docs/note_md")
    raw = history.git("cat-file", "commit", commit).replace("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n\n", 1)
    write_text(tmp_path / "signed", raw + "\n")
    signed = history.git("hash-object", "-t", "commit", "-w", str(tmp_path / "signed"))
    script, ran = tmp_path / "command.sh", tmp_path / "ran"
    write_text(script, f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o755)
    others = {"log.showSignature": "true", "remote.origin.url": str(tmp_path), "remote.origin.promisor": "true"}
    others |= {"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin"}
    for name, value in {**others, key: str(script)}.items():
        history.git("config", name, value)
    (history.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    repository = Repository(history.root)
    _ = Run(repository).tracked
    repository.committed_at(signed)
    with pytest.raises(ReseedError, match=r"git cat-file failed|git lacks|ls-tree failed"):
        Run(repository, repository.resolve(commit)).source("docs/note_md")
    assert not ran.exists()


def test_a_file_that_claims_a_huge_length_is_not_read(history: History) -> None:
    history.commit(reef())
    digest = history.digest(PATCHES)
    with history.object(digest).open("r+b") as writer:
        writer.truncate(200 << 30)
    with pytest.raises(ReseedError, match=r"patches\.csv: 214,748,364,800 bytes; at most"):
        Run(Repository(history.root)).read(PATCHES)
    history.object(digest).unlink()
    with (history.root / PATCHES).open("r+b") as writer:
        writer.truncate(200 << 30)
    with pytest.raises(ReseedError, match=r"patches\.csv: 214,748,364,800 bytes; at most"):
        Run(Repository(history.root)).read(PATCHES)
    assert any(f"{PATCHES} in the workspace is not the one" in line for line in _differing(history))


def _differing(history: History) -> list[str]:
    run = Run(Repository(history.root))
    return list(_workspace(run, [(PATCHES, run.digests[PATCHES])]))
