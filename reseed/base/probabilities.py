"""From patches to logits, probabilities and classes of the tables; the same for every engine, and without torch."""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError
from reseed.base.parallel import progress

Probabilities = npt.NDArray[np.float64]

# As many as FLOAT_DECIMALS of the tables, so that the class read from a table is the class computed here. Written out:
# the tables need pandas, which an engine on a boat does not wait for.
PROBABILITY_DECIMALS: Final = 6


def logits_in_batches(
    run: Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.floating]],
    images: npt.NDArray[np.uint8],
    batch_size: int,
    rows: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.float64]:
    """Run a network over every patch exactly once: the one loop behind every engine and validation.

    Args:
        run: Gives (n, 3) logits of (n, H, W, 3) uint8 images.
        images: (N, H, W, 3) uint8, RGB; may be mapped from disk, only one batch is held in memory.
        batch_size: Patches at a time.
        rows: (M,) positions in `images`; None for all, in order.

    Returns:
        (M, 3) logits in the order of `rows`.

    Raises:
        ModelError: If the network gives another number of rows or classes.
    """
    total = len(images) if rows is None else len(rows)
    logits = np.full((total, len(CLASSES)), np.nan)
    starts = range(0, total, batch_size)
    for start in progress(starts, total=len(starts), what="predict", unit="step"):
        chosen = slice(start, start + batch_size)
        batch = np.array(images[chosen] if rows is None else images[rows[chosen]])
        found = np.asarray(run(batch))
        if found.shape != (len(batch), len(CLASSES)):  # one row for all would be taken for each
            raise ModelError(
                f"the network gives logits of shape {found.shape} for {len(batch)} patches; needed: "
                f"{(len(batch), len(CLASSES))}; export the model again"
            )
        logits[chosen] = found
    return logits


def softmax(logits: npt.NDArray[np.float64]) -> Probabilities:
    """Return exp(z) / sum(exp(z)) by row, rounded to 6 decimals.

    Args:
        logits: (N, 3) float64.

    Raises:
        ModelError: If a logit is not finite.
    """
    broken = np.flatnonzero(~np.isfinite(logits).all(axis=1))
    if len(broken):
        raise ModelError(
            f"the network gives no finite number for {len(broken)} of {len(logits)} patches (first: row {broken[0]}); "
            "its weights are broken: train again, with a lower train.lr if training diverged"
        )
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    rounded: Probabilities = np.round(powers / powers.sum(axis=1, keepdims=True), PROBABILITY_DECIMALS)
    return rounded


def predicted_classes(probabilities: Probabilities) -> npt.NDArray[np.int64]:
    """Return the index of the highest probability of each row; ties go to the lower index, so to No-Deploy first.

    Args:
        probabilities: (N, 3) as `softmax` returns them.
    """
    best: npt.NDArray[np.int64] = probabilities.argmax(axis=1).astype(np.int64)
    return best
