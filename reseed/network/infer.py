"""From patches to class probabilities, in batches, with the same numbers everywhere a score is computed."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from tqdm import tqdm

from reseed.base.classes import CLASSES
from reseed.base.probabilities import Probabilities, softmax
from reseed.network.model import to_unit


def predict_logits(
    network: nn.Module,
    images: npt.NDArray[np.uint8],
    batch_size: int,
    device: torch.device,
    rows: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.float64]:
    """Run the network in evaluation mode over every row exactly once.

    Args:
        network: Takes (N, 3, H, W) float 0 to 1; its training mode is restored afterwards.
        images: (N, H, W, 3) uint8, RGB; may be mapped from disk, only one batch is held in memory.
        batch_size: Patches per step.
        device: Where `network` is.
        rows: (M,) positions in `images`; None for all, in order.

    Returns:
        (M, 3) float64 logits in the order of `rows`.
    """
    total = len(images) if rows is None else len(rows)
    logits = np.full((total, len(CLASSES)), np.nan)
    was_training = network.training
    network.eval()
    try:
        with torch.inference_mode():
            for start in batch_starts(total, batch_size):
                chosen = slice(start, start + batch_size)
                batch = np.array(images[chosen] if rows is None else images[rows[chosen]])
                output: Tensor = network(to_unit(torch.from_numpy(batch).to(device)))
                logits[chosen] = output.cpu().double().numpy()
    finally:
        network.train(was_training)
    return logits


def predict_probabilities(
    network: nn.Module,
    images: npt.NDArray[np.uint8],
    batch_size: int,
    device: torch.device,
    rows: npt.NDArray[np.int64] | None = None,
) -> Probabilities:
    """Return softmax probabilities as they are stored; arguments as `predict_logits`.

    Returns:
        (M, 3) float64, 0 to 1, rounded to the 6 decimals of the tables, so that the class read from a table is the
        class computed here.

    Raises:
        ModelError: If an output is not a number.
    """
    return softmax(predict_logits(network, images, batch_size, device, rows))


def batch_starts(total: int, batch_size: int) -> Iterator[int]:
    """Yield where each batch starts, with a progress bar.

    Args:
        total: Patches.
        batch_size: Patches per step.
    """
    # Shown only where it takes a while: a bar per validation pass would bury the one of training.
    starts = range(0, total, batch_size)
    return iter(tqdm(starts, desc="predict", unit="batch", disable=None, delay=5, leave=False))
