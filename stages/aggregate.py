"""Stage aggregate: settle alpha and decide every frame."""

from pathlib import Path

from reseed.artifacts.annotations import FRAME_LABELS
from reseed.artifacts.patches import PATCH_INDEX
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS
from reseed.params.aggregate import AggregateParams
from reseed.params.load import load_section
from reseed.score.decisions import decide_frames
from stages.runner import parse_arguments, run_stage

PATCHES = Path("data/predictions/patches.csv")
LABELS = Path("data/catalog/frame_labels.csv")
INDEX = Path("data/patches/index.csv")
FRAMES = Path("data/predictions/frames.csv")


def main(argv: list[str] | None = None) -> None:
    """Read the predictions, settle alpha, write the decisions."""
    parse_arguments(__doc__, argv)
    decided = decide_frames(
        predictions=PATCH_PREDICTIONS.read(PATCHES),
        frame_labels=FRAME_LABELS.read(LABELS),
        index=PATCH_INDEX.read(INDEX),
        params=load_section(Path("params.yaml"), "aggregate", AggregateParams),
    )
    FRAME_PREDICTIONS.write(decided, FRAMES)


if __name__ == "__main__":
    run_stage(main)
