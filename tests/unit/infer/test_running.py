"""The loop between source, workers and tables."""

import threading
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reseed.base.errors import TableError
from reseed.infer import running
from reseed.infer.deciding import Rule
from reseed.infer.frames import ListSource
from reseed.infer.geotags import Logs
from reseed.infer.run_folder import Frame, find_frames
from reseed.infer.running import Progress, decide_all
from reseed.infer.tables import DECISION_COLUMNS, DECISIONS_FILE, LineFile, read_lines
from tests.unit.infer.boat import ColourEngine, write_tow


class CountingEngine(ColourEngine):
    """Notes how many frames are in the network at once, and sleeps so that they meet."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self._lock = threading.Lock()

    def classify(self, images: NDArray[np.uint8]) -> NDArray[np.float64]:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.03)
        with self._lock:
            self.now -= 1
        return super().classify(images)


class CountingSource(ListSource):
    """Notes how many frames were taken."""

    taken = 0

    def take(self) -> Frame | None:
        frame = super().take()
        self.taken += frame is not None
        return frame


def run(folder: Path, out: Path, engine: ColourEngine, workers: int, **options: float) -> Progress:
    out.mkdir()
    source = CountingSource(find_frames([folder], out).frames)
    rule = Rule(engine, engine.facts.patch_size_px, Fraction(1, 2), "0.5")
    return decide_all(
        source, rule, Logs(folder, growing=False), out, workers=workers, ahead=True, total=None, **options
    )


@pytest.mark.parametrize("workers", [1, 3])
def test_never_more_frames_at_once_than_workers_and_all_in_order(tmp_path: Path, workers: int) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"] * 12)
    engine = CountingEngine()
    progress = run(tmp_path / "frames", tmp_path / "out", engine, workers)
    assert (progress.decided, progress.bad, progress.stopped) == (12, 0, False)
    assert engine.most == workers
    names = [row["frame"] for row in read_lines(tmp_path / "out" / DECISIONS_FILE, DECISION_COLUMNS)]
    assert names == sorted(names)


def test_frames_wait_in_a_bounded_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"] * 30)
    waiting: list[int] = []
    source = CountingSource(find_frames([tmp_path / "frames"], tmp_path / "out").frames)
    add = running.Tables.add

    def noting(self: running.Tables, *args: object) -> None:
        add(self, *args)  # type: ignore[arg-type]
        waiting.append(source.taken - len(waiting) - 1)

    monkeypatch.setattr(running.Tables, "add", noting)
    (tmp_path / "out").mkdir()
    rule = Rule(CountingEngine(), 40, Fraction(1, 2), "0.5")
    logs = Logs(tmp_path / "frames", growing=False)
    decide_all(source, rule, logs, tmp_path / "out", workers=2, ahead=True, total=None)
    assert len(waiting) == 30
    assert max(waiting) <= 2 * 3  # two workers, each with its own frame and two ahead


def test_a_disk_that_fails_later_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems take every row and only fail when they have to put them on the disk."""

    def full(table: LineFile) -> None:
        raise TableError(f"cannot write {table.path}: No space left on device")

    write_tow(tmp_path / "frames", ["dddddddd"] * 6)
    monkeypatch.setattr(LineFile, "sync", full)
    with pytest.raises(TableError, match="No space left"):
        run(tmp_path / "frames", tmp_path / "out", CountingEngine(), workers=1, sync_s=0.0)
