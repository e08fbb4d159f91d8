"""The network: a torchvision backbone, the head of the paper, and the normalisation in between.

Head and dropout: Raine et al. 2025, arXiv:2509.01019.
"""

import hashlib
import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError
from reseed.base.probabilities import logits_in_batches

HEAD_WIDTH: Final = 512
HEAD_DROPOUT: Final = 0.15
MOST_HEADS: Final = 64

# Mean and standard deviation of the ImageNet channels (RGB, full scale 1), which all torchvision weights expect.
CHANNEL_MEAN: Final = (0.485, 0.456, 0.406)
CHANNEL_STD: Final = (0.229, 0.224, 0.225)

# The last linear layer of each torchvision network (1000 ImageNet classes): the head takes its place. What torchvision
# puts before it, such as the 1024 wide layer of MobileNetV3, belongs to the backbone and starts from its weights.
LAST_LAYER: Final = {
    "mobilenet_v3_small": "classifier.3",
    "mobilenet_v3_large": "classifier.3",
    "mobilenet_v2": "classifier.1",
    "resnet18": "fc",
    "efficientnet_b0": "classifier.1",
}


class Heads(nn.ModuleList):
    """Heads that learn apart on the same features; the network gives the mean of their logits.

    One head depends on the draw of its training patches; the mean of several does so much less (docs/models.md).
    """

    def forward(self, features: Tensor) -> Tensor:
        """Return the mean logits (N, 3) of features (N, W)."""
        return self.each(features.expand(len(self), *features.shape)).mean(dim=0)

    def each(self, features: Tensor) -> Tensor:
        """Return the logits (H, N, 3) of each head for features (H, N, W) of its own."""
        return torch.stack([head(own) for head, own in zip(self, features, strict=True)])


