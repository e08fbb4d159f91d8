"""Stage repeats: train the recipe again with further seeds, to show how much a score depends on the training."""

from pathlib import Path

from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS, SPLITS_TABLE, TRAIN, VAL
from reseed.artifacts.predictions import REPEAT_PREDICTIONS
from reseed.base.files import read_json
from reseed.base.parallel import in_processes, tell, usable_cores
from reseed.engines.facts import facts_of_geometry
from reseed.engines.predictions import predict_all, repeat_rows
from reseed.network.checkpoint import trainings_folder
from reseed.network.patch_set import join_patches, open_images
from reseed.network.pretrained import load_start
from reseed.network.runtime import resolve_device, use_numerics
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
    recipe = load_train_params(PARAMS, RepeatedTrainParams)
    use_numerics(recipe.numerics)
    # A network that was taken over has no training that could be repeated.
    wanted = range(1, recipe.repeats if recipe.checkpoint == "none" else 1)
    found = in_processes(_answers, wanted, _at_once(recipe))
    REPEAT_PREDICTIONS.write(REPEAT_PREDICTIONS.frame([row for rows in found for row in rows]), REPEATS)


def _at_once(recipe: RepeatedTrainParams) -> int:
    """Return how many trainings run at the same time: the threads of one training wait for each other half the time."""
    on_cpu = resolve_device(recipe.device, "train.device").type == "cpu"
    return max(1, 2 * usable_cores() // max(2, recipe.threads)) if on_cpu else 1


def _answers(repeat: int) -> list[dict[str, object]]:
    """Train one repeat and return its answers, in whichever process."""
    recipe, number = load_train_params(PARAMS, TrainParams), load_train_params(PARAMS, RepeatedTrainParams).repeats
    tell(f"repeats: training {repeat + 1} of {number}")
    use_numerics(recipe.numerics)
    index = PATCH_INDEX.read(PATCHES / "index.csv")
    patches = join_patches(index, PATCH_LABELS.read(PATCHES / "labels.csv"), SPLITS_TABLE.read(SPLITS))
    images = open_images(PATCHES / "patches.npy", len(index))
    start = load_start(WEIGHTS, recipe.backbone)
    rows = patches.labelled(TRAIN), patches.labelled(VAL)
    trained = train_network(images, patches.gold, *rows, repeat_params(recipe, repeat), start, trainings_folder())
    facts = facts_of_geometry(read_json(PATCHES / "geometry.json"), recipe.backbone, "", Path("models"))
    params = load_section(PARAMS, "predict", PredictParams)
    answers = predict_all(trained.final.network, trained.without_val_network, facts, images, patches, params)
    return repeat_rows(repeat, patches, answers.probabilities)


if __name__ == "__main__":
    run_stage(main)
