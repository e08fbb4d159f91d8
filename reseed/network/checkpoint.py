"""Files of networks: `models/model.pt` with `model.json`, and unfinished trainings to go on with after a stop.

Unfinished trainings and finished repeats lie in `runs/trainings` of the repository (of the one that queued the
experiment, for it runs elsewhere), which neither git nor DVC looks at. The name of a file is a digest of everything
that the training depends on, so a file is never taken for another training. The folder may be removed at any time; then
trainings start anew.
"""

import hashlib
import importlib.metadata
import io
import json
import os
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError
from reseed.base.files import write_bytes, write_json
from reseed.base.parallel import tell
from reseed.network.model import (
    CHANNEL_MEAN,
    CHANNEL_STD,
    HEAD_DROPOUT,
    HEAD_WIDTH,
    LAST_LAYER,
    Converted,
    Network,
    State,
    count_heads,
    digest_file,
    read_state,
    state_bytes,
)
from reseed.params.train import TrainParams

MODEL_FILE: Final = "model.pt"
CARD_FILE: Final = "model.json"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Normalisation(_Part):
    """Channel mean and standard deviation, RGB, full scale 1; applied inside the network."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]


class Head(_Part):
    """What stands on the pooled features: Linear(width), ReLU, Dropout, Linear(number of classes)."""

    width: int
    dropout: float


class ModelCard(_Part):
    """`model.json`.

    Args:
        classes: Names in the order of the outputs.
        backbone: torchvision network below the head.
        head: The head on it.
        input_px: Height and width of the patches it was trained on.
        normalisation: Applied inside the network.
        geometry: How patches were cut and resized, as `data/patches/geometry.json` says.
        pretrained: What `data/pretrained/weights.json` says.
        best_epoch: From 1; 0 where nothing was trained here.
        seed: `train.seed`.
        device: Type of the device it was trained, or converted, on.
        threads: CPU threads it was trained, or converted, with.
        versions: Of torch, torchvision and numpy.
        sha256: Of `model.pt`.
        converted: The research checkpoint that it was taken over from, None if it was trained here.
    """

    classes: tuple[str, ...]
    backbone: str
    head: Head
    input_px: tuple[int, int]
    normalisation: Normalisation
    geometry: dict[str, Any]
    pretrained: dict[str, Any]
    best_epoch: int
    seed: int
    device: str
    threads: int
    versions: dict[str, str]
    sha256: str
    converted: Converted | None = None  # files from before there was such a thing lack it


def describe_model(
    backbone: str,
    best_epoch: int,
    seed: int,
    threads: int,
    device: str,
    input_px: tuple[int, int],
    geometry: dict[str, Any],
    pretrained: dict[str, Any],
    converted: Converted | None = None,
) -> ModelCard:
    """Describe a network that this code has just trained or taken over; arguments as the attributes of `ModelCard`.

    The digest is left empty: `save_model` fills it in.
    """
    return ModelCard(
        classes=CLASSES,
        backbone=backbone,
        head=Head(width=HEAD_WIDTH, dropout=HEAD_DROPOUT),
        input_px=input_px,
        normalisation=Normalisation(mean=CHANNEL_MEAN, std=CHANNEL_STD),
        geometry=geometry,
        pretrained=pretrained,
        best_epoch=best_epoch,
        seed=seed,
        device=device,
        threads=threads,
        versions={name: importlib.metadata.version(name) for name in ("torch", "torchvision", "numpy")},
        sha256="",
        converted=converted,
    )


def save_model(network: Network, described: ModelCard, pt: Path, card: Path) -> None:
    """Write the weights to `pt` and the description, with their digest, to `card`."""
    data = state_bytes(network.state_dict())
    complete = described.model_copy(update={"sha256": hashlib.sha256(data).hexdigest()})
    write_bytes(pt, data)
    write_json(card, complete.model_dump(mode="json"))


def load_model(pt: Path, card: Path, geometry: dict[str, Any] | None) -> tuple[Network, ModelCard]:
    """Return the network, on the CPU in evaluation mode, and its description.

    Args:
        pt: `model.pt`.
        card: `model.json`.
        geometry: How the patches it will see were cut and resized (`data/patches/geometry.json`); None where they are
            yet to be cut as the description says.

    Raises:
        ModelError: If a file is missing or broken, or the two files, this code and these patches do not fit together;
            both sides are named.
    """
    described = read_card(card)
    _require_same(card, "classes", described.classes, CLASSES)
    if geometry is not None:
        _require_same(card, "geometry", described.geometry, geometry)
    _require_same(card, "normalisation", described.normalisation, Normalisation(mean=CHANNEL_MEAN, std=CHANNEL_STD))
    _require_same(card, "head", described.head, Head(width=HEAD_WIDTH, dropout=HEAD_DROPOUT))
    if described.backbone not in LAST_LAYER:
        raise ModelError(f"{card}: backbone is {described.backbone!r}; this code has {', '.join(LAST_LAYER)}")
    state = read_state(pt)
    digest = digest_file(pt)
    if digest != described.sha256:
        raise ModelError(
            f"{pt}: sha256 is {digest}, but {card} describes {described.sha256}; the two files are of different "
            "trainings: run `dvc repro train` or `dvc pull`"
        )
    network = Network(described.backbone, heads=count_heads(state))
    _require_shapes(pt, state, network.state_dict(), described.backbone)
    network.load_state_dict(state)
    network.eval()
    return network, described


def save_without_val(network: Network | None, path: Path) -> None:
    """Write the weights of the network that was trained without split val; a file without tensors if there is none."""
    write_bytes(path, state_bytes({} if network is None else network.state_dict()))


def load_without_val(path: Path, backbone: str) -> Network | None:
    """Return the network that `save_without_val` wrote, on the CPU in evaluation mode.

    Args:
        path: The file.
        backbone: A key of `LAST_LAYER`.

    Raises:
        ModelError: If the file is missing or broken or does not fit the backbone.
    """
    state = read_state(path)
    if not state:
        return None
    network = Network(backbone, heads=count_heads(state))
    _require_shapes(path, state, network.state_dict(), backbone)
    network.load_state_dict(state)
    return network.eval()


def read_card(path: Path) -> ModelCard:
    """Read `model.json`.

    Raises:
        ModelError: If it is missing, no JSON or lacks a key.
    """
    try:
        return ModelCard.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"{path}: no such file; run `dvc repro train` or `dvc pull`") from error
    except (UnicodeDecodeError, ValidationError) as error:
        raise ModelError(f"{path}: not a description of a model: {' '.join(str(error).split())}") from error


def _require_same(path: Path, what: str, saved: Any, current: Any) -> None:
    if saved != current:
        raise ModelError(
            f"{path}: {what} of the model is {_text(saved)}, but here it is {_text(current)}; train again with "
            "`dvc repro train`, or check out the code and parameters that the model was trained with"
        )


def _require_shapes(path: Path, saved: dict[str, Tensor], current: dict[str, Tensor], backbone: str) -> None:
    for name in [*current, *saved]:
        sides = [str(tuple(state[name].shape)) if name in state else "absent" for state in (saved, current)]
        if sides[0] != sides[1]:
            raise ModelError(
                f"{path}: tensor {name} is {sides[0]}, but backbone {backbone} with its head needs {sides[1]}"
            )


def _text(value: Any) -> str:
    return json.dumps(value.model_dump() if isinstance(value, BaseModel) else value, sort_keys=True)


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
