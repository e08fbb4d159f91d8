"""The run: frames through the workers, rows into the tables, until there are no more frames or somebody says stop."""

import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

from tqdm import tqdm

from reseed.base.errors import ImageError
from reseed.infer.deciding import Decided, Rule, Unusable, decide, decision_row, patch_rows, thumbnail_row
from reseed.infer.frames import POLL_S, Source
from reseed.infer.geotags import Logs
from reseed.infer.tables import (
    BAD_COLUMNS,
    BAD_FILE,
    DECISION_COLUMNS,
    DECISIONS_FILE,
    PATCH_COLUMNS,
    PATCHES_FILE,
    SKIPPED_COLUMNS,
    SKIPPED_FILE,
    THUMBNAIL_COLUMNS,
    THUMBNAILS_FILE,
    LineFile,
    writing,
)

TABLES: Final = {
    PATCHES_FILE: PATCH_COLUMNS,
    THUMBNAILS_FILE: THUMBNAIL_COLUMNS,
    DECISIONS_FILE: DECISION_COLUMNS,
    BAD_FILE: BAD_COLUMNS,
    SKIPPED_FILE: SKIPPED_COLUMNS,
}
_AHEAD: Final = 2  # frames waiting for each worker: none ever waits, and memory stays bounded
REFRESH_S: Final = 30.0  # how old the map of a folder that is watched may become while frames come
_REFRESH_LEAST_S: Final = 5.0
SYNC_S: Final = 5.0  # what a power cut may cost; a sync for each frame would cost more than the frame


@dataclass
class Progress:
    """What this start did.

    Args:
        decided: Frames.
        bad: Frames that cannot be used.
        skipped: Frames passed over for newer ones.
        seconds: Wall time.
        waiting: Of these, seconds in which there was no frame to decide.
        stopped: Whether somebody said stop before the source was exhausted.
    """

    decided: int = 0
    bad: int = 0
    skipped: int = 0
    seconds: float = 0.0
    waiting: float = 0.0
    stopped: bool = False


class Tables:
    """The tables of a run, open for appending.

    Args:
        out: Folder of the run. What a former start left of unusable and skipped frames is dropped: both
            are tried again.
        sync_s: Seconds of decisions that a power cut may cost.
    """

    def __init__(self, out: Path, sync_s: float) -> None:
        for name in (BAD_FILE, SKIPPED_FILE):
            with writing(out / name):
                (out / name).unlink(missing_ok=True)
        self._all = tuple(LineFile(out / name, columns) for name, columns in TABLES.items())
        self.patches, self.thumbnails, self.decisions, self.bad, self.skipped = self._all
        self._sync_s = sync_s
        self._synced_at = time.monotonic()
        # Beside the run: a slow card takes seconds to write, during which no frame should wait.
        self._syncer = ThreadPoolExecutor(1, thread_name_prefix="sync")
        self._syncing: Future[None] = self._syncer.submit(lambda: None)

    def add(self, decided: Decided, logs: Logs, alpha_text: str) -> None:
        """Write a decided frame; its decision last, so that what has a decision is complete."""
        row = decision_row(decided, logs.geotag(decided.frame, decided.exif), alpha_text)
        self.patches.append(patch_rows(decided))
        self.thumbnails.append([thumbnail_row(decided)])
        self.decisions.append([row])
        if time.monotonic() - self._synced_at > self._sync_s and self._syncing.done():
            self._syncing.result()  # says what the last one could not write
            self._synced_at = time.monotonic()
            self._syncing = self._syncer.submit(self.sync)

    def sync(self) -> None:
        """Put everything on the disk."""
        for table in self._all:
            table.sync()

    def close(self) -> None:
        """Close every table."""
        self._syncer.shutdown()
        for table in self._all:
            table.close()


