"""The sandbox: what code that nobody vouches for sees, and what stops it."""

import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reseed.audit import sandbox
from reseed.audit.sandbox import Ended, Limits, clean_environment, require_sandbox, run_limited, sandboxed
from reseed.base.errors import ReseedError


def refusal() -> str:
    try:
        require_sandbox()
    except ReseedError as error:
        return str(error)
    return ""


REFUSED = refusal()
needs_sandbox = pytest.mark.skipif(bool(REFUSED), reason=REFUSED)
BUBBLEWRAP = shutil.which("bwrap")


@pytest.fixture(autouse=True, params=["bubblewrap", "unshare"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test, with either program that makes the sandbox."""
    if request.param == "bubblewrap" and not BUBBLEWRAP:
        pytest.skip("bubblewrap is not installed")
    monkeypatch.setattr(shutil, "which", lambda _: BUBBLEWRAP if request.param == "bubblewrap" else None)
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def run(folder: Path, code: str, limits: Limits | None = None, *, inside: bool = True) -> Ended:
    command = [sys.executable, "-I", "-c", code]
    if inside:
        command = sandboxed(command, folder, [])
    return run_limited(command, folder, clean_environment(folder), limits or Limits(time_s=60))


@needs_sandbox
def test_its_folder_is_all_that_it_can_write(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "notes.txt"
    outside.write_text("precious")
    code = f"""
import os
try:
    open({str(outside)!r}, "w").write("changed")
except OSError:
    pass
for path in ("/notes.txt", "/usr/notes.txt", {sys.prefix!r} + "/notes.txt", "/etc/notes.txt"):
    try:
        open(path, "w").write("changed")
        print("wrote", path)
    except OSError:
        pass
open("mine.txt", "w").write("made")
"""
    ended = run(folder, code)
    assert (ended.code, ended.output, ended.stopped) == (0, "", ""), ended
    assert outside.read_text() == "precious"
    assert (folder / "mine.txt").read_text() == "made"


@needs_sandbox
def test_nothing_of_the_auditor_is_seen(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITOR_TOKEN", "secret")
    (tmp_path / "id_rsa").write_text("secret")
    code = f"""
import os
print("AUDITOR_TOKEN" in os.environ, os.path.exists({str(tmp_path / "id_rsa")!r}), os.path.exists("/etc/passwd"))
print(any(b"secret" in open(f"/proc/{{pid}}/environ", "rb").read() for pid in os.listdir("/proc") if pid.isdigit()))
"""
    assert run(folder, code).output == "False False False\nFalse\n"


@needs_sandbox
def test_there_is_no_network(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"""
import socket
for address in (("127.0.0.1", {server.getsockname()[1]}), ("192.0.2.1", 80)):
    try:
        socket.create_connection(address, 2)
        print("connected")
    except OSError:
        print("no")
"""
        assert run(folder, code).output == "no\nno\n"
        assert run(folder, code, inside=False).output.startswith("connected\n")


@needs_sandbox
def test_it_cannot_make_anything_writable_again(folder: Path) -> None:
    code = """
import subprocess
for command in ("mount -o remount,rw /", "mount -o remount,bind,rw /usr", "umount /usr", "mount -t tmpfs none /usr"):
    print(subprocess.run(command.split(), capture_output=True).returncode == 0)
try:
    open("/usr/notes.txt", "w")
    print("wrote")
except OSError:
    pass
"""
    assert run(folder, code).output == "False\n" * 4


@needs_sandbox
def test_files_in_memory_are_bounded(folder: Path) -> None:
    code = """
for place in ("/tmp", "/dev/shm", "/dev", "/"):
    try:
        with open(f"{place}/large", "wb") as file:
            for _ in range(300):
                file.write(bytes(1 << 20))
        print("wrote", place)
    except OSError:
        pass
"""
    ended = run(folder, code)
    assert (ended.code, ended.output) == (0, ""), ended


@needs_sandbox
def test_nothing_runs_on_after_the_audit_is_killed(folder: Path, kind: str) -> None:
    code = "import time\nwhile True:\n    open('beat.txt', 'w').write(str(time.time()))\n    time.sleep(0.1)"
    script = f"""
import shutil, sys
from pathlib import Path
from reseed.audit.sandbox import Limits, clean_environment, run_limited, sandboxed
shutil.which = lambda name: {BUBBLEWRAP if kind == "bubblewrap" else None!r}
folder = Path(sys.argv[1])
run_limited(sandboxed([sys.executable, "-I", "-c", {code!r}], folder, []), folder, clean_environment(folder), Limits())
"""
    beat = folder / "beat.txt"
    with subprocess.Popen([sys.executable, "-c", script, str(folder)], cwd=Path(sandbox.__file__).parents[2]) as audit:
        until = time.monotonic() + 60
        while not beat.exists() and time.monotonic() < until:
            time.sleep(0.1)
        audit.kill()
    assert beat.exists()
    time.sleep(1)
    last = beat.read_text()
    time.sleep(1)
    assert beat.read_text() == last


@pytest.mark.parametrize("inside", [pytest.param(True, marks=needs_sandbox), False])
@pytest.mark.parametrize(
    ("code", "limits", "stopped"),
    [
        ("while True: pass", Limits(time_s=1), "it ran longer than 1 s"),
        (
            "import time\nfor n in range(99): open(str(n), 'wb').write(b'x' * (1 << 20))\ntime.sleep(60)",
            Limits(time_s=60, disk_bytes=20 << 20),
            "it wrote more than",
        ),
        (
            "for n in range(30): open(str(n), 'wb').truncate(1 << 20)\nraise SystemExit(1)",  # sparse, and gone
            Limits(time_s=60, disk_bytes=20 << 20),
            "it wrote more than",
        ),
        (
            "import time\nx = b'x' * (300 << 20)\ntime.sleep(60)",
            Limits(time_s=60, memory_bytes=200 << 20),
            "it took more than",
        ),
        (
            "import os, time\nfor n in range(9):\n    if os.fork() == 0: time.sleep(60)\ntime.sleep(60)",
            Limits(time_s=60, processes=4),
            "it started more than 4 processes",
        ),
        (
            "import sys\nwhile True: sys.stdout.write('x' * 1000000)",
            Limits(time_s=60, disk_bytes=100 << 20),
            "it wrote more than|$",
        ),
    ],
)
def test_who_breaks_a_limit_is_stopped(folder: Path, code: str, limits: Limits, stopped: str, *, inside: bool) -> None:
    started = time.monotonic()
    ended = run(folder, code, limits, inside=inside)
    assert time.monotonic() - started < 40
    assert ended.code != 0
    assert len(ended.output) <= 1 << 20
    assert re.match(stopped, ended.stopped), ended


def test_one_file_and_one_allocation_are_bounded_at_once(folder: Path) -> None:
    """The kernel stops them, before anybody looks."""
    code = "open('a', 'wb').write(b'x' * (8 << 20))"
    assert run(folder, code, Limits(disk_bytes=1 << 20), inside=False).code != 0
    assert (folder / "a").stat().st_size <= 1 << 20
    assert run(folder, "x = bytearray(2 << 30)", Limits(memory_bytes=512 << 20), inside=False).code != 0


def test_where_there_is_no_sandbox_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "sandboxed", lambda *_: [sys.executable, "-c", "raise SystemExit('not permitted')"])
    with pytest.raises(ReseedError, match=r"no sandbox here \(not permitted\); install bubblewrap.*--no-sandbox"):
        require_sandbox()
    monkeypatch.setattr(sandbox, "sandboxed", lambda *_: ["no-such-command-here"])
    with pytest.raises(ReseedError, match=r"no sandbox here .*no-such-command-here"):
        require_sandbox()
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ReseedError, match="darwin has no sandbox here"):
        require_sandbox()


def test_bubblewrap_is_taken_where_it_is_installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    command = sandboxed(["python", "x"], folder, [])
    assert command[:2] == ["bwrap", "--unshare-all"]
    at = command.index("--bind")
    assert command[at : at + 3] == ["--bind", str(folder), str(folder)]
    assert command.count("--bind") == 1
    assert command[-3:] == ["--", "python", "x"]


def test_no_process_is_left(folder: Path) -> None:
    code = "import os, time\nif os.fork() == 0:\n    time.sleep(3)\n    open('late.txt', 'w')\ntime.sleep(60)"
    run(folder, code, Limits(time_s=1), inside=False)
    time.sleep(3)
    assert not (folder / "late.txt").exists()
    assert subprocess.run(["true"], check=False).returncode == 0
