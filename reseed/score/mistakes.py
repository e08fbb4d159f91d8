"""The wrong answers the network was surest of: where to look first."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.splits import TEST
from reseed.base.classes import CLASS_INDEX
from reseed.base.errors import TableError
from reseed.score.evidence import PROBABILITIES, Evidence


def confident_mistakes(evidence: Evidence, count: int) -> pd.DataFrame:
    """Return the most confident wrong test patches, surest first, ties by patch_id.

    Args:
        evidence: The predictions.
        count: At most this many.

    Returns:
        Columns patch_id, frame_id, site, gold, predicted, probability (of the predicted class, 0-1).
    """
    patches = evidence.labelled_patches(TEST)
    wrong = patches[patches["gold"] != patches["predicted"]].reset_index(drop=True)
    column = wrong["predicted"].map(CLASS_INDEX).to_numpy(dtype=np.int64)
    wrong["probability"] = wrong[PROBABILITIES].to_numpy()[np.arange(len(wrong)), column]
    ordered = wrong.sort_values(["probability", "patch_id"], ascending=[False, True], kind="stable")
    columns = ["patch_id", "frame_id", "site", "gold", "predicted", "probability"]
    return ordered.head(count)[columns].reset_index(drop=True)


def patch_rows(mistakes: pd.DataFrame, index: pd.DataFrame, n_packed: int) -> NDArray[np.int64]:
    """Return the rows of `patches.npy` that show the mistakes.

    Args:
        mistakes: M rows with patch_id.
        index: Table PATCH_INDEX, in the order of `patches.npy`.
        n_packed: Length of `patches.npy`.

    Returns:
        (M,) positions.

    Raises:
        TableError: If the index does not describe the packed patches, or a patch is not in it.
    """
    if len(index) != n_packed:
        raise TableError(
            f"data/patches/index.csv lists {len(index)} patches, patches.npy holds {n_packed}; run `dvc repro extract`"
        )
    row_of = {patch: row for row, patch in enumerate(index["patch_id"])}
    lost = [patch for patch in mistakes["patch_id"] if patch not in row_of]
    if lost:
        raise TableError(f"data/patches/index.csv: no patch {lost[0]}; run `dvc repro`")
    return np.asarray([row_of[patch] for patch in mistakes["patch_id"]], dtype=np.int64)
