"""The temporary folder of an audit: gone at the end, also after a kill; that of another audit stays."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from reseed.audit.objects import remove_tree, require_room, working_folder
from reseed.base.errors import ReseedError

AUDIT = """
import sys, time
from reseed.audit.objects import working_folder
with working_folder() as folder:
    (folder / "large.bin").write_bytes(b"x")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def started() -> tuple["subprocess.Popen[str]", Path]:
    process = subprocess.Popen([sys.executable, "-c", AUDIT], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_nothing_stays_and_a_failure_is_no_exception(place: Path) -> None:
    with working_folder() as folder:
        assert folder.is_relative_to(place)
        assert folder.stat().st_mode & 0o077 == 0 or folder.parent.stat().st_mode & 0o077 == 0, "private"
    with pytest.raises(FileNotFoundError), working_folder() as folder:
        (folder / "a/b").write_text("x")
    assert not list(place.iterdir())


def test_the_next_start_clears_what_a_kill_left_and_leaves_a_running_audit_alone() -> None:
    killed, left = started()
    running, kept = started()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    try:
        assert left.exists()
        with working_folder():
            assert not left.exists()
            assert (kept / "large.bin").exists()
    finally:
        running.kill()
        running.wait()
        for process in (killed, running):
            process.stdout.close()  # type: ignore[union-attr]


def test_a_link_with_the_name_of_an_audit_is_left_alone(place: Path, tmp_path: Path) -> None:
    outside = tmp_path / "mine"
    outside.mkdir()
    (outside / "notes.txt").write_text("precious")
    (place / "reseed-audit-x").symlink_to(outside)
    with working_folder():
        pass
    assert (outside / "notes.txt").read_text() == "precious"


def test_a_folder_that_resists_is_removed_and_links_in_it_lead_nowhere(tmp_path: Path) -> None:
    outside = tmp_path / "mine"
    outside.mkdir(mode=0o750)
    (outside / "notes.txt").write_text("precious")
    folder = tmp_path / "folder"
    (folder / "a/b").mkdir(parents=True)
    (folder / "a/link").symlink_to(outside)
    (folder / "a/b").chmod(0)
    (folder / "a").chmod(0)
    remove_tree(folder)
    assert not folder.exists()
    assert (outside / "notes.txt").read_text() == "precious"
    assert outside.stat().st_mode & 0o777 == 0o750


def test_a_disk_is_not_filled(tmp_path: Path) -> None:
    require_room(tmp_path, 1000, "the inputs")
    with pytest.raises(ReseedError, match=r"the inputs: .* bytes would be written"):
        require_room(tmp_path, 1 << 60, "the inputs")
