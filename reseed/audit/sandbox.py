"""Running code that nobody vouches for: without network, with a clean environment, read-only, within limits.

Linux only: bubblewrap where it is installed, else `unshare` with the mounts that bubblewrap would make.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from reseed.base.errors import ReseedError

try:
    import resource
except ImportError:  # Windows: no sandbox there either
    resource = None  # type: ignore[assignment]

# What a Python installation needs of the system.
_SYSTEM: Final = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/alternatives")
_POLL_S: Final = 0.5
_POLL_SHARE: Final = 20
_BLOCK_BYTES: Final = 512  # of st_blocks, whatever the file system
_TOLD_BYTES: Final = 1 << 20
_MEMORY_FILES: Final = str(256 << 20)  # bytes of each file system in memory
_PR_SET_PDEATHSIG: Final = 1  # of linux/prctl.h
# Arguments: new root, its writable folder, the paths to read, `--`, the command. The mounts belong to this namespace;
# without capabilities, which setpriv takes away for good, nothing inside can change them.
_MOUNTS: Final = r"""
set -e
root=$1; writable=$2; shift 2
mount -t tmpfs -o size=16m,mode=755 none "$root"
mkdir -p "$root/proc" "$root/tmp" "$root/.old"
mount -t tmpfs -o size=256m none "$root/tmp"
mount -t proc none "$root/proc"
bind() {
    if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root$(dirname "$1")"; : > "$root$1"; fi
    mount --bind "$1" "$root$1"
}
while [ "$1" != -- ]; do bind "$1"; mount -o remount,bind,ro "$root$1"; shift; done
shift
bind "$writable"
for device in /dev/null /dev/zero /dev/random /dev/urandom; do bind "$device"; done
pivot_root "$root" "$root/.old"
cd "$writable"
umount -l /.old
rmdir /.old
mount -o remount,ro /
exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"
"""


@dataclass(frozen=True)
class Limits:
    """What a run may use.

    Args:
        time_s: From start to end.
        memory_bytes: Of all its processes together.
        disk_bytes: Of all it writes.
        processes: At the same time.
        address_space: Whether the kernel bounds each process too, to twice the memory: CUDA cannot live with that.
    """

    time_s: float = 6 * 3600
    memory_bytes: int = 8 << 30
    disk_bytes: int = 8 << 30
    processes: int = 256
    address_space: bool = True


_TRIAL: Final = Limits(time_s=30)


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Args:
        code: Exit code; negative after a signal.
        output: Standard output.
        errors: The end of standard error.
        stopped: Which limit it broke, empty if none.
    """

    code: int
    output: str
    errors: str
    stopped: str


def require_sandbox() -> None:
    """Check that there is a sandbox.

    Raises:
        ReseedError: If this system has none; says how to do without.
    """
    if sys.platform != "linux":
        raise ReseedError(f"--run-revision-code: {sys.platform} has no sandbox here; --no-sandbox runs it without")
    with tempfile.TemporaryDirectory(prefix="reseed-sandbox-") as top:
        folder = Path(top, "work")
        folder.mkdir()
        try:
            done = run_limited(sandboxed(["/bin/true"], folder, []), folder, clean_environment(folder), _TRIAL)
            why = "" if done.code == 0 else done.errors.strip() or f"exit code {done.code}"
        except OSError as error:
            why = str(error)
    if why:
        raise ReseedError(
            f"--run-revision-code: no sandbox here ({why}); install bubblewrap, or allow user namespaces; "
            "--no-sandbox runs the code of the revision with your rights"
        )


