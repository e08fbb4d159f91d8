"""Stage repeats: train the recipe again with further seeds, to show how much a score depends on the training."""

from pathlib import Path

from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS, SPLITS_TABLE, TRAIN, VAL
from reseed.artifacts.predictions import REPEAT_PREDICTIONS
from reseed.base.files import read_json
from reseed.base.parallel import tell
from reseed.engines.facts import facts_of_geometry
from reseed.engines.predictions import predict_all, repeat_rows
from reseed.network.checkpoint import trainings_folder
from reseed.network.patch_set import join_patches, open_images
from reseed.network.pretrained import load_start
from reseed.network.runtime import use_numerics
from reseed.network.training import repeat_params, train_network
from reseed.params.load import load_section
from reseed.params.predict import PredictParams
from reseed.params.train import RepeatedTrainParams, TrainParams, load_train_params
from stages.runner import parse_arguments, run_stage

PARAMS = Path("params.yaml")
PATCHES = Path("data/patches")
SPLITS = Path("data/catalog/splits.csv")
WEIGHTS = Path("data/pretrained/weights.pt")
REPEATS = Path("data/predictions/repeats.csv")


def main(argv: list[str] | None = None) -> None:
    """Train and predict repeats 1, 2, ... of `train.repeats`; those trained before come from runs/trainings."""
    parse_arguments(__doc__, argv)
    recipe = load_train_params(PARAMS, TrainParams)
    number = load_train_params(PARAMS, RepeatedTrainParams).repeats
    params = load_section(PARAMS, "predict", PredictParams)
    use_numerics(recipe.numerics)
    index = PATCH_INDEX.read(PATCHES / "index.csv")
    patches = join_patches(index, PATCH_LABELS.read(PATCHES / "labels.csv"), SPLITS_TABLE.read(SPLITS))
    images = open_images(PATCHES / "patches.npy", len(index))
    facts = facts_of_geometry(read_json(PATCHES / "geometry.json"), recipe.backbone, "", Path("models"))
    start = load_start(WEIGHTS, recipe.backbone)
    rows: list[dict[str, object]] = []
    # A network that was taken over has no training that could be repeated.
    for repeat in range(1, number if recipe.checkpoint == "none" else 1):
        tell(f"repeats: training {repeat + 1} of {number}")
        trained = train_network(
            images,
            patches.gold,
            patches.labelled(TRAIN),
            patches.labelled(VAL),
            repeat_params(recipe, repeat),
            start,
            keep=trainings_folder(),
        )
        answers = predict_all(trained.final.network, trained.without_val_network, facts, images, patches, params)
        rows += repeat_rows(repeat, patches, answers.probabilities)
    REPEAT_PREDICTIONS.write(REPEAT_PREDICTIONS.frame(rows), REPEATS)


if __name__ == "__main__":
    run_stage(main)
