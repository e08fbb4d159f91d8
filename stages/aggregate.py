"""Stage aggregate: settle alpha, decide every frame, and find the frames that a person should look at."""

from pathlib import Path

from reseed.artifacts.catalog import FRAME_LABELS
from reseed.artifacts.patches import PATCH_INDEX, SPLITS_TABLE
from reseed.artifacts.predictions import (
    CONDITIONS,
    FRAME_PREDICTIONS,
    PATCH_PREDICTIONS,
    REPEAT_DECISIONS,
    REPEAT_PREDICTIONS,
)
from reseed.base.files import write_json
from reseed.params.aggregate import AggregateParams
from reseed.params.load import load_section
from reseed.score.ask import fit_familiar, with_asked
from reseed.score.decisions import decide_frames, decide_repeats, doubted_alpha
from stages.runner import parse_arguments, run_stage

PATCHES = Path("data/predictions/patches.csv")
REPEATS = Path("data/predictions/repeats.csv")
LABELS = Path("data/catalog/frame_labels.csv")
SPLITS = Path("data/catalog/splits.csv")
INDEX = Path("data/patches/index.csv")
LOOKS = Path("data/predictions/conditions.csv")
FRAMES = Path("data/predictions/frames.csv")
FAMILIAR = Path("data/predictions/familiar.json")
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
    conditions, share = CONDITIONS.read(LOOKS), params.asked_share
    familiar = None if share is None else fit_familiar(conditions, splits, share)
    doubt_from = doubted_alpha(predictions, labels, params, splits)
    FRAME_PREDICTIONS.write(with_asked(decided, conditions, splits, familiar, doubt_from), FRAMES)
    write_json(FAMILIAR, {"share": None} if familiar is None else familiar.record())
    REPEAT_DECISIONS.write(repeated, REPEATED)


if __name__ == "__main__":
    run_stage(main)
