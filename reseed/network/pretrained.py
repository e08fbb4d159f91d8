"""Weights from elsewhere: those that training starts from, and research checkpoints taken over as they are."""

import importlib.metadata
import itertools
import math
import os
import re
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from reseed.base.classes import CLASSES, match_class
from reseed.base.errors import ModelError
from reseed.network.epochs import EpochScore, make_loss
from reseed.network.model import (
    HEAD_WIDTH,
    LAST_LAYER,
    Converted,
    Network,
    State,
    build_backbone,
    digest_file,
    feature_width,
    read_state,
    some_names,
)
from reseed.network.patch_set import class_counts
from reseed.network.runtime import reproducible, resolve_device
from reseed.network.training import FitResult, validate
from reseed.params.train import TrainParams

_REMEDY = (
    "set train.weights to none, imagenet or the path of a state_dict (relative paths start at the repository root)"
)


@dataclass(frozen=True)
class StartWeights:
    """Weights to start from.

    Args:
        state: Tensors of the backbone by name, empty for random weights.
        record: What `weights.json` says of them.
    """

    state: State
    record: dict[str, Any]


def find_weights(backbone: str, weights: str) -> StartWeights:
    """Return the weights that `train.weights` asks for, checked against the backbone.

    Args:
        backbone: A key of `LAST_LAYER`.
        weights: `none`, `imagenet` (through `$TORCH_HOME`, downloaded if it is not there) or the path of a file.

    Raises:
        ModelError: If the file is missing, unreachable, not a state_dict of tensors, or of another architecture.
    """
    record: dict[str, Any] = {"backbone": backbone, "weights": weights, "file": None, "sha256": None, "tensors": 0}
    state: State = {}
    if weights != "none":
        if weights == "imagenet":
            path = imagenet_file(backbone)
        else:
            record["weights"] = "file"  # the path is of one machine, the name and digest are not
            path = expand_path(weights)
        state = match_backbone(read_state(path, _REMEDY), backbone, str(path))
        record |= {"file": path.name, "sha256": digest_file(path), "tensors": len(state)}
    return StartWeights(state, record | {"torchvision": importlib.metadata.version("torchvision")})


def load_start(path: Path, backbone: str) -> State:
    """Read the weights that stage pretrained stored, empty for random ones.

    Raises:
        ModelError: If the file is missing, broken or of another backbone.
    """
    state = read_state(path)
    return match_backbone(state, backbone, str(path)) if state else state


def expand_path(text: str) -> Path:
    """Return the path that `text` names: `~` and `$VAR` expanded, relative to `$DVC_ROOT`, else the current folder.

    Queued experiments run in a folder of their own, where `../weights/x.pth` would name something else.
    """
    return Path(os.environ.get("DVC_ROOT") or ".", os.path.expandvars(os.path.expanduser(text)))  # noqa: PTH111  # Path raises for an unknown user


def imagenet_file(backbone: str) -> Path:
    """Return torchvision's ImageNet weights of `backbone`, fetched into `$TORCH_HOME` if they are not there.

    Raises:
        ModelError: If they can be had neither from there nor from torchvision's site.
    """
    from torchvision import models  # noqa: PLC0415  # takes seconds; other choices of weights do not need it

    url: str = models.get_model_weights(backbone)["IMAGENET1K_V1"].url
    path = Path(torch.hub.get_dir(), "checkpoints", url.rsplit("/", 1)[1])
    prefix = re.search(r"-([0-9a-f]{8,})\.pth$", path.name)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            torch.hub.download_url_to_file(
                url, str(path), prefix.group(1) if prefix else None, progress=sys.stderr.isatty()
            )
        except (OSError, RuntimeError) as error:
            raise ModelError(
                f"train.weights: imagenet weights of {backbone} could not be fetched from {url} ({error}); fetch "
                f"{path.name} on a connected machine and put it at {path}, or set train.weights to the path of the file"
            ) from error
    digest = digest_file(path)
    if prefix and not digest.startswith(prefix.group(1)):
        raise ModelError(
            f"{path}: sha256 is {digest}, but its name promises {prefix.group(1)}...; remove it and fetch {url} again"
        )
    return path