def decide_all(
    source: Source,
    rule: Rule,
    logs: Logs,
    out: Path,
    *,
    workers: int,
    ahead: bool,
    total: int | None,
    refresh: Callable[[], object] | None = None,
    sync_s: float = SYNC_S,
    shown: bool = True,
) -> Progress:
    """Decide every frame of a source.

    Each worker takes a frame all the way, decoding and network on the one core it has, so that both overlap between
    frames and no core waits for another. Rows are written in the order in which the source gave the frames.

    Args:
        source: Where frames come from.
        rule: How they are decided; one call of the engine uses one thread.
        logs: Photo logs.
        out: Folder of the run.
        workers: Frames decided at the same time.
        ahead: Whether workers run ahead of the tables; otherwise a frame is chosen only when a worker is free.
        total: Number of frames for the bar, None if unknown.
        refresh: Called now and then while frames come, to show what was decided so far; None to show it at the end.
        sync_s: Seconds of decisions that a power cut may cost.
        shown: Whether a terminal shows a bar.

    Returns:
        What was done; a first Ctrl-C or a termination signal lets the frames under way finish.

    Raises:
        ReseedError: If a table cannot be written, a log is broken, or the network gives no numbers.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        stop = stack.enter_context(_stop_on_signal())
        stack.enter_context(_quiet_pillow())
        tables = Tables(out, sync_s)
        stack.callback(tables.close)
        bar = stack.enter_context(tqdm(total=total, unit="frame", desc="infer", disable=None if shown else True))
        pool = stack.enter_context(ThreadPoolExecutor(workers, thread_name_prefix="infer"))
        running = _Running(source, rule, logs, tables, bar, stop, refresh)
        stack.callback(running.cancel)  # an error: start nothing more
        running.go(pool, most=workers * (1 + _AHEAD) if ahead else workers)
        tables.sync()
    progress = running.progress
    progress.stopped = stop.is_set() and not source.exhausted()
    progress.seconds = time.monotonic() - began
    return progress


class _Running:
    """The loop between source, workers and tables; all but the deciding happens in the thread that calls it."""

    def __init__(
        self,
        source: Source,
        rule: Rule,
        logs: Logs,
        tables: Tables,
        bar: "tqdm[Any]",
        stop: threading.Event,
        refresh: Callable[[], object] | None,
    ) -> None:
        self._source, self._rule, self._logs = source, rule, logs
        self._tables, self._bar, self._stop = tables, bar, stop
        self._waiting: deque[Future[Decided | Unusable]] = deque()
        self.progress = Progress()
        self._refresh, self._shown, self._shown_at = refresh, 0, time.monotonic()

    def go(self, pool: ThreadPoolExecutor, most: int) -> None:
        """Go on until there are no more frames, or to stop was asked and the frames under way are done."""
        while True:
            while len(self._waiting) < most and not self._stop.is_set():
                frame = self._source.take()
                if frame is None:
                    break
                self._waiting.append(pool.submit(decide, frame, self._rule))
            self._note_skipped()
            if self._waiting:
                self._await_first()
            elif self._stop.is_set() or self._source.exhausted():
                return
            else:
                self._show_so_far()
                began = time.monotonic()
                self._stop.wait(POLL_S)
                self.progress.waiting += time.monotonic() - began
            if time.monotonic() - self._shown_at > REFRESH_S:
                self._show_so_far()

    def _show_so_far(self) -> None:
        """Show what was decided, if that is new and was not shown a moment ago."""
        if self._refresh is None or self._shown == self.progress.decided:
            return
        if time.monotonic() - self._shown_at < _REFRESH_LEAST_S:
            return
        self._refresh()
        self._shown, self._shown_at = self.progress.decided, time.monotonic()

    def cancel(self) -> None:
        """Let no frame begin that nobody waits for."""
        for future in self._waiting:
            future.cancel()

    def _await_first(self) -> None:
        try:
            result = self._waiting[0].result(timeout=POLL_S)  # a folder that is watched wants a look in between
        except NotYet:
            return
        self._waiting.popleft()
        if isinstance(result, Decided):
            self._tables.add(result, self._logs, self._rule.alpha_text)
            self.progress.decided += 1
        elif self._source.give_back(result.frame):
            return
        else:
            self._tables.bad.append([_bad_row(result)])
            self.progress.bad += 1
            self._bar.set_postfix_str(f"{self.progress.bad} unusable")
        self._bar.update()

    def _note_skipped(self) -> None:
        passed = self._source.passed_over()
        if passed:
            self._tables.skipped.append([{"frame": old.name, "newer_frame": newer.name} for old, newer in passed])
            self.progress.skipped += len(passed)


def _bad_row(result: Unusable) -> dict[str, object]:
    error: ImageError = result.error
    return {"frame": result.frame.name, "reason": error.reason, "detail": " ".join(error.detail.split())}


@contextmanager
def _stop_on_signal() -> Iterator[threading.Event]:
    """Yield what a first Ctrl-C or termination sets; a second one ends the process at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, _: FrameType | None) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    for number in before:
        signal.signal(number, handle)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _quiet_pillow() -> Iterator[None]:
    with warnings.catch_warnings():
        # Pillow warns of broken metadata; what cannot be read of it is missing, and is seen to be.
        warnings.filterwarnings("ignore", module=r"PIL\.")
        yield
