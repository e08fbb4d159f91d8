"""The two scores that watch a training: macro F1, which chooses the epoch, and accuracy.

The reported scores are those of `reseed.score`; these are here because the network may not depend on the scores, and
written out because importing scikit-learn for them would cost every training seconds.
"""

import numpy as np
import numpy.typing as npt

from reseed.base.classes import CLASSES


def macro_f1(predicted: npt.NDArray[np.int64], gold: npt.NDArray[np.int64]) -> float:
    """Return the plain mean over the three classes of F1 = 2 tp / (2 tp + fp + fn), 0 to 1; a 0/0 counts 0.

    Args:
        predicted: (N,) class indices.
        gold: (N,) class indices.
    """
    number = len(CLASSES)
    confusion = np.bincount(number * gold + predicted, minlength=number**2).reshape(number, number)
    hits, involved = confusion.diagonal(), confusion.sum(axis=0) + confusion.sum(axis=1)
    return float((2 * hits / np.maximum(involved, 1)).mean())


def accuracy(predicted: npt.NDArray[np.int64], gold: npt.NDArray[np.int64]) -> float:
    """Return the share of `predicted` that equals `gold`, 0 to 1; arguments as `macro_f1`."""
    return float((predicted == gold).mean())
