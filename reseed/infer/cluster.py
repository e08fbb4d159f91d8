"""Shards of a run on Dask: workers of this machine, or those of a scheduler that is there.

Neither frames nor results pass through the scheduler: a task is the number of a shard, and its result a count.
"""

import importlib.util
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from tqdm import tqdm

from reseed.base.errors import ReseedError, SourceError
from reseed.base.parallel import tell
from reseed.infer.running import Progress
from reseed.infer.shards import Job, Manifest, decide_shard, merge, processor

_LINE_S: Final = 30.0
_CONNECT_S: Final = 10
_DEATHS: Final = 10  # of workers of this machine at one shard before the shard is blamed
# A terminal sends Ctrl-C to workers too; who started them ends them.
_NO_CTRL_C: Final = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def require_dask() -> None:
    """Check that Dask is installed.

    Raises:
        ReseedError: If not.
    """
    if importlib.util.find_spec("distributed") is None:
        raise ReseedError(
            "--workers and --scheduler need Dask, which is not installed: "
            "pip install -r requirements-extras.txt -c requirements.lock"
        )


def decide_on_cluster(
    job: Job, manifest: Manifest, *, workers: int | None, scheduler: str | None
) -> tuple[Progress, int]:
    """Decide the frames of a run on a cluster, and merge the shards.

    Args:
        job: The run.
        manifest: Its frames.
        workers: Processes to start here; None with a scheduler.
        scheduler: Address (tcp://, tls://) or scheduler file of a cluster that is there.

    Returns:
        What was done, and how many frames were done before. Ctrl-C stops at once, and loses the shards under way.

    Raises:
        ReseedError: If a shard fails, or the cluster is lost.
    """
    todo = manifest.begin(job.out)
    progress = _decide_shards(job, manifest, todo, workers, scheduler)
    makers = Counter[str]() if progress.stopped else merge(job.out, len(manifest.starts))
    if len(makers) > 1:  # they may differ in the last digit of a probability
        made = "; ".join(f"{number:,} by {maker}" for maker, number in makers.most_common())
        tell(f"note: shards were decided by different engines or processors: {made}")
    return progress, manifest.n_frames - sum(map(manifest.frames_of, todo))


def _decide_shards(
    job: Job, manifest: Manifest, todo: Sequence[int], workers: int | None, scheduler: str | None
) -> Progress:
    import distributed  # noqa: PLC0415 - an optional extra

    progress, began = Progress(), time.monotonic()
    if not todo:
        return progress
    bar = _Bar(sum(map(manifest.frames_of, todo)))
    try:
        with _client(workers, scheduler) as client:
            starts = [manifest.starts[number] for number in todo]
            sizes = [manifest.frames_of(number) for number in todo]
            tasks = client.map(partial(decide_shard, job), todo, starts, sizes, pure=False)
            numbers = dict(zip((task.key for task in tasks), todo, strict=True))
            for task in distributed.as_completed(tasks):
                number = numbers[task.key]
                bad = task.result()
                progress.bad += bad
                progress.decided += manifest.frames_of(number) - bad
                bar.add(manifest.frames_of(number))
    except KeyboardInterrupt:
        progress.stopped = True
    except distributed.KilledWorker as error:
        raise ReseedError(
            f"a shard ended every worker that tried it ({error.last_worker.address}); look at the memory of the "
            "workers; the same command goes on with the shards that are left"
        ) from error
    except (ModuleNotFoundError, RuntimeError) as error:
        if not isinstance(error, ModuleNotFoundError) and "deserializ" not in str(error):
            raise
        raise ReseedError(
            f"the scheduler or a worker of {scheduler} does not find this code; start each with PYTHONPATH set to a "
            "checkout of the same commit (docs/scale.md)"
        ) from error
    except (distributed.CancelledError, OSError, TimeoutError) as error:  # OSError: lost connections too
        where = scheduler or "of this machine"
        raise ReseedError(
            f"the cluster {where} is lost; shards that are done are kept, and the same command goes on"
        ) from error
    finally:
        bar.close()
    progress.seconds = time.monotonic() - began
    return progress


@contextmanager
def _client(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    import dask  # noqa: PLC0415 - an optional extra
    import distributed  # noqa: PLC0415

    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what it says is said in one line here
    with ExitStack() as stack:
        if scheduler is None:
            stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": _DEATHS}))
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host="127.0.0.1",  # plain TCP runs whatever a client sends: nobody else may reach it
                dashboard_address="127.0.0.1:0",  # there is one in any case; a fixed port may be taken
                memory_limit=None,
                preload=_NO_CTRL_C,
                silence_logs="CRITICAL",
            )
            yield stack.enter_context(distributed.Client(stack.enter_context(cluster)))
            return
        if "://" not in scheduler and not Path(scheduler).is_file():
            raise SourceError(
                f"--scheduler is {scheduler}; allowed: tcp://HOST:PORT, tls://HOST:PORT or the file that "
                "`dask scheduler --scheduler-file` writes"
            )
        given = {"address": scheduler} if "://" in scheduler else {"scheduler_file": scheduler}
        try:
            client = stack.enter_context(distributed.Client(**given, timeout=_CONNECT_S))
        except (OSError, ValueError, TypeError) as error:
            raise SourceError(
                f"--scheduler {scheduler}: no answer from a scheduler ({error}); start one with `dask scheduler`"
            ) from error
        address = urlsplit(client.scheduler.address)
        if address.scheme != "tls" and address.hostname not in _LOOPBACK:
            sys.stderr.write(
                f"note: {address.geturl()} is not encrypted, and runs what anybody sends who can reach it; use tls:// "
                "outside a network of your own (docs/scale.md)\n"
            )
        try:
            client.wait_for_workers(1, timeout=_CONNECT_S)
        except TimeoutError as error:
            raise ReseedError(
                f"--scheduler {scheduler}: it has no workers; start some with `dask worker` (docs/scale.md)"
            ) from error
        try:
            client.run(processor)  # a worker without this code would end at its first task
        except Exception as error:  # Dask has no class of its own for it
            if "No module named" not in str(error):
                raise
            raise ModuleNotFoundError(str(error)) from error
        yield client


class _Bar:
    """Frames, frames/s and time left: a bar on a terminal, else a line now and then."""

    def __init__(self, total: int) -> None:
        self._bar = tqdm(total=total, unit="frame", desc="infer", disable=None)
        self._total, self._done, self._began = total, 0, time.monotonic()
        self._told = self._began

    def add(self, frames: int) -> None:
        self._done += frames
        self._bar.update(frames)
        now = time.monotonic()
        if self._bar.disable and now - self._told > _LINE_S:
            speed = self._done / (now - self._began)
            left_s = (self._total - self._done) / speed
            tell(f"infer: {self._done:,} of {self._total:,} frames, {speed:.1f} frames/s, {left_s:,.0f} s left")
            self._told = now

    def close(self) -> None:
        self._bar.close()
