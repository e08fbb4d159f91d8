"""What a killed DVC leaves in `.dvc/tmp` does not stop `make repro`."""

import json
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
import zc.lockfile

ROOT = Path(__file__).parents[2]
unlock: Callable[[Path], None] = runpy.run_path(str(ROOT / ".ci/unlock"))["main"]
WHOLE = {"write": {"/data/raw": {"pid": 1, "cmd": "dvc repro"}}, "read": {}}


@pytest.fixture
def rwlock(tmp_path: Path) -> Path:
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    return tmp_path / ".dvc/tmp/rwlock"


@pytest.mark.parametrize(
    "content",
    [b"", b'{"data/raw": {"write": {"pid": 1', b"null", b"[]", bytes(512), b"\xff\xfe", b'{"write": []}', b"[" * 10**5],
    ids=["empty", "half", "null", "list", "nul", "no text", "another form", "deep"],
)
def test_a_damaged_list_is_removed(
    tmp_path: Path, rwlock: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    rwlock.write_bytes(content)
    unlock(tmp_path)
    assert not rwlock.exists()
    assert "which a killed DVC left damaged" in capsys.readouterr().err


def test_a_whole_one_stays_and_none_is_no_matter(tmp_path: Path, rwlock: Path) -> None:
    unlock(tmp_path)
    rwlock.write_text(json.dumps(WHOLE))
    unlock(tmp_path)
    assert json.loads(rwlock.read_text()) == WHOLE


def test_nothing_is_removed_while_another_dvc_writes_there(tmp_path: Path, rwlock: Path) -> None:
    rwlock.write_bytes(b"")
    held = zc.lockfile.LockFile(str(rwlock.with_name("rwlock.lock")))
    try:
        unlock(tmp_path)
    finally:
        held.close()
    assert rwlock.exists()


def test_repro_unlocks_before_dvc_begins() -> None:
    lines = [line.strip() for line in (ROOT / "Makefile").read_text().splitlines()]
    begins = [number for number, line in enumerate(lines) if "dvc repro --force" in line]
    assert len(begins) == 2
    for number in begins:
        assert lines[number - 1].startswith("python .ci/unlock"), lines[number]
        assert lines[number + 1].endswith("dvc repro"), lines[number]
