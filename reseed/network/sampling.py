"""Which training patches make up each batch of an epoch."""

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from reseed.base.classes import CLASSES


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
    number = max(1, min(math.ceil(len(order) / batch_size), len(order) // 2))
    return list(order.tensor_split(number))
