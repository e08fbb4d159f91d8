"""Stage aggregate: settle alpha and decide every frame."""

from fractions import Fraction
from pathlib import Path

import numpy as np

from reseed.artifacts.annotations import FRAME_LABELS
from reseed.artifacts.patches import PATCH_INDEX
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS
from reseed.artifacts.splits import VAL
from reseed.base.errors import TableError
from reseed.params.aggregate import AggregateParams
from reseed.params.load import load_section
from reseed.score.aggregate import FrameCounts, count_patches, frame_table
from reseed.score.alpha import alpha_grid, choose, decisions_over, exact
from reseed.score.alpha_curve import alpha_curve
from reseed.score.confusion import decision_indices
from reseed.score.logistic import logistic_decisions
from stages.runner import parse_arguments, run_stage

PATCHES = Path("data/predictions/patches.csv")
LABELS = Path("data/catalog/frame_labels.csv")
INDEX = Path("data/patches/index.csv")
FRAMES = Path("data/predictions/frames.csv")


def main(argv: list[str] | None = None) -> None:
    """Read the predictions, settle alpha, write the decisions."""
    parse_arguments(__doc__, argv)
    params = load_section(Path("params.yaml"), "aggregate", AggregateParams)
    predictions = PATCH_PREDICTIONS.read(PATCHES)
    counts = count_patches(predictions, FRAME_LABELS.read(LABELS))
    alpha = chosen_on_validation(counts) if params.alpha == "auto" else exact(params.alpha)
    logistic = logistic_decisions(predictions, PATCH_INDEX.read(INDEX), counts)
    FRAME_PREDICTIONS.write(frame_table(counts, alpha, params.rule, logistic), FRAMES)


def chosen_on_validation(counts: FrameCounts) -> Fraction:
    """Return the alpha of the best frame macro F1 on validation frames, ties to the higher.

    Raises:
        TableError: If no validation frame has a reference decision.
    """
    mask = counts.labelled(VAL)
    if not np.any(mask):
        raise TableError(
            f"aggregate.alpha is auto, but none of the {int(np.sum(counts.split == VAL))} validation frames has a "
            "frame label; set aggregate.alpha to a number from 0 to 1, or label validation frames"
        )
    grid = alpha_grid()
    deploys = decisions_over(counts.deploy_count[mask], counts.n_patches[mask], grid)
    gold = decision_indices(counts.gold[mask], "reference decisions")
    return choose(grid, alpha_curve(VAL, grid, deploys, gold).scores.macro_f1)


if __name__ == "__main__":
    run_stage(main)
