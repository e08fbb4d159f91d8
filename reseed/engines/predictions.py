"""Every patch of the pack through an engine, as rows of the prediction table."""

from typing import Any

import numpy as np
import numpy.typing as npt

from reseed.base.classes import CLASSES
from reseed.base.probabilities import Probabilities, predicted_classes
from reseed.engines.engine import Engine
from reseed.engines.torch_engine import TorchEngine
from reseed.network.infer import batch_starts, predict_logits
from reseed.network.patch_set import PatchSet
from reseed.network.runtime import reproducible


def engine_logits(
    engine: Engine, images: npt.NDArray[np.uint8], batch_size: int, threads: int
) -> npt.NDArray[np.float64]:
    """Run a network over every patch exactly once.

    Args:
        engine: What runs it.
        images: (N, H, W, 3) uint8, RGB; may be mapped from disk, only one batch is held in memory.
        batch_size: Patches per step.
        threads: CPU threads of torch; the last decimals depend on it.

    Returns:
        (N, 3) float64 logits.
    """
    if isinstance(engine, TorchEngine):
        with reproducible(threads, 0, engine.place):
            return predict_logits(engine.network, images, batch_size, engine.place)
    logits = np.empty((len(images), len(CLASSES)))
    for start in batch_starts(len(images), batch_size):
        chosen = slice(start, start + batch_size)
        logits[chosen] = engine.logits(images[chosen])
    return logits


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


def engine_record(engine: Engine) -> dict[str, Any]:
    """Return what `engine.json` says: what made the predictions."""
    return {"engine": engine.name, "version": engine.version, "device": engine.device}
