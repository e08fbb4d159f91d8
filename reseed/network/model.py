"""The network: a torchvision backbone, the head of the paper, and the normalisation in between.

Head and dropout: Raine et al. 2025, arXiv:2509.01019.
"""

from typing import Final

import torch
from torch import Tensor, nn

from reseed.base.classes import CLASSES

HEAD_WIDTH: Final = 512
HEAD_DROPOUT: Final = 0.15

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


class Network(nn.Module):
    """Backbone and head; normalises inside, so every caller feeds plain images.

    Args:
        backbone: A key of `LAST_LAYER`.
        bn_momentum: Share of each batch in the running batch-norm statistics, or None for torchvision's own,
            which for MobileNetV3 (0.01) is too slow for a short training from scratch.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, backbone: str, bn_momentum: float | None = None) -> None:
        super().__init__()
        self.backbone = build_backbone(backbone)
        self.head = nn.Sequential(
            nn.Linear(feature_width(backbone), HEAD_WIDTH),
            nn.ReLU(),
            nn.Dropout(HEAD_DROPOUT),
            nn.Linear(HEAD_WIDTH, len(CLASSES)),
        )
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
        logits: Tensor = self.head(self.backbone((images - self.mean) / self.std))
        return logits


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


def _torchvision_network(name: str) -> nn.Module:
    # Imported here: it takes seconds, and starting from no weights needs no torchvision.
    from torchvision import models  # noqa: PLC0415

    network: nn.Module = models.get_model(name, weights=None)
    return network
