"""Stage predict: classify every patch."""

from pathlib import Path

from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS, SPLITS_TABLE
from reseed.artifacts.predictions import PATCH_PREDICTIONS
from reseed.base.files import read_json, write_json
from reseed.engines.facts import require_geometry
from reseed.engines.predictions import load_folder, predict_all, prediction_rows
from reseed.network.checkpoint import load_without_val
from reseed.network.patch_set import join_patches, open_images
from reseed.network.runtime import use_numerics
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
    use_numerics(params.numerics)
    network, facts = load_folder(MODEL)
    require_geometry(facts, read_json(PATCHES / "geometry.json"), str(MODEL))
    index = PATCH_INDEX.read(PATCHES / "index.csv")
    patches = join_patches(index, PATCH_LABELS.read(PATCHES / "labels.csv"), SPLITS_TABLE.read(SPLITS))
    images = open_images(PATCHES / "patches.npy", len(index), (facts.input_size_px,) * 2)
    without_val = load_without_val(MODEL / "without_val.pt", facts.backbone)
    answers = predict_all(network, without_val, facts, images, patches, params)
    rows = prediction_rows(patches, answers.probabilities)
    PATCH_PREDICTIONS.write(PATCH_PREDICTIONS.frame(rows), PREDICTIONS)
    write_json(CALIBRATION, answers.calibration.record())
    write_json(ENGINE, answers.engine_record(params))


if __name__ == "__main__":
    run_stage(main)
