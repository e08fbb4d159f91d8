"""The weights that training starts from: none, torchvision's ImageNet weights, or a file."""

import importlib.metadata
import itertools
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from reseed.base.errors import ModelError
from reseed.network.model import LAST_LAYER, State, build_backbone, digest_file, read_state, some_names

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


def bare_names(state: State) -> State:
    """Return the tensors under the names that the network itself gives them.

    The names of torch's wrappers are left out wherever they stand, such as `features.module.0.weight`, then the part
    that all names begin with, such as `model.`: the attribute that held the network.
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
    prefix = "".join(f"{parts[0]}." for parts in shared)
    return {name.removeprefix(prefix): value for name, value in named.items()}


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
        name: value for name, value in bare_names(state).items() if not name.startswith(f"{LAST_LAYER[backbone]}.")
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
