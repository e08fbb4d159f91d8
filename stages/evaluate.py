"""Stage evaluate: how good is it? Writes the scores, the tables behind the plots, and the pictures."""

from pathlib import Path

import numpy as np

from reseed.artifacts.files import new_folder, write_json, write_text
from reseed.artifacts.frames import FRAMES
from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS
from reseed.artifacts.raw import read_raw
from reseed.artifacts.training import TRAINING_CURVE
from reseed.decide.alpha import alpha_grid, decisions_over
from reseed.evaluate.by_site import BY_SITE, by_site
from reseed.evaluate.details import describe
from reseed.evaluate.evidence import Evidence, gather, with_kinds
from reseed.evaluate.mistakes import confident_mistakes, patch_rows
from reseed.evaluate.percent import score_csv
from reseed.evaluate.plots import PLOT_TABLES
from reseed.evaluate.summary import summarise
from reseed.figures.report import PICTURES, ReportData, notices
from reseed.figures.style import marked, png_bytes
from reseed.params.evaluate import EvaluateParams
from reseed.params.load import load_section
from stages.runner import parse_arguments, run_stage

DATA, METRICS, PLOTS = Path("data"), Path("metrics"), Path("plots")


def main(argv: list[str] | None = None) -> None:
    """Read the predictions, score and draw them, then write."""
    parse_arguments(__doc__, argv)
    params = load_section(Path("params.yaml"), "evaluate", EvaluateParams)
    evidence = read_evidence()
    mistakes = confident_mistakes(evidence, params.mistakes)
    packed = np.load(DATA / "patches/patches.npy", mmap_mode="r")
    pictures = packed[patch_rows(mistakes, PATCH_INDEX.read(DATA / "patches/index.csv"), len(packed))]
    report = ReportData(evidence, mistakes, pictures, TRAINING_CURVE.read(PLOTS / "training.csv"))
    with new_folder(PLOTS / "figures") as folder:
        for name, draw in PICTURES.items():
            (folder / f"{name}.png").write_bytes(png_bytes(marked(draw(report), notices(report))))
    write_json(METRICS / "metrics.json", summarise(evidence))
    write_json(METRICS / "details.json", describe(evidence))
    write_text(METRICS / "by_site.csv", score_csv(by_site(evidence), BY_SITE))
    for name, table in PLOT_TABLES.items():
        write_text(PLOTS / f"{name}.csv", score_csv(table.build(evidence), table.columns))


def read_evidence() -> Evidence:
    """Read predictions, catalog and sources, and decide every frame at every alpha."""
    labels = PATCH_LABELS.read(DATA / "patches/labels.csv")
    patches = with_kinds(PATCH_PREDICTIONS.read(DATA / "predictions/patches.csv"), labels)
    frames, grid = FRAME_PREDICTIONS.read(DATA / "predictions/frames.csv"), alpha_grid()
    deploys = decisions_over(frames["deploy_count"].to_numpy(), frames["n_patches"].to_numpy(), grid)
    catalog, sources = FRAMES.read(DATA / "catalog/frames.csv"), read_raw(DATA / "raw.json")
    return gather(patches, frames, catalog, sources, grid, deploys)


if __name__ == "__main__":
    run_stage(main)
