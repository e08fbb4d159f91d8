"""How much of each label every frame holds: what a division should spread evenly."""

import pandas as pd

from reseed.base.classes import CLASSES, DECISIONS


def label_weights(annotations: pd.DataFrame, frame_labels: pd.DataFrame) -> pd.DataFrame:
    """Return the gold labels of each frame as numbers.

    Args:
        annotations: ANNOTATIONS table.
        frame_labels: FRAME_LABELS table.

    Returns:
        Index frame_id; columns `<class> patches` (annotated area, px) and `<decision> frames` (0 or 1).
    """
    gold = annotations[annotations["gold"] == 1]
    gold = gold.assign(area_px=(gold["x1"] - gold["x0"]) * (gold["y1"] - gold["y0"]))
    patches = gold.pivot_table(values="area_px", index="frame_id", columns="label", aggfunc="sum", fill_value=0)
    labels = frame_labels[frame_labels["gold"] == 1]
    decisions = pd.crosstab(labels["frame_id"], labels["label"])
    return pd.concat(
        [
            patches.reindex(columns=list(CLASSES), fill_value=0).add_suffix(" patches"),
            decisions.reindex(columns=list(DECISIONS), fill_value=0).add_suffix(" frames"),
        ],
        axis=1,
    ).fillna(0.0)
