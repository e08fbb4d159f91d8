"""Random changes to training patches, each patch its own, vectorised over the batch.

The changes are those of a towed camera: any heading (mirroring), more or less water in between (red light goes first),
more or less light and turbidity (brightness, contrast), motion and focus (blur).
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from reseed.base.classes import CLASSES

BLUR_RADIUS_PX: Final = 2
BLUR_SIGMA_PX: Final = (0.5, 1.5)


@dataclass(frozen=True)
class Augmentation:
    """How much to change.

    Args:
        flip: Chance of each of the two mirrorings, 0 to 1.
        red_shift: Largest shift of the red channel, share of full scale, 0 to 1.
        contrast: Largest relative change of the distance to the patch mean, 0 to 1.
        brightness: Largest relative change of all channels, 0 to 1.
        blur: Chance of a Gaussian blur with sigma 0.5 to 1.5 px, 0 to 1.
    """

    flip: float
    red_shift: float
    contrast: float
    brightness: float
    blur: float


def augment(images: Tensor, settings: Augmentation, generator: torch.Generator) -> Tensor:
    """Return changed copies of `images`.

    Args:
        images: (N, 3, H, W) float, RGB, 0 to 1; H and W above 2 px.
        settings: How much.
        generator: CPU random stream: the same on every device. A batch of N takes the same number of draws whatever
            the settings.

    Returns:
        (N, 3, H, W) float, 0 to 1.
    """
    # One row of seven uniform numbers per patch.
    draws = torch.rand((7, len(images)), generator=generator).to(images.device)
    sides, ups, red, contrast, brightness, blurred, sigma = draws
    images = _flip(images, sides < settings.flip, axis=3)
    images = _flip(images, ups < settings.flip, axis=2)
    images = _colour(
        images,
        red=settings.red_shift * (2 * red - 1),
        contrast=1 + settings.contrast * (2 * contrast - 1),
        brightness=1 + settings.brightness * (2 * brightness - 1),
    )
    chosen = torch.nonzero(blurred < settings.blur).squeeze(1)
    if len(chosen):
        low, high = BLUR_SIGMA_PX
        images[chosen] = gaussian_blur(images[chosen], low + (high - low) * sigma[chosen])
    return images


def gaussian_blur(images: Tensor, sigma_px: Tensor) -> Tensor:
    """Blur each image with its own Gaussian, cut off at 2 px, mirrored at the border.

    Args:
        images: (N, 3, H, W) float.
        sigma_px: (N,) above 0.

    Returns:
        (N, 3, H, W) float.
    """
    offsets = torch.arange(-BLUR_RADIUS_PX, BLUR_RADIUS_PX + 1, device=images.device)
    kernel = torch.exp(-0.5 * (offsets[None, :] / sigma_px[:, None]) ** 2)
    kernel = kernel / kernel.sum(dim=1, keepdim=True)
    radius, (height, width) = BLUR_RADIUS_PX, images.shape[2:]
    padded = functional.pad(images, (radius, radius, radius, radius), mode="reflect")
    taps = kernel[:, :, None, None, None].unbind(1)
    rows = sum((tap * padded[:, :, i : i + height] for i, tap in enumerate(taps)), start=torch.zeros(()))
    return sum((tap * rows[:, :, :, i : i + width] for i, tap in enumerate(taps)), start=torch.zeros(()))


def _flip(images: Tensor, chosen: Tensor, axis: int) -> Tensor:
    return torch.where(chosen[:, None, None, None], images.flip(axis), images)


def _colour(images: Tensor, red: Tensor, contrast: Tensor, brightness: Tensor) -> Tensor:
    """Shift red, then stretch about the patch mean and scale: one pass as x * gain + offset per patch and channel."""
    shift = torch.stack([red, torch.zeros_like(red), torch.zeros_like(red)], dim=1)
    mean = images.mean(dim=(1, 2, 3)) + red / 3
    gain = contrast * brightness
    offset = shift * gain[:, None] + ((1 - contrast) * brightness * mean)[:, None]
    return torch.addcmul(offset[:, :, None, None], images, gain[:, None, None, None]).clamp_(0, 1)


def epoch_generator(seed: int, epoch: int) -> torch.Generator:
    """Return the random stream of one epoch: another for each epoch, the same for the same seed."""
    state = np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state[0]))


def class_counts(labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many of `labels` (class indices) each class has, (3,) int64."""
    return np.bincount(labels, minlength=len(CLASSES)).astype(np.int64)


def draw_order(labels: npt.NDArray[np.int64], sampler: str, generator: torch.Generator) -> Tensor:
    """Return the positions of one epoch, as many as there are labels.

    Args:
        labels: (N,) class indices, every class present.
        sampler: `none`: each once, shuffled; `balanced`: drawn with replacement, every class equally likely.
        generator: Random stream.

    Returns:
        (N,) int64 positions in `labels`.
    """
    if sampler == "none":
        return torch.randperm(len(labels), generator=generator)
    weights = torch.from_numpy(1.0 / class_counts(labels)[labels])
    return torch.multinomial(weights, len(labels), replacement=True, generator=generator)


def split_batches(order: Tensor, batch_size: int) -> list[Tensor]:
    """Cut `order` into batches of nearly equal length, at most `batch_size`.

    A last batch of one patch would have no batch statistics, so three patches at `batch_size` 2 stay together.
    """
    return list(order.tensor_split(n_batches(len(order), batch_size)))


def n_batches(total: int, batch_size: int) -> int:
    """Return how many batches `split_batches` makes of `total` patches."""
    return max(1, min(math.ceil(total / batch_size), total // 2))
