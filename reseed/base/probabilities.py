"""From logits to the probabilities and classes of the tables; the same for every engine, and without torch."""

from typing import Final

import numpy as np
import numpy.typing as npt

from reseed.base.errors import ModelError

Probabilities = npt.NDArray[np.float64]

# As many as FLOAT_DECIMALS of the tables, so that the class read from a table is the class computed here. Written out:
# the tables need pandas, which an engine on a boat does not wait for.
PROBABILITY_DECIMALS: Final = 6


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
