"""From patches to class probabilities, in batches, with the same numbers everywhere a score is computed."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from tqdm import tqdm

from reseed.classes import CLASSES
from reseed.learn.models import to_unit
from reseed.learn.patch_set import PatchSet
from reseed.learn.probabilities import Probabilities, predicted_classes, softmax
from reseed.learn.runtime import reproducible


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
            for start in _batch_starts(total, batch_size):
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


def predict_patches(
    network: nn.Module,
    images: npt.NDArray[np.uint8],
    patches: PatchSet,
    batch_size: int,
    threads: int,
    device: torch.device,
) -> list[dict[str, object]]:
    """Predict every patch exactly once.

    Args:
        network: Moved to `device`.
        images: (N, H, W, 3) uint8, in the order of `patches`.
        patches: What is known of each.
        batch_size: Patches per step.
        threads: CPU threads; the last decimals depend on it.
        device: Where to run.

    Returns:
        N rows of `PATCH_PREDICTIONS`.

    Raises:
        ModelError: If an output is not a finite number.
    """
    return prediction_rows(patches, softmax(patch_logits(network, images, batch_size, threads, device)))


def patch_logits(
    network: nn.Module, images: npt.NDArray[np.uint8], batch_size: int, threads: int, device: torch.device
) -> npt.NDArray[np.float64]:
    """Run the network over every patch exactly once; arguments as `predict_patches`.

    Returns:
        (N, 3) float64 logits.
    """
    with reproducible(threads, 0, device):
        return predict_logits(network.to(device), images, batch_size, device)


def prediction_rows(patches: PatchSet, probabilities: Probabilities) -> list[dict[str, object]]:
    """Return the N rows of `PATCH_PREDICTIONS`.

    Args:
        patches: What is known of each of N patches.
        probabilities: (N, 3) as `softmax` returns them.
    """
    assert len(probabilities) == len(patches.patch_ids) == len(set(patches.patch_ids))  # each exactly once
    predicted = predicted_classes(probabilities)
    columns = zip(
        patches.patch_ids, patches.frame_ids, patches.split, patches.gold_names, probabilities, predicted, strict=True
    )
    return [
        {
            "patch_id": patch_id,
            "frame_id": frame_id,
            "split": split,
            "gold": gold,
            "p_no_deploy": row[0],
            "p_coral": row[1],
            "p_deploy": row[2],
            "predicted": CLASSES[best],
        }
        for patch_id, frame_id, split, gold, row, best in columns
    ]


def _batch_starts(total: int, batch_size: int) -> Iterator[int]:
    # Shown only where it takes a while: a bar per validation pass would bury the one of training.
    starts = range(0, total, batch_size)
    return iter(tqdm(starts, desc="predict", unit="batch", disable=None, delay=5, leave=False))
