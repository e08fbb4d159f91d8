"""Every patch of the pack through an engine, as rows of the prediction table."""

from typing import Any

from reseed.base.classes import CLASSES
from reseed.base.probabilities import Probabilities, predicted_classes
from reseed.engines.engine import Engine
from reseed.network.patch_set import PatchSet


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