# What torch puts into the names of tensors: DataParallel and averaged weights, torch.compile, sharding, checkpointing.
_WRAPPERS: Final = frozenset({"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
_COUNTER: Final = "n_averaged"  # of torch.optim.swa_utils.AveragedModel: no part of the network


def bare_names(state: State, expected: Collection[str]) -> State:
    """Return the tensors under the names that the network itself gives them.

    The names of torch's wrappers are left out wherever they stand, such as `features.module.0.weight`, then the part
    that all names begin with, such as `model.`: the attribute that held the network.

    Args:
        state: As read.
        expected: Names of the backbone; where some of them are there, nothing more is left out, for the names of a
            backbone alone can begin with one part of their own, such as `features.`.
    """
    named = {
        ".".join(part for part in name.split(".") if part not in _WRAPPERS): value
        for name, value in state.items()
        if name.rpartition(".")[2] != _COUNTER
    }
    if len(named) < sum(name.rpartition(".")[2] != _COUNTER for name in state):  # two networks in one file
        return state
    folders = [name.split(".")[:-1] for name in named]
    shared = itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*folders, strict=False))
    for parts in shared:
        if any(name in named for name in expected):
            break
        named = {name.removeprefix(f"{parts[0]}."): value for name, value in named.items()}
    return named


def _prefix_hint(missing: list[str], extra: list[str]) -> str:
    """Say where missing tensors stand under a prefix that not all names share, such as beside those of a loss."""
    found = {name.removesuffix(f".{lost}") for lost in missing[:1] for name in extra if name.endswith(f".{lost}")}
    return f"; tensors stand under the prefix {some_names(sorted(found))}: save those alone" if found else ""


def match_backbone(state: State, backbone: str, where: str, key: str = "train.backbone") -> State:
    """Return the tensors of `state` that belong to `backbone`, in the network's order, without its last layer.

    Args:
        state: A state_dict of the torchvision network, perhaps under a common prefix; its last layer of 1000 classes is
            left out.
        backbone: A key of `LAST_LAYER`.
        where: Path, for the message.
        key: What the user set `backbone` by, for the message.

    Raises:
        ModelError: If names or shapes differ, or a value is not finite; both sides are named.
    """
    with torch.device("meta"):
        expected = build_backbone(backbone).state_dict()
    given = {
        name: value
        for name, value in bare_names(state, expected).items()
        if not name.startswith(f"{LAST_LAYER[backbone]}.")
    }
    # Files from before torch 0.4.1 have no batch counters; nothing reads them where a momentum is set.
    missing = [name for name in expected if name not in given and not name.endswith("num_batches_tracked")]
    extra = [name for name in given if name not in expected]
    if missing or extra:
        raise ModelError(
            f"{where}: weights of another architecture than {key} {backbone}: it lacks {len(missing)} of "
            f"{len(expected)} tensors ({some_names(missing)}) "
            f"and brings {len(extra)} unknown ones ({some_names(extra)}){_prefix_hint(missing, extra)}"
        )
    matched = {name: given.get(name, torch.zeros(like.shape, dtype=like.dtype)) for name, like in expected.items()}
    for name, like in expected.items():
        if matched[name].shape != like.shape:
            raise ModelError(
                f"{where}: {name} is {tuple(matched[name].shape)}, {key} {backbone} needs {tuple(like.shape)}"
            )
        if not torch.isfinite(matched[name]).all():
            raise ModelError(f"{where}: {name} holds values that are not finite; fetch the file again")
    return {name: value.to(expected[name].dtype).contiguous() for name, value in matched.items()}


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
    with torch.device("meta"):
        state = bare_names(state, build_backbone(backbone).state_dict())
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
        loss = make_loss(
            params.loss, params.gamma, params.label_smoothing, torch.ones(len(CLASSES), dtype=torch.float64)
        )
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
