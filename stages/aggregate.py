"""Stage aggregate: settle alpha and decide every frame."""

from pathlib import Path

from reseed.artifacts.catalog import FRAME_LABELS
from reseed.artifacts.patches import PATCH_INDEX, SPLITS_TABLE
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS, REPEAT_DECISIONS, REPEAT_PREDICTIONS
from reseed.params.aggregate import AggregateParams
from reseed.params.load import load_section
from reseed.score.decisions import decide_frames, decide_repeats
from stages.runner import parse_arguments, run_stage

PATCHES = Path("data/predictions/patches.csv")
REPEATS = Path("data/predictions/repeats.csv")
LABELS = Path("data/catalog/frame_labels.csv")
SPLITS = Path("data/catalog/splits.csv")
INDEX = Path("data/patches/index.csv")
FRAMES = Path("data/predictions/frames.csv")
REPEATED = Path("data/predictions/repeat_frames.csv")


def main(argv: list[str] | None = None) -> None:
    """Read the predictions of every training, settle alpha for each, write the decisions."""
    parse_arguments(__doc__, argv)
    params = load_section(Path("params.yaml"), "aggregate", AggregateParams)
    predictions, index, labels = PATCH_PREDICTIONS.read(PATCHES), PATCH_INDEX.read(INDEX), FRAME_LABELS.read(LABELS)
    splits = SPLITS_TABLE.read(SPLITS)
    decided = decide_frames(predictions=predictions, frame_labels=labels, index=index, params=params, splits=splits)
    repeated = decide_repeats(
        predictions=predictions,
        repeats=REPEAT_PREDICTIONS.read(REPEATS),
        frame_labels=labels,
        index=index,
        params=params,
        splits=splits,
    )
    FRAME_PREDICTIONS.write(decided, FRAMES)
    REPEAT_DECISIONS.write(repeated, REPEATED)


if __name__ == "__main__":
    run_stage(main)