def sandboxed(command: Sequence[str], writable: Path, readable: Sequence[Path]) -> list[str]:
    """Return a command that runs another one in a sandbox.

    Args:
        command: What to run.
        writable: The only folder that it may write to, and starts in.
        readable: What it may read beside the system and this Python.
    """
    paths = [path for path in _SYSTEM if Path(path).exists()]
    paths += [
        path for path in dict.fromkeys((sys.prefix, sys.base_prefix, *map(str, readable))) if not _below(path, paths)
    ]
    if shutil.which("bwrap"):
        binds = [part for path in paths for part in ("--ro-bind", path, path)]
        memory = [part for path in ("/tmp", "/dev/shm") for part in ("--size", _MEMORY_FILES, "--tmpfs", path)]  # noqa: S108
        mounts = ("--proc", "/proc", "--dev", "/dev", *memory, *binds, "--bind", str(writable), str(writable))
        # The root of bubblewrap is a file system in memory without a bound, and root keeps its capabilities.
        closed = ("--remount-ro", "/", "--remount-ro", "/dev", "--cap-drop", "ALL", "--chdir", str(writable))
        return ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", *mounts, *closed, "--", *command]
    root = writable.parent / f"{writable.name}-root"
    root.mkdir(exist_ok=True)
    spaces = ("--user", "--map-root-user", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child")
    script = ("/bin/sh", "-c", _MOUNTS, "sandbox", str(root), str(writable), *paths, "--", *command)
    return ["unshare", *spaces, *script]


def clean_environment(home: Path) -> dict[str, str]:
    """Return an environment without anything of the auditor: no tokens, no configuration, no paths."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        **{name: os.environ[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS") if name in os.environ},
    }


def run_limited(command: Sequence[str], folder: Path, env: Mapping[str, str], limits: Limits) -> Ended:
    """Run a command, and stop it with all its processes when it breaks a limit.

    Args:
        command: What to run.
        folder: Where it starts, and what counts as written by it.
        env: Its environment.
        limits: What it may use.
    """

    def bounded() -> None:
        if libc is not None:  # a killed audit leaves nothing behind that still runs
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if resource is not None:
            bounds = {resource.RLIMIT_FSIZE: limits.disk_bytes, resource.RLIMIT_CORE: 0}
            if limits.address_space:
                bounds[resource.RLIMIT_AS] = 2 * limits.memory_bytes
            for kind, most in bounds.items():
                hard = resource.getrlimit(kind)[1]
                value = most if hard == resource.RLIM_INFINITY else min(most, hard)
                resource.setrlimit(kind, (value, value))

    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE,  # closed when this process ends, however that comes
            stdout=output,
            stderr=errors,
            start_new_session=True,
            preexec_fn=bounded if resource is not None else None,  # noqa: PLW1509  sets limits, no lock is taken
        )
        try:
            stopped = _watch(process, folder, limits, (output.fileno(), errors.fileno()))
        finally:
            _kill(process)
        texts = []
        for file in (output, errors):
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TOLD_BYTES))
            texts.append(file.read().decode(errors="replace"))
    return Ended(process.returncode, texts[0], texts[1], stopped)


def _watch(process: "subprocess.Popen[bytes]", folder: Path, limits: Limits, told: Sequence[int]) -> str:
    """Wait for the end; return which limit was broken, empty if none."""
    started, stopped, pause_s = time.monotonic(), "", _POLL_S
    while process.poll() is None:
        try:
            process.wait(pause_s)
        except subprocess.TimeoutExpired:
            looked = time.monotonic()
            stopped = _broken(process.pid, folder, limits, looked - started, told)
            pause_s = max(_POLL_S, _POLL_SHARE * (time.monotonic() - looked))  # a folder may hold many files
            if stopped:
                break
    return stopped or _broken(process.pid, folder, limits, 0, told)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a process with all that it started, as when somebody presses Ctrl-C here."""
    if process.poll() is None:
        for child in _family(process.pid):
            with contextlib.suppress(psutil.Error):
                child.kill()
        process.wait()
    if hasattr(os, "killpg"):  # what left the family but not the session
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()


def _broken(pid: int, folder: Path, limits: Limits, passed_s: float, told: Sequence[int]) -> str:
    if passed_s > limits.time_s:
        return f"it ran longer than {limits.time_s:g} s"
    family, memory = _family(pid), 0
    if len(family) > limits.processes:
        return f"it started more than {limits.processes} processes"
    for child in family:
        with contextlib.suppress(psutil.Error):
            memory += child.memory_info().rss
    if memory > limits.memory_bytes:
        return f"it took more than {limits.memory_bytes:,} bytes of memory"
    written = sum(os.fstat(number).st_size for number in told)
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            with contextlib.suppress(OSError):
                about = os.lstat(os.path.join(parent, name))  # noqa: PTH118  thousands of files
                # A file without content claims its length, and whoever reads it gets that many bytes.
                written += max(about.st_blocks * _BLOCK_BYTES, about.st_size)
    written += sum(_unlinked(family).values())
    return f"it wrote more than {limits.disk_bytes:,} bytes" if written > limits.disk_bytes else ""


def _unlinked(family: Sequence[psutil.Process]) -> dict[tuple[int, int], int]:
    """Return the bytes of each open file that has no name any more: no walk through the folder finds it."""
    found = {}
    for child in family:
        with contextlib.suppress(OSError):
            for name in Path(f"/proc/{child.pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    about = name.stat()
                    if stat.S_ISREG(about.st_mode) and not about.st_nlink:
                        found[about.st_dev, about.st_ino] = about.st_blocks * _BLOCK_BYTES
    return found


def _family(pid: int) -> list[psutil.Process]:
    """Return a process and all that it started."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def _below(path: str, above: Sequence[str]) -> bool:
    return any(Path(path).is_relative_to(top) for top in above)
