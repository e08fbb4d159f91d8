"""Stage predict: what does the network say of every patch?"""

from pathlib import Path

from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS
from reseed.artifacts.predictions import PATCH_PREDICTIONS
from reseed.artifacts.splits import SPLITS_TABLE, VAL
from reseed.base.files import read_json, write_json
from reseed.engines.calibrate import fit_temperature, uncalibrated
from reseed.engines.engine import open_engine
from reseed.engines.facts import require_geometry
from reseed.engines.predictions import engine_record, prediction_rows
from reseed.network.patch_set import join_patches, open_images
from reseed.params.load import load_section
from reseed.params.predict import PredictParams
from stages.runner import parse_arguments, run_stage

PARAMS = Path("params.yaml")
PATCHES = Path("data/patches")
SPLITS = Path("data/catalog/splits.csv")
MODEL = Path("models")
PREDICTIONS = Path("data/predictions/patches.csv")
CALIBRATION = Path("data/predictions/calibration.json")
ENGINE = Path("data/predictions/engine.json")


def main(argv: list[str] | None = None) -> None:
    """Predict every patch of every split exactly once, calibrated on validation patches if asked."""
    parse_arguments(__doc__, argv)
    params = load_section(PARAMS, "predict", PredictParams)
    engine = open_engine(MODEL, params.engine, params.threads, params.device, section="predict.")
    require_geometry(engine.facts, read_json(PATCHES / "geometry.json"), str(MODEL))
    index = PATCH_INDEX.read(PATCHES / "index.csv")
    patches = join_patches(index, PATCH_LABELS.read(PATCHES / "labels.csv"), SPLITS_TABLE.read(SPLITS))
    images = open_images(PATCHES / "patches.npy", len(index), (engine.facts.input_size_px,) * 2)
    logits = engine.logits(images, params.batch_size)
    val = patches.labelled(VAL)
    calibration = fit_temperature(logits[val], patches.gold[val]) if params.calibrate != "none" else uncalibrated()
    rows = prediction_rows(patches, calibration.probabilities(logits))
    PATCH_PREDICTIONS.write(PATCH_PREDICTIONS.frame(rows), PREDICTIONS)
    write_json(CALIBRATION, calibration.record())
    write_json(ENGINE, engine_record(engine))


if __name__ == "__main__":
    run_stage(main)
