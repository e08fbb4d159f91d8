import fcntl
from pathlib import Path

import pytest

from tests.pipeline.clone import Clone, new_clone


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Clone:
    """A clone with the tiny parameters after `dvc repro`, committed. Made once, for reading only: tests copy it."""
    shared = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        shared = shared.parent  # one clone for all workers
    root = shared / "finished"
    with (shared / "finished.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "finished.done").exists():
            root.mkdir()
            clone = new_clone(root)
            clone.dvc("repro")
            clone.commit("Run the pipeline")
            (shared / "finished.done").touch()
    return Clone(root)


@pytest.fixture
def clone(finished: Clone, tmp_path: Path) -> Clone:
    """A copy of the finished clone, cache and results included, to do anything with."""
    return finished.copy(tmp_path / "clone")
