"""Stage baselines: answer the same questions by simpler methods, and measure the light of each frame."""

from pathlib import Path

from reseed.artifacts.catalog import FRAME_LABELS
from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS, SPLITS_TABLE
from reseed.artifacts.predictions import BASELINE_PREDICTIONS, CONDITIONS
from reseed.network.baselines import (
    colour_answers,
    constant_answers,
    frame_conditions,
    image_answers,
    patch_light,
    whole_frames,
)
from reseed.network.patch_set import join_patches, open_images
from reseed.network.pretrained import load_start
from reseed.network.runtime import use_numerics
from reseed.params.baselines import BaselinesParams
from reseed.params.load import load_section
from reseed.params.train import TrainParams, load_train_params
from stages.runner import parse_arguments, run_stage

PARAMS = Path("params.yaml")
CATALOG, PATCHES, PREDICTIONS = Path("data/catalog"), Path("data/patches"), Path("data/predictions")
WEIGHTS = Path("data/pretrained/weights.pt")


def main(argv: list[str] | None = None) -> None:
    """Answer every patch and frame of val and test without the patch network."""
    parse_arguments(__doc__, argv)
    params = load_section(PARAMS, "baselines", BaselinesParams)
    recipe = load_train_params(PARAMS, TrainParams)
    use_numerics(recipe.numerics)
    index, splits = PATCH_INDEX.read(PATCHES / "index.csv"), SPLITS_TABLE.read(CATALOG / "splits.csv")
    patches = join_patches(index, PATCH_LABELS.read(PATCHES / "labels.csv"), splits)
    images = open_images(PATCHES / "patches.npy", len(index))
    labels = FRAME_LABELS.read(CATALOG / "frame_labels.csv")
    reference = labels[labels["gold"] == 1]
    gold = dict(zip(reference["frame_id"], reference["label"], strict=True))
    light = patch_light(images)
    rows = [*constant_answers(patches, gold), *colour_answers(patches, light.colour)]
    if params.image:
        frames = whole_frames(images, index, params.frame_px)
        split_of = dict(zip(splits["frame_id"], splits["split"], strict=True))
        rows += image_answers(frames, split_of, gold, recipe, load_start(WEIGHTS, recipe.backbone))
    BASELINE_PREDICTIONS.write(BASELINE_PREDICTIONS.frame(rows), PREDICTIONS / "baselines.csv")
    CONDITIONS.write(
        CONDITIONS.frame(frame_conditions(light, images, patches.frame_ids)), PREDICTIONS / "conditions.csv"
    )


if __name__ == "__main__":
    run_stage(main)
