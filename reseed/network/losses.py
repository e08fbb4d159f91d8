"""What training minimises: cross-entropy or focal loss, with a weight per class."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

Loss = Callable[[Tensor, Tensor], Tensor]


def make_loss(kind: str, gamma: float, smoothing: float, weights: Tensor) -> Loss:
    """Return the loss of a batch as a function of logits (N, C) and labels (N,) int64.

    Args:
        kind: `focal` or `cross_entropy`.
        gamma: Focusing strength of the focal loss, 0 or more.
        smoothing: Share of each label that is spread over all classes, 0 to 1; of cross-entropy only.
        weights: (C,) weight of each class.
    """

    def loss(logits: Tensor, labels: Tensor) -> Tensor:
        # Precision first, then device: not every accelerator has float64.
        on_device = weights.to(logits.dtype).to(logits.device)
        if kind == "focal":
            return focal_loss(logits, labels, on_device, gamma)
        losses = functional.cross_entropy(logits, labels, reduction="none", label_smoothing=smoothing)
        return (on_device[labels] * losses).mean()

    return loss


def focal_loss(logits: Tensor, labels: Tensor, weights: Tensor, gamma: float) -> Tensor:
    """Return the mean of -w_y (1 - p_y)**gamma log(p_y); gamma 0 is weighted cross-entropy.

    The mean is over patches, not over weights: otherwise a batch of one class would cancel that class's weight.
    Lin et al. 2017, arXiv:1708.02002, eq. 5.

    Args:
        logits: (N, C) float.
        labels: (N,) int64, 0 to C - 1.
        weights: (C,) float.
        gamma: 0 or more.

    Returns:
        Scalar, 0 or more.
    """
    log_p = functional.log_softmax(logits, dim=1).gather(1, labels[:, None]).squeeze(1)
    losses = -weights[labels] * log_p
    if gamma > 0:
        # 1 - p as -expm1(log p) is exact near p = 1; the floor keeps the gradient of a power below 1 finite at 0.
        losses = losses * (-torch.expm1(log_p)).clamp_min(1e-12) ** gamma
    return losses.mean()


def inverse_class_weights(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return weights proportional to 1 / count with mean 1.

    Args:
        counts: (C,) training patches of each class, all above 0.

    Returns:
        (C,) float64.
    """
    inverse = 1.0 / counts
    weights: npt.NDArray[np.float64] = inverse / inverse.mean()
    return weights
