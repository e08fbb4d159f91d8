"""`python -m reseed crossval`: hold every site or sequence out in turn, on the patches that are already packed."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from reseed.artifacts.catalog import ANNOTATIONS, FRAME_LABELS, FRAMES
from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS
from reseed.artifacts.predictions import PATCH_PREDICTIONS
from reseed.base.errors import ReseedError
from reseed.base.files import read_json, write_bytes, write_json, write_text
from reseed.cli.main import add_bootstrap, add_json, show
from reseed.compare.crossval import (
    HELD_OUT,
    FoldParams,
    FoldResult,
    Packed,
    cross_validate,
    crossval_report,
    fold_row,
)
from reseed.figures.by_site import crossval_figure
from reseed.figures.style import png_bytes
from reseed.network.patch_set import open_images
from reseed.network.pretrained import load_start
from reseed.params.aggregate import AggregateParams
from reseed.params.load import load_section
from reseed.params.predict import PredictParams
from reseed.params.split import SplitParams
from reseed.params.train import RepeatedTrainParams, TrainParams, load_train_params
from reseed.patches.splits import hold_out_each, label_weights
from reseed.reports.scores import crossval_page, trainings_text
from reseed.score.registry import NOT_AVAILABLE, PATCH, score_csv

_CATALOG, _PATCHES = Path("data/catalog"), Path("data/patches")
_WEIGHTS: Final = Path("data/pretrained/weights.pt")
_GROUPS: Final = ("site", "sequence")
_MOST_REPEATS: Final = 100  # as train.repeats


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--group", choices=_GROUPS, default="site", help="what is left out in turn; default: site")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder to write; default: runs/crossval-<group>")
    parser.add_argument(
        "--params", type=Path, default=Path("params.yaml"), metavar="FILE", help="parameter file; default: params.yaml"
    )
    parser.add_argument(
        "--repeats", type=_repeats, metavar="N", help="networks trained for each group; default: train.repeats"
    )
    add_bootstrap(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Train and predict for each group, then write table, figure and predictions and print the scores."""
    split = load_section(args.params, "split", SplitParams)
    params = FoldParams(
        load_train_params(args.params, TrainParams),
        args.repeats or load_train_params(args.params, RepeatedTrainParams).repeats,
        load_section(args.params, "predict", PredictParams),
        load_section(args.params, "aggregate", AggregateParams),
    )
    out = args.out or Path("runs") / f"crossval-{args.group}"
    if out.exists() and not out.is_dir():  # before hours of training, not after
        raise ReseedError(f"--out {out}: is a file; name a folder")
    packed, frames, annotations = _read()
    folds = hold_out_each(frames, label_weights(annotations, packed.frame_labels), args.group, split)
    sys.stderr.write(
        f"crossval: {len(folds) * params.repeats} trainings, {params.repeats} for each {args.group} held out\n"
    )
    results = cross_validate(packed, folds, params, load_start(_WEIGHTS, params.train.backbone), _tell)
    synthetic = bool((frames["synthetic"] == 1).any())
    report = crossval_report(args.group, results, args.resamples, args.seed, synthetic=synthetic)
    table = pd.DataFrame(report["folds"])
    _write(out, report, table, results)
    show(report, crossval_page, as_json=args.json)
    return 0


def _repeats(text: str) -> int:
    number = int(text)
    if not 1 <= number <= _MOST_REPEATS:
        raise argparse.ArgumentTypeError(f"{number} is not in 1 to {_MOST_REPEATS}")
    return number


def _read() -> tuple[Packed, pd.DataFrame, pd.DataFrame]:
    index = PATCH_INDEX.read(_PATCHES / "index.csv")
    frames = FRAMES.read(_CATALOG / "frames.csv")
    packed = Packed(
        images=open_images(_PATCHES / "patches.npy", len(index)),
        geometry=read_json(_PATCHES / "geometry.json"),
        index=index,
        labels=PATCH_LABELS.read(_PATCHES / "labels.csv"),
        frame_labels=FRAME_LABELS.read(_CATALOG / "frame_labels.csv"),
    )
    # Frames smaller than a patch were quarantined by extract: they have no patch to hold out.
    cut = frames[frames["frame_id"].isin(set(index["frame_id"]))].reset_index(drop=True)
    return packed, cut, ANNOTATIONS.read(_CATALOG / "annotations.csv")


def _tell(result: FoldResult) -> None:
    row = fold_row(result)
    scored = "no labelled patch, so no score"
    if row["n_patches"]:
        spread = (
            "" if len(result.patches) < 2 else f" ± {row['patch_macro_f1_sd']:.2f} ({len(result.patches)} trainings)"
        )
        scored = f"macro F1 {row['patch_macro_f1_mean']:.2f} %{spread}"
    sys.stderr.write(f"crossval: {result.group} held out: {scored}\n")


def _write(folder: Path, report: Mapping[str, Any], table: pd.DataFrame, results: Sequence[FoldResult]) -> None:
    numbers = table.replace(NOT_AVAILABLE, float("nan"))
    write_text(folder / "crossval.csv", score_csv(numbers, HELD_OUT))
    write_json(folder / "crossval.json", report)
    PATCH_PREDICTIONS.write(pd.concat([result.predictions for result in results]), folder / "predictions.csv")
    interval = report[PATCH]["intervals"]["macro_f1"]
    band = None if interval["low"] == NOT_AVAILABLE else (interval["low"], interval["high"])
    figure = crossval_figure(
        numbers,
        report[PATCH]["macro_f1"],
        band,
        report["group"],
        trainings=trainings_text(report, PATCH) if report["trainings"]["n"] > 1 else "",
        synthetic=bool(report["synthetic"]),
    )
    write_bytes(folder / "crossval.png", png_bytes(figure))
    sys.stderr.write(f"crossval: table, predictions and picture in {folder}\n")
