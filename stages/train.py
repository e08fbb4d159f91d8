"""Stage train: train the network on the train patches, or take over a trained checkpoint."""

from pathlib import Path

from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS, SPLITS_TABLE, TRAIN, TRAINING_CURVE, VAL
from reseed.base.files import read_json, write_json
from reseed.network.checkpoint import describe_model, save_model, save_without_val, trainings_folder
from reseed.network.patch_set import join_patches, open_images
from reseed.network.pretrained import convert, load_start
from reseed.network.runtime import use_numerics
from reseed.network.training import Trained, curve_rows, train_metrics, train_network
from reseed.params.train import TrainParams, load_train_params
from stages.runner import parse_arguments, run_stage

PARAMS = Path("params.yaml")
PATCHES = Path("data/patches")
SPLITS = Path("data/catalog/splits.csv")
PRETRAINED = Path("data/pretrained")
MODEL = Path("models/model.pt")
WITHOUT_VAL = Path("models/without_val.pt")
CARD = Path("models/model.json")
METRICS = Path("models/train.json")
CURVE = Path("models/training.csv")


def main(argv: list[str] | None = None) -> None:
    """Train on the labelled patches of split train, on from where a stopped run was; or take a checkpoint over."""
    parse_arguments(__doc__, argv)
    params = load_train_params(PARAMS, TrainParams)
    use_numerics(params.numerics)
    index = PATCH_INDEX.read(PATCHES / "index.csv")
    patches = join_patches(index, PATCH_LABELS.read(PATCHES / "labels.csv"), SPLITS_TABLE.read(SPLITS))
    images = open_images(PATCHES / "patches.npy", len(index))
    rows = patches.labelled(TRAIN), patches.labelled(VAL)
    if params.checkpoint == "none":
        start = load_start(PRETRAINED / "weights.pt", params.backbone)
        trained = train_network(images, patches.gold, *rows, params, start, trainings_folder(), CURVE)
    else:
        trained = Trained(convert(images, patches.gold, *rows, params), None)
    result = trained.final
    described = describe_model(
        backbone=params.backbone,
        best_epoch=result.best.epoch,
        seed=params.seed,
        threads=params.threads,
        device=result.device.type,
        input_px=images.shape[1:3],
        geometry=read_json(PATCHES / "geometry.json"),
        pretrained=read_json(PRETRAINED / "weights.json"),
        converted=result.converted,
    )
    save_model(result.network, described, MODEL, CARD)
    save_without_val(trained.without_val_network, WITHOUT_VAL)
    write_json(METRICS, train_metrics(trained.chosen))
    TRAINING_CURVE.write(TRAINING_CURVE.frame(curve_rows(trained.chosen.history)), CURVE)
    for done in (result, trained.chosen):  # safe now: a forced run trains anew
        if done.stored is not None:
            done.stored.unlink(missing_ok=True)


if __name__ == "__main__":
    run_stage(main)
