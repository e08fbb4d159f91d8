"""What every stage does around its main: run the code of this folder only, end with its parent, explain user errors."""

import argparse
import errno
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

import reseed
from reseed.base.errors import EXIT_USER_ERROR, ReseedError

_SHELLS = {"sh", "bash", "dash", "zsh", "fish", "ksh"}
_POLL_S = 0.2
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # the disk, a quota, or the limit of one file


def run_stage(main: Callable[[], None]) -> None:
    """Run a stage's `main`; a user error or full disk ends in one message and code 2, a bug keeps its traceback."""
    try:
        require_local_library(Path.cwd())
        end_with_parent()
        main()
    except ReseedError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(EXIT_USER_ERROR)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        sys.stderr.write(
            f"error: no space left to write ({error.strerror}): nothing half-written is left; free some space and "
            "run the same command again, a training goes on at its last epoch\n"
        )
        sys.exit(EXIT_USER_ERROR)


def parse_arguments(doc: str | None, argv: list[str] | None, **switches: str) -> argparse.Namespace:
    """Parse a stage's command line: `--help` prints `doc`; values come from params.yaml, so there is little else.

    Args:
        doc: The stage's own docstring.
        argv: Arguments without the program name; those of the process if None.
        **switches: Options that are off unless given, with their help: `no_figures` is `--no-figures`.

    Returns:
        A boolean for each switch.
    """
    parser = argparse.ArgumentParser(description=doc)
    for name, text in switches.items():
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=text)
    return parser.parse_args(argv)


def require_local_library(folder: Path) -> None:
    """Check that the imported library is the one below `folder`.

    An installed copy would run while the experiment records the code of this folder.

    Raises:
        ReseedError: If `reseed` was imported from elsewhere.
    """
    library = Path(next(iter(reseed.__path__))).resolve()
    if library.parent != folder.resolve():
        raise ReseedError(
            f"reseed was imported from {library}, not from {folder}: run stages from the repository root as "
            "`python -m stages.<name>` and uninstall any installed reseed (`pip uninstall reseed`)"
        )


def end_with_parent() -> None:
    """Exit as soon as DVC, or the shell it started this stage through, is gone.

    An orphan of a killed `dvc` would otherwise write into the output of the next run.
    """
    watched = _ancestors_to_watch()
    if _orphaned_at_start(watched):
        os._exit(1)
    threading.Thread(target=_exit_when_gone, args=(watched,), daemon=True).start()


def _ancestors_to_watch() -> list[psutil.Process]:
    """Return the parent and, while that is a shell, its parent too."""
    watched = []
    for ancestor in psutil.Process().parents():
        watched.append(ancestor)
        if ancestor.name().removesuffix(".exe") not in _SHELLS:
            break
    return watched


def _orphaned_at_start(watched: list[psutil.Process]) -> bool:
    """Whether DVC died while Python was still starting: a process that adopts orphans is of another session.

    Asked after `watched` was looked up, so that there is no moment in between at which DVC could die unseen.
    """
    if "DVC_STAGE" not in os.environ or not hasattr(os, "getsid"):
        return False
    return not watched or any(_session(process) != os.getsid(0) for process in watched)


def _session(process: psutil.Process) -> int | None:
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return None


def _exit_when_gone(watched: list[psutil.Process]) -> None:
    while all(_lives(process) for process in watched):
        time.sleep(_POLL_S)
    os._exit(1)  # at once: no handler may write anything more


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
