"""`kill -9` at every stage: the next `dvc repro` ends as an undisturbed run, and no orphan changes that later."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.pipeline.clone import STAGES, Clone, environment

pytestmark = pytest.mark.slow


def stage_processes(clone: Clone, stage: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if f"stages.{stage}" in process.cmdline() and process.cwd() == str(clone.root):
                found.append(process)
        except psutil.Error:
            continue
    return found


def kill_during(clone: Clone, stage: str, whole_group: bool, shell: str | None = None) -> None:
    """Start `dvc repro` on one stage and kill it once the stage is at work; dvc starts stages through `shell`."""
    dvc = subprocess.Popen(
        ["dvc", "repro", "--force", "--single-item", stage],
        cwd=clone.root,
        env=environment() | ({"SHELL": shell} if shell else {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not stage_processes(clone, stage):
        assert dvc.poll() is None, f"dvc ended before {stage} was seen"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.4)
    if whole_group:
        os.killpg(dvc.pid, signal.SIGKILL)
    else:
        dvc.kill()
    dvc.wait()


def require_unwritten(clone: Clone) -> None:
    assert not (clone.root / "models/model.pt").exists(), "the orphan went on to its end"


def wait_until_gone(clone: Clone, stage: str) -> None:
    """An orphan that was importing torch when dvc died leaves once that is done, before it reads or writes anything."""
    deadline = time.monotonic() + 60
    while stage_processes(clone, stage):
        assert time.monotonic() < deadline, f"an orphan of {stage} still runs"
        time.sleep(0.1)


# Where stage and dvc die together no orphan can be left: a stage that writes a folder and one that writes files do.
@pytest.mark.parametrize(
    ("whole_group", "stages"), [(False, STAGES), (True, ("pull", "train"))], ids=["dvc alone", "whole group"]
)
def test_the_next_run_ends_as_if_nothing_had_happened(whole_group: bool, stages: tuple[str, ...], clone: Clone) -> None:
    undisturbed = clone.read("dvc.lock")
    for stage in stages:
        shutil.rmtree(clone.root / ".dvc/cache/runs", ignore_errors=True)  # the stage must really run again
        kill_during(clone, stage, whole_group)
        clone.dvc("repro")
        assert clone.read("dvc.lock") == undisturbed, stage
        wait_until_gone(clone, stage)  # what no longer runs cannot write later
    assert "up to date" in clone.dvc("status")
    assert clone.read("dvc.lock") == undisturbed
    assert clone.git("status", "--porcelain") == ""


def test_a_stage_that_dvc_started_dies_with_it(clone: Clone, tmp_path: Path) -> None:
    kill_during(clone, "train", whole_group=False)
    wait_until_gone(clone, "train")
    require_unwritten(clone)
    # Most shells turn into the stage; one that waits for it outlives dvc, and the stage must look past it.
    waiting = tmp_path / "bash"
    waiting.write_text('#!/bin/sh\n/bin/bash "$@"\nexit $?\n')
    waiting.chmod(0o755)
    kill_during(clone, "train", whole_group=False, shell=str(waiting))
    wait_until_gone(clone, "train")
    require_unwritten(clone)