class Network(nn.Module):
    """Backbone and head; normalises inside, so every caller feeds plain images.

    Args:
        backbone: A key of `LAST_LAYER`.
        bn_momentum: Share of each batch in the running batch-norm statistics, or None for torchvision's own,
            which for MobileNetV3 (0.01) is too slow for a short training from scratch.
        heads: Number of heads, see `Heads`.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, backbone: str, bn_momentum: float | None = None, heads: int = 1) -> None:
        super().__init__()
        self.backbone = build_backbone(backbone)
        width = feature_width(backbone)
        self.head = _head(width) if heads == 1 else Heads(_head(width) for _ in range(heads))
        for module in self.modules():
            # What is overwritten in place must first be copied for the backward pass: one pass over memory too many.
            if isinstance(module, nn.Hardswish):
                module.inplace = False
        self.register_buffer("mean", torch.tensor(CHANNEL_MEAN).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(CHANNEL_STD).view(1, 3, 1, 1), persistent=False)
        if bn_momentum is not None:
            for module in self.modules():
                if isinstance(module, nn.BatchNorm2d):
                    module.momentum = bn_momentum
        self.to(memory_format=torch.channels_last)

    def forward(self, images: Tensor) -> Tensor:
        """Return logits.

        Args:
            images: (N, 3, H, W) float, RGB, 0 to 1.

        Returns:
            (N, 3) logits in the order of `reseed.base.classes.CLASSES`.
        """
        logits: Tensor = self.head(self.features(images))
        return logits

    def features(self, images: Tensor) -> Tensor:
        """Return what the head takes, (N, W), of images as in `forward`."""
        features: Tensor = self.backbone((images - self.mean) / self.std)
        return features


def _head(width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(width, HEAD_WIDTH), nn.ReLU(), nn.Dropout(HEAD_DROPOUT), nn.Linear(HEAD_WIDTH, len(CLASSES))
    )


def count_heads(names: Iterable[str]) -> int:
    """Return how many heads a state_dict of `Network` with these names has."""
    found = sum(re.fullmatch(r"head\.\d+\.0\.weight", name) is not None for name in names)
    return min(max(found, 1), MOST_HEADS)  # a file of somebody else may have names for any number


def build_backbone(name: str) -> nn.Module:
    """Return the untrained torchvision network `name` without its last linear layer."""
    network = _torchvision_network(name)
    network.set_submodule(LAST_LAYER[name], nn.Identity())
    return network


def feature_width(name: str) -> int:
    """Return the number of features that backbone `name` gives."""
    with torch.device("meta"):  # shapes only, no memory and no random numbers
        last = _torchvision_network(name).get_submodule(LAST_LAYER[name])
    assert isinstance(last, nn.Linear)
    return last.in_features


def to_unit(images: Tensor) -> Tensor:
    """Turn stored patches into what the network takes.

    Args:
        images: (N, H, W, 3) uint8, RGB.

    Returns:
        (N, 3, H, W) float32, 0 to 1, channels last in memory: a view of the channel axis, no copy.
    """
    return images.permute(0, 3, 1, 2).to(torch.float32).div_(255)


def network_logits(
    network: nn.Module,
    images: npt.NDArray[np.uint8],
    batch_size: int,
    device: torch.device,
    rows: npt.NDArray[np.int64] | None = None,
    flips: int = 1,
) -> npt.NDArray[np.float64]:
    """Run a network, which is put into evaluation mode; arguments and result as `logits_in_batches`.

    Args:
        network: On `device`; takes (N, 3, H, W) float, 0 to 1.
        images: (N, H, W, 3) uint8, RGB.
        batch_size: Patches at a time.
        device: Where `network` is.
        rows: (M,) positions in `images`; None for all.
        flips: Logits are the mean over a patch and its mirror images, as `mean_over_flips` says.
    """

    def run(batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        with torch.inference_mode():
            logits = mean_over_flips(network, to_unit(torch.from_numpy(batch).to(device)), flips)
        out: npt.NDArray[np.float64] = logits.cpu().double().numpy()
        return out

    network.eval()
    return logits_in_batches(run, images, batch_size, rows)


def mean_over_flips(network: Callable[[Tensor], Tensor], images: Tensor, flips: int) -> Tensor:
    """Return the mean logits over a patch and its mirror images.

    Args:
        network: Gives (N, 3) logits.
        images: (N, 3, H, W).
        flips: 1: as they are; 2: and left to right; 4: and top to bottom, and both.
    """
    axes: tuple[tuple[int, ...], ...] = ((), (3,), (2,), (2, 3))
    logits = [network(images.flip(axis) if axis else images) for axis in axes[:flips]]
    return logits[0] if flips == 1 else torch.stack(logits).mean(dim=0)


def _torchvision_network(name: str) -> nn.Module:
    # Imported here: it takes seconds, and starting from no weights needs no torchvision.
    from torchvision import models  # noqa: PLC0415

    network: nn.Module = models.get_model(name, weights=None)
    return network


State = dict[str, Tensor]

_SHOWN_NAMES: Final = 3
_MOST_BYTES: Final = 4 << 30


@dataclass(frozen=True)
class Converted:
    """Where a network comes from that was taken over instead of trained.

    Args:
        file: Name of the file, without its folder: that is of one machine.
        sha256: Of the file.
        classes: Order of its outputs, before they were put into the order of `CLASSES`.
    """

    file: str
    sha256: str
    classes: tuple[str, ...]


def state_bytes(state: dict[str, Tensor]) -> bytes:
    """Return a state_dict as the bytes of a file: the same tensors in the same order give the same bytes.

    Written through memory: `torch.save` to a path would put the name of the file into it.
    """
    plain = {name: tensor.detach().to("cpu").contiguous().clone() for name, tensor in state.items()}
    buffer = io.BytesIO()
    torch.save(plain, buffer)
    return buffer.getvalue()


def read_state(path: Path, remedy: str = "run `dvc repro` or `dvc pull` to get it") -> State:
    """Read a state_dict without running any code that the file may hold.

    Args:
        path: The file.
        remedy: What to do where it is missing, for the message.

    Raises:
        ModelError: If the file is missing or holds anything but tensors by name.
    """
    if not path.is_file():
        raise ModelError(f"{path}: no such weights file; {remedy}")
    if (length := path.stat().st_size) > _MOST_BYTES:
        raise ModelError(
            f"{path}: {length:,} bytes; no state_dict of these networks has more than {_MOST_BYTES:,}: save weights "
            "alone, without optimiser and history"
        )
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a truncated or hostile pickle can raise anything
        raise ModelError(
            f"{path}: not readable as plain weights ({type(error).__name__}: {_first_line(error)}); needed: a "
            "state_dict of tensors as `torch.save(model.state_dict(), path)` writes it, not a whole model"
        ) from error
    if not isinstance(state, dict) or not all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in state.items()
    ):
        held = f"keys {some_names(map(str, state))}" if isinstance(state, dict) else f"one {type(state).__name__}"
        raise ModelError(f"{path}: holds {held}; needed: a state_dict, tensors by name and nothing else")
    return state


def digest_file(path: Path) -> str:
    """Return the sha256 of a file, as hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def some_names(names: Iterable[str]) -> str:
    """Return the first few of `names` and how many more there are, for a message."""
    listed = list(names)
    more = f", ... {len(listed) - _SHOWN_NAMES} more" if len(listed) > _SHOWN_NAMES else ""
    return (", ".join(listed[:_SHOWN_NAMES]) or "none") + more


def _first_line(error: Exception) -> str:
    """Return the first sentence: further ones of torch recommend to load the file with whatever code it holds."""
    return next(iter(str(error).strip().splitlines()), "no detail").split(". ")[0]
