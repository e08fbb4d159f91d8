"""Stage predict: what does the network say of every patch?"""

from pathlib import Path

from reseed.artifacts.files import read_json, write_json
from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS
from reseed.artifacts.predictions import PATCH_PREDICTIONS
from reseed.artifacts.splits import SPLITS_TABLE, VAL
from reseed.learn.calibrate import fit_temperature, uncalibrated
from reseed.learn.checkpoint import load_model
from reseed.learn.infer import patch_logits, prediction_rows
from reseed.learn.patch_set import join_patches, open_images
from reseed.learn.runtime import resolve_device
from reseed.params.load import load_section
from reseed.params.predict import PredictParams
from stages.runner import parse_arguments, run_stage

PARAMS = Path("params.yaml")
PATCHES = Path("data/patches")
SPLITS = Path("data/catalog/splits.csv")
MODEL = Path("models/model.pt")
CARD = Path("models/model.json")
PREDICTIONS = Path("data/predictions/patches.csv")
CALIBRATION = Path("data/predictions/calibration.json")


def main(argv: list[str] | None = None) -> None:
    """Predict every patch of every split exactly once, calibrated on validation patches if asked."""
    parse_arguments(__doc__, argv)
    params = load_section(PARAMS, "predict", PredictParams)
    device = resolve_device(params.device, "predict.device")
    network, card = load_model(MODEL, CARD, read_json(PATCHES / "geometry.json"))
    index = PATCH_INDEX.read(PATCHES / "index.csv")
    patches = join_patches(index, PATCH_LABELS.read(PATCHES / "labels.csv"), SPLITS_TABLE.read(SPLITS))
    images = open_images(PATCHES / "patches.npy", len(index), card.input_px)
    logits = patch_logits(network, images, params.batch_size, params.threads, device)
    val = patches.labelled(VAL)
    calibration = fit_temperature(logits[val], patches.gold[val]) if params.calibrate != "none" else uncalibrated()
    rows = prediction_rows(patches, calibration.probabilities(logits))
    PATCH_PREDICTIONS.write(PATCH_PREDICTIONS.frame(rows), PREDICTIONS)
    write_json(CALIBRATION, calibration.record())


if __name__ == "__main__":
    run_stage(main)
