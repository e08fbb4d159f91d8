"""`models/model.pt` and `model.json`: the trained network, and everything needed to use it rightly."""

import hashlib
import importlib.metadata
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from reseed.base.classes import CLASSES, match_class
from reseed.base.errors import ModelError
from reseed.base.files import write_bytes, write_json
from reseed.network.augment import class_counts
from reseed.network.losses import make_loss
from reseed.network.model import (
    CHANNEL_MEAN,
    CHANNEL_STD,
    HEAD_DROPOUT,
    HEAD_WIDTH,
    LAST_LAYER,
    Converted,
    Network,
    State,
    digest_file,
    feature_width,
    read_state,
    some_names,
    state_bytes,
)
from reseed.network.pretrained import bare_names, expand_path, match_backbone
from reseed.network.runtime import reproducible, resolve_device
from reseed.network.training import EpochScore, FitResult, validate
from reseed.params.train import TrainParams


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
    network = Network(described.backbone)
    _require_shapes(pt, state, network.state_dict(), described.backbone)
    network.load_state_dict(state)
    network.eval()
    return network, described


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


REMEDY: Final = "name the state_dict file of a trained network (relative paths start at the repository root)"
_LAST: Final = "3"  # position of the last Linear in the head


@dataclass(frozen=True)
class Checkpoint:
    """A network that was trained elsewhere.

    Args:
        network: On the CPU, in evaluation mode, its outputs in the order of `CLASSES`.
        record: Where it comes from.
    """

    network: Network
    record: Converted


def read_checkpoint(path: Path, backbone: str, classes: Sequence[str], key: str) -> Checkpoint:
    """Read a research checkpoint.

    Args:
        path: The file; only tensors are ever loaded from it.
        backbone: A key of `LAST_LAYER`.
        classes: Its classes in the order of its outputs, in any spelling.
        key: What the user set `backbone` by, for messages.

    Raises:
        ModelError: If the file is missing, broken, no state_dict, of another architecture or head, or not finite, or
            the classes are not the three.
    """
    order = class_order(classes)
    state = convert_state(read_state(path, REMEDY), backbone, order, str(path), key)
    network = Network(backbone)
    network.load_state_dict(state)
    return Checkpoint(network.eval(), Converted(file=path.name, sha256=digest_file(path), classes=order))


def class_order(names: Sequence[str]) -> tuple[str, ...]:
    """Return the classes that `names` spell, in their order.

    Raises:
        ModelError: If they are not the three classes, each once.
    """
    found = [match_class(name) for name in names]
    if sorted(map(str, found)) != sorted(CLASSES):
        raise ModelError(
            f"classes of the checkpoint: got {', '.join(names)}; allowed: {', '.join(CLASSES)}, each once, in the "
            "order of its outputs"
        )
    return tuple(map(str, found))


def convert_state(state: State, backbone: str, order: tuple[str, ...], where: str, key: str) -> State:
    """Return the tensors of a research checkpoint under the names of `Network`, outputs in the order of `CLASSES`.

    Args:
        state: As read.
        backbone: A key of `LAST_LAYER`.
        order: Classes of its outputs.
        where: Path, for messages.
        key: What the user set `backbone` by, for messages.

    Raises:
        ModelError: If the tensors are not those of `backbone` with the head of the paper, or not finite.
    """
    state = bare_names(state)
    below = f"{LAST_LAYER[backbone]}."
    head = {name.removeprefix(below): value for name, value in state.items() if name.startswith(below)}
    matched = match_backbone(state, backbone, where, key)
    expected = {
        "0.weight": (HEAD_WIDTH, feature_width(backbone)),
        "0.bias": (HEAD_WIDTH,),
        f"{_LAST}.weight": (len(CLASSES), HEAD_WIDTH),
        f"{_LAST}.bias": (len(CLASSES),),
    }
    found = {name: tuple(value.shape) for name, value in head.items()}
    if found != expected:
        width = feature_width(backbone)
        listed = some_names(f"{below}{name} {shape}" for name, shape in found.items())
        raise ModelError(
            f"{where}: its head is {listed}; needed: {below[:-1]} = Sequential(Linear({width}, {HEAD_WIDTH}), ReLU, "
            f"Dropout, Linear({HEAD_WIDTH}, {len(CLASSES)})), a network trained for the three classes"
        )
    for name, value in head.items():
        if not torch.isfinite(value).all():
            raise ModelError(f"{where}: {below}{name} holds values that are not finite; get the file again")
    rows = [order.index(name) for name in CLASSES]
    for name in (f"{_LAST}.weight", f"{_LAST}.bias"):
        head[name] = head[name][rows]
    converted = {f"backbone.{name}": value for name, value in matched.items()}
    return converted | {f"head.{name}": head[name].float().contiguous() for name in expected}


def convert(
    images: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    train_rows: npt.NDArray[np.int64],
    val_rows: npt.NDArray[np.int64],
    params: TrainParams,
) -> FitResult:
    """Take the network of `train.checkpoint` over as it is, and score it on validation patches.

    Args:
        images: (N, H, W, 3) uint8, RGB.
        labels: (N,) int64 class indices.
        train_rows: Positions that training would learn from: only counted.
        val_rows: Positions to score; there may be none.
        params: Section `train`.

    Returns:
        No history; epoch 0 as the best, whose training loss, and without validation patches whose scores, are NaN.

    Raises:
        ModelError: As `read_checkpoint`.
        ParamsError: If this machine does not have `train.device`.
    """
    checkpoint = read_checkpoint(expand_path(params.checkpoint), params.backbone, CLASSES, "train.backbone")
    device = resolve_device(params.device, "train.device")
    network = checkpoint.network.to(device)
    scores = (math.nan, math.nan, math.nan)
    if len(val_rows):
        loss = make_loss(params.loss, params.gamma, torch.ones(len(CLASSES), dtype=torch.float64))
        with reproducible(params.threads, params.seed, device):
            scores = validate(network, images, labels, val_rows, loss, params, device)
    return FitResult(
        network=network,
        device=device,
        history=(),
        best=EpochScore(0, math.nan, math.nan, *scores),
        train_counts=class_counts(labels[train_rows]),
        val_counts=class_counts(labels[val_rows]),
        converted=checkpoint.record,
    )
