"""Stage evaluate: score patches and frames, with intervals, tables and figures."""

from pathlib import Path

from reseed.artifacts.catalog import FRAME_LABELS, FRAMES
from reseed.artifacts.leakage import read_leakage
from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS, SPLITS_TABLE, TRAINING_CURVE
from reseed.artifacts.predictions import (
    BASELINE_PREDICTIONS,
    CONDITIONS,
    FRAME_PREDICTIONS,
    PATCH_PREDICTIONS,
    REPEAT_DECISIONS,
    REPEAT_PREDICTIONS,
)
from reseed.artifacts.raw import read_raw
from reseed.base.files import read_json, write_bytes, write_folder, write_json, write_text
from reseed.figures.frames import shown_frames
from reseed.figures.report import PICTURES, ReportData, notices
from reseed.figures.style import marked, png_bytes
from reseed.pages.run_page import REPORT, Origin, Workspace, run_page
from reseed.params.evaluate import EvaluateParams
from reseed.params.load import load_section
from reseed.patches.store import open_patches
from reseed.score.details import describe, summarise
from reseed.score.evidence import Context, Evidence, confident_mistakes, gather, patch_rows, with_kinds
from reseed.score.plots import TABLES
from reseed.score.registry import FRAME, PATCH, score_csv
from stages.runner import parse_arguments, run_stage

DATA, PREDICTIONS, TRAINING = Path("data"), Path("data/predictions"), Path("models/training.csv")


def main(argv: list[str] | None = None) -> None:
    """Read the predictions, score and draw them, then write."""
    arguments = parse_arguments(__doc__, argv, no_figures="write the scores and tables, no pictures and no report")
    evidence = read_evidence(load_section(Path("params.yaml"), "evaluate", EvaluateParams))
    if not arguments.no_figures:
        write_folder(Path("plots/figures"), figures(evidence))
    write_json(Path("metrics/metrics.json"), summarise(evidence))
    write_json(Path("metrics/details.json"), describe(evidence))
    for name, table in TABLES.items():
        write_text(Path(f"{name}.csv"), score_csv(table.build(evidence), table.columns))
    write_bytes(Path("plots/training.csv"), TRAINING.read_bytes())
    if not arguments.no_figures:
        origin = Origin("the workspace", None, (), ("dvc repro", "python -m reseed report --html --out report.html"))
        write_text(Path(REPORT), run_page(Workspace(), open_patches(DATA / "patches/patches.npy"), origin))


def figures(evidence: Evidence) -> dict[str, bytes]:
    """Draw every figure, those of the most confident mistakes with their patches: file name -> PNG."""
    mistakes = confident_mistakes(evidence, evidence.context.settings.mistakes)
    packed = open_patches(DATA / "patches/patches.npy")
    index = PATCH_INDEX.read(DATA / "patches/index.csv")
    pictures, whole = packed[patch_rows(mistakes, index, len(packed))], shown_frames(evidence, index, packed)
    report = ReportData(evidence, mistakes, pictures, TRAINING_CURVE.read(TRAINING), whole)
    return {f"{name}.png": png_bytes(marked(draw(report), notices(report))) for name, draw in PICTURES.items()}


def read_evidence(settings: EvaluateParams) -> Evidence:
    """Read predictions and everything they are scored against."""
    labels = PATCH_LABELS.read(DATA / "patches/labels.csv")
    context = Context(
        settings=settings,
        splits=SPLITS_TABLE.read(DATA / "catalog/splits.csv"),
        conditions=CONDITIONS.read(PREDICTIONS / "conditions.csv"),
        baselines=BASELINE_PREDICTIONS.read(PREDICTIONS / "baselines.csv"),
        patch_labels=labels,
        frame_labels=FRAME_LABELS.read(DATA / "catalog/frame_labels.csv"),
        calibration=read_json(PREDICTIONS / "calibration.json"),
        repeats={
            PATCH: REPEAT_PREDICTIONS.read(PREDICTIONS / "repeats.csv"),
            FRAME: REPEAT_DECISIONS.read(PREDICTIONS / "repeat_frames.csv"),
        },
        leakage=read_leakage(DATA / "catalog/leakage.json"),
    )
    return gather(
        patches=with_kinds(PATCH_PREDICTIONS.read(PREDICTIONS / "patches.csv"), labels),
        frames=FRAME_PREDICTIONS.read(PREDICTIONS / "frames.csv"),
        catalog=FRAMES.read(DATA / "catalog/frames.csv"),
        sources=read_raw(DATA / "raw.json"),
        context=context,
    )


if __name__ == "__main__":
    run_stage(main)
