"""Research checkpoints: a torchvision network with the paper's head, taken over as they are.

Such a file is the state_dict of the torchvision network whose last layer was replaced by Sequential(Linear, ReLU,
Dropout, Linear), so a `mobilenet_v3_small` names its head `classifier.3.0` and `classifier.3.3`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from reseed.base.classes import CLASSES, match_class
from reseed.base.errors import ModelError
from reseed.network.fit import EpochScore, FitResult, validate
from reseed.network.losses import make_loss
from reseed.network.model import HEAD_WIDTH, LAST_LAYER, Network, feature_width
from reseed.network.pretrained import expand_path, match_backbone
from reseed.network.runtime import reproducible, resolve_device
from reseed.network.sampling import class_counts
from reseed.network.state import Converted, State, digest_file, read_state, some_names
from reseed.params.train import TrainParams

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
