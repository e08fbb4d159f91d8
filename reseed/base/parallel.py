"""Threads that run ahead of their consumer, the progress of long work, and stages that end with their parent.

Image codecs release the interpreter lock. Progress is a bar on a terminal, and lines where there is none, such as in
`dvc queue logs`.
"""

import ctypes
import functools
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final, TypeVar

from tqdm import tqdm

if TYPE_CHECKING:
    import psutil

_Shown = TypeVar("_Shown")

LINES_AFTER_S: Final = 20.0
_BAR_AFTER_S: Final = 5.0
_SHELLS: Final = {"sh", "bash", "dash", "zsh", "fish", "ksh"}
_ALIVE_POLL_S: Final = 0.2


def progress(items: Iterable[_Shown], *, total: int, what: str, unit: str) -> Iterator[_Shown]:
    """Yield `items` and show how many are done: without a terminal, a line per tenth of what takes over 20 s.

    Args:
        items: To be worked on by the caller, one after the other.
        total: How many they are.
        what: What is being done.
        unit: What an item is.
    """
    if sys.stderr.isatty():
        yield from tqdm(items, total=total, desc=what, unit=unit, delay=_BAR_AFTER_S, leave=False)
        return
    began, told = time.monotonic(), 0
    for number, item in enumerate(items, 1):
        yield item
        tenth = 10 * number // total
        taken_s = time.monotonic() - began
        if tenth > told and taken_s > LINES_AFTER_S:
            tell(f"{what}: {number:,} of {total:,} {unit}s ({10 * tenth} %), {taken_s:.0f} s")
            told = tenth


def tell(line: str) -> None:
    """Write one line to standard error, at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


Item = TypeVar("Item")
Result = TypeVar("Result")

# Finished results waiting per thread: enough to keep the threads busy, few enough to bound memory.
_AHEAD = 2


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], *, total: int, unit: str, what: str
) -> Iterator[Result]:
    """Apply `function` to `items` in threads and yield the results in the order of the items.

    Memory is bounded: only a few results per thread wait at a time. Progress is shown.

    Args:
        function: Called from several threads at once.
        items: What to work on.
        total: Number of items, for the bar.
        unit: What an item is, for the bar.
        what: What is being done, for the bar.
    """
    yield from progress(_in_threads(function, items), total=total, what=what, unit=unit)


def _in_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    n_threads = usable_cores()
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > n_threads * _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:  # an error above: do not start what nobody will read
                future.cancel()


# Of malloc.h: blocks below the one are kept when freed; memory above the other at the end of the heap is given back.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 2**30


@functools.cache
def keep_freed_memory() -> None:
    """Let the C library reuse freed memory for the next frame or training step instead of giving it back to the system.

    By itself glibc maps large blocks anew and the system clears them, page by page: 100,000 page faults in a training
    step at 256 px, a seventh of its time, and a tenth of the time from a frame to its patches. Other C libraries have
    no such setting and are left alone. Holds for the whole process.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # no such function, or no library to ask, as on Windows
        return
    mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
    mallopt(_M_TRIM_THRESHOLD, 2 * _KEPT_BYTES - 1)


def in_processes(make: Callable[[Item], Result], items: Iterable[Item], most: int) -> list[Result]:
    """Return make(item) of all items in order, up to `most` at a time, each in a process of its own.

    Args:
        make: A function of a module, that a new process can import.
        items: What it is called with.
        most: Processes at a time; with one, or one item, everything runs here.
    """
    items = list(items)
    if min(most, len(items)) < 2:
        return [make(item) for item in items]
    with ProcessPoolExecutor(min(most, len(items)), get_context("spawn"), _end_quietly) as pool:
        return list(pool.map(make, items))


def _end_quietly() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is told by the process that started this one
    end_with_parent()


def end_with_parent() -> None:
    """Exit as soon as DVC, or the shell it started this stage through, is gone.

    An orphan of a killed `dvc` would otherwise write into the output of the next run.
    """
    watched = _ancestors_to_watch()
    if _orphaned_at_start(watched):
        os._exit(1)
    threading.Thread(target=_exit_when_gone, args=(watched,), daemon=True).start()


def _ancestors_to_watch() -> "list[psutil.Process]":
    """Return the parent and, while that is a shell, its parent too."""
    import psutil  # noqa: PLC0415  only stages need it

    watched = []
    for ancestor in psutil.Process().parents():
        watched.append(ancestor)
        if ancestor.name().removesuffix(".exe") not in _SHELLS:
            break
    return watched


def _orphaned_at_start(watched: "list[psutil.Process]") -> bool:
    """Whether DVC died while Python was still starting: a process that adopts orphans is of another session.

    Asked after `watched` was looked up, so that there is no moment in between at which DVC could die unseen.
    """
    if "DVC_STAGE" not in os.environ or not hasattr(os, "getsid"):
        return False
    return not watched or any(_session(process) != os.getsid(0) for process in watched)


def _session(process: "psutil.Process") -> int | None:
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return None


def _exit_when_gone(watched: "list[psutil.Process]") -> None:
    while all(_lives(process) for process in watched):
        time.sleep(_ALIVE_POLL_S)
    os._exit(1)  # at once: no handler may write anything more


def _lives(process: "psutil.Process") -> bool:
    import psutil  # noqa: PLC0415  only stages need it

    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
