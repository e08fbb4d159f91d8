"""Trainings that are stopped anywhere go on at their last epoch and end with the bytes of an undisturbed one."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from reseed.artifacts.patches import TRAINING_CURVE
from reseed.network import training
from reseed.network.checkpoint import read_training, training_key, write_training
from reseed.network.epochs import Learner
from reseed.network.model import state_bytes
from reseed.network.training import FitResult, fit
from reseed.params.train import TrainParams
from tests.unit.network.conftest import Reef

ROOT = Path(__file__).parents[3]
Make = Callable[..., TrainParams]
RECIPES = {
    "plateau": {"lr_patience": 0, "epochs": 4},
    "cosine": {"schedule": "cosine", "warmup": 0.2, "optimiser": "adamw", "head_lr": 10.0, "epochs": 4},
    "head": {"schedule": "cosine", "freeze": "backbone", "epochs": 3},
    "heads": {"schedule": "cosine", "freeze": "backbone", "heads": 3, "epochs": 3},
    "average": {"schedule": "cosine", "ema": 0.9, "freeze": "norm", "epochs": 3},
}


def train(reef: Reef, params: TrainParams, keep: Path | None) -> FitResult:
    return fit(reef.images, reef.labels, reef.train_rows[:60], reef.val_rows[:30], params, {}, keep=keep)


class StoppedError(Exception):
    pass


def stop_after(epochs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a training end with an error when it has written `epochs` epochs, as a kill would."""

    def write(path: Path, state: dict[str, object]) -> None:
        write_training(path, state)
        if len(state["history"]) == epochs:  # type: ignore[arg-type]
            raise StoppedError

    monkeypatch.setattr(training, "write_training", write)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_stopped_training_ends_with_the_same_bytes(
    reef: Reef, train_params: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: str
) -> None:
    params = train_params(**RECIPES[recipe])
    expected = train(reef, params, None)
    for epochs in range(1, params.epochs):
        stop_after(epochs, monkeypatch)
        with pytest.raises(StoppedError):
            train(reef, params, tmp_path)
    monkeypatch.undo()
    found = train(reef, params, tmp_path)
    assert found.history == expected.history
    assert state_bytes(found.network.state_dict()) == state_bytes(expected.network.state_dict())
    learnt = []
    monkeypatch.setattr(Learner, "learn", lambda *_: learnt.append(1))
    again = train(reef, params, tmp_path)
    assert state_bytes(again.network.state_dict()) == state_bytes(expected.network.state_dict())
    assert not learnt, "a finished training learnt once more"


def test_the_curve_can_be_read_while_the_training_goes_on(
    reef: Reef, train_params: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curve, seen = tmp_path / "training.csv", []
    learn = Learner.learn

    def look(self: Learner, *arguments: object) -> tuple[float, float]:
        seen.append(TRAINING_CURVE.read(curve)["epoch"].tolist() if curve.exists() else [])
        return learn(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Learner, "learn", look)
    fit(reef.images, reef.labels, reef.train_rows[:60], reef.val_rows[:30], train_params(epochs=3), {}, curve=curve)
    assert seen == [[], [1], [1, 2]]
    assert TRAINING_CURVE.read(curve)["epoch"].tolist() == [1, 2, 3]


def test_a_file_of_another_training_is_never_taken_up(reef: Reef, train_params: Make) -> None:
    rows = reef.train_rows, reef.val_rows
    known = (reef.images, reef.labels, rows, train_params(), {}, "cpu")
    pixels, labels = reef.images.copy(), reef.labels.copy()
    pixels[-1, -1, -1, -1] ^= 1
    labels[0] = (labels[0] + 1) % 3
    others = [
        (pixels, *known[1:]),
        (reef.images, labels, *known[2:]),
        (*known[:2], (rows[0][:-1], rows[1]), *known[3:]),
        (*known[:2], (rows[0], rows[1][:-1]), *known[3:]),
        (*known[:3], train_params(seed=1), *known[4:]),
        (*known[:3], train_params(epochs=9), *known[4:]),
        (*known[:4], {"a": torch.zeros(1)}, "cpu"),
        (*known[:5], "cuda"),
    ]
    keys = [training_key(*given) for given in [known, known, *others]]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 1 + len(others)


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda _: b"", lambda _: b"no training"])
def test_a_damaged_file_starts_the_training_anew(
    reef: Reef, train_params: Make, tmp_path: Path, damage: Callable[[bytes], bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    params = train_params(epochs=1)
    expected = train(reef, params, tmp_path)
    (path,) = tmp_path.glob("*.pt")
    path.write_bytes(damage(path.read_bytes()))
    found = train(reef, params, tmp_path)
    assert f"train: {path} is damaged" in capsys.readouterr().err
    assert state_bytes(found.network.state_dict()) == state_bytes(expected.network.state_dict())


def test_the_folder_does_not_grow_for_ever(tmp_path: Path) -> None:
    for number in range(45):
        write_training(tmp_path / f"{number:02d}.pt", {"history": []})
        os.utime(tmp_path / f"{number:02d}.pt", (number, number))
    assert min(path.name for path in tmp_path.iterdir()) == "05.pt"
    assert read_training(tmp_path / "04.pt") is None
    assert read_training(tmp_path / "05.pt") == {"history": []}


@pytest.fixture
def local(workspace: Path) -> Path:
    """The workspace with the code in it, so that stages run there."""
    for package in ("reseed", "stages"):
        subprocess.run(["cp", "-r", str(ROOT / package), str(workspace)], check=True)
    return workspace


def run(workspace: Path, name: str, **more: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", f"stages.{name}"]
    return subprocess.run(command, cwd=workspace, check=False, capture_output=True, text=True, **more)  # type: ignore[call-overload, no-any-return]


def test_ctrl_c_is_one_line_and_the_next_run_goes_on(local: Path) -> None:
    params = local / "params.yaml"
    params.write_text(params.read_text().replace("epochs: 2", "epochs: 12"))
    run(local, "pretrained")
    assert run(local, "train").returncode == 0
    expected = (local / "models/model.pt").read_bytes()
    (local / "models/model.pt").unlink()
    command = [sys.executable, "-m", "stages.train"]
    with subprocess.Popen(command, cwd=local, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "epoch 1 of 12" in process.stderr.readline()
        # Python loses an interrupt that comes while it clears something away; people press the keys again.
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(2)
        lines = process.stderr.read().splitlines()
    assert process.returncode != 0
    assert lines[-1].startswith("interrupted: ")
    assert all(line.startswith(("train: epoch", "interrupted: ")) for line in lines)
    assert not (local / "models/model.pt").exists()
    again = run(local, "train")
    assert "train: goes on after epoch" in again.stderr
    assert (local / "models/model.pt").read_bytes() == expected
    assert not list((local / "runs/trainings").iterdir()), "what is done needs no file"


@pytest.mark.parametrize("limit", [1_000_000, 20_000_000])
def test_a_full_disk_is_one_line_and_the_next_run_goes_on(local: Path, limit: int) -> None:
    run(local, "pretrained")

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    stopped = run(local, "train", preexec_fn=full)
    assert stopped.returncode == 2
    last = stopped.stderr.splitlines()[-1]
    assert last.startswith("error: no space left to write (File too large): ")
    assert "Traceback" not in stopped.stderr
    assert not list(local.rglob("*.part"))
    assert not (local / "models").exists()
    assert run(local, "train").returncode == 0
