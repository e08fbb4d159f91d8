"""Trainings that are not finished, and repeats that are: files by which stage train and repeats go on after a stop.

They lie in `runs/trainings` of the repository (of the one that queued the experiment, for it runs elsewhere), which
neither git nor DVC looks at. The name of a file is a digest of everything that the training depends on, so a file is
never taken for another training. The folder may be removed at any time; then trainings start anew.
"""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from reseed.base.files import write_bytes
from reseed.base.progress import tell
from reseed.network.model import State, state_bytes
from reseed.params.train import TrainParams

_MOST_FILES: Final = 40  # the oldest go first: a sweep would otherwise fill the disk


def trainings_folder() -> Path:
    """Return where trainings are stored: DVC names the repository where an experiment runs in a folder of its own."""
    return Path(os.environ.get("DVC_ROOT") or ".", "runs", "trainings")


def training_key(
    images: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    params: TrainParams,
    start: State,
    device: str,
) -> str:
    """Return a digest of all that decides the bytes of a network: pixels, labels, rows, recipe, code, device."""
    digest = hashlib.sha256()
    for code in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(code.read_bytes())
    facts = [params.model_dump(), torch.__version__, device, torch.backends.cpu.get_cpu_capability(), images.shape]
    digest.update(json.dumps(facts, sort_keys=True).encode())
    digest.update(state_bytes(start))
    for chosen in rows:
        digest.update(chosen.tobytes())
        digest.update(labels[chosen].tobytes())
    for first in range(0, len(images), 256):
        digest.update(images[first : first + 256].tobytes())
    return digest.hexdigest()[:32]


def read_training(path: Path) -> dict[str, Any] | None:
    """Return what `write_training` wrote, None if there is nothing or the file is damaged: then it is removed."""
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001  # a truncated file can raise anything
        tell(f"train: {path} is damaged ({type(error).__name__}), so this training starts anew")
        path.unlink(missing_ok=True)
        return None
    return state


def write_training(path: Path, state: dict[str, Any]) -> None:
    """Write a training and remove the oldest files beside it."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_bytes(path, buffer.getvalue())
    others = sorted(path.parent.glob("*.pt"), key=_age, reverse=True)
    for old in others[_MOST_FILES:]:
        old.unlink(missing_ok=True)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another training has just removed it
        return 0.0
