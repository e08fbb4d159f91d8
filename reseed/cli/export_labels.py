"""`python -m reseed export-labels`: the predictions of the last run as files that annotation tools read.

For each source a folder with `annotations.csv` (CoralNet: points with machine suggestions) and `coco.json` (COCO:
rectangles with scores), to be looked at and corrected by people there.
"""

import argparse
import sys
from pathlib import Path

from reseed.artifacts.catalog import FRAMES
from reseed.artifacts.patches import PATCH_INDEX, SPLITS
from reseed.artifacts.predictions import PATCH_PREDICTIONS
from reseed.base.errors import TableError
from reseed.base.files import write_json, write_text
from reseed.reports.label_files import coco_object, coralnet_csv, predicted_patches


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder",
        nargs="?",
        default=".",
        type=Path,
        metavar="FOLDER",
        help="folder of the run; default: the current one",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write, made if it is missing")
    parser.add_argument("--split", choices=SPLITS, help="patches of this split only; default: all")


def run(args: argparse.Namespace) -> int:
    """Write both files for every source; print where."""
    data: Path = args.folder / "data"
    frames = FRAMES.read(data / "catalog/frames.csv")
    predictions = PATCH_PREDICTIONS.read(data / "predictions/patches.csv")
    index = PATCH_INDEX.read(data / "patches/index.csv")
    if args.split:
        predictions = predictions[predictions["split"] == args.split]
    if predictions.empty:
        raise TableError(
            f"{data / 'predictions/patches.csv'}: no patch{f' of split {args.split}' if args.split else ''}"
        )
    for source, part in frames.groupby("source", sort=True):
        patches = list(predicted_patches(predictions, index, part))
        if not patches:
            continue
        folder = args.out / str(source)
        write_text(folder / "annotations.csv", coralnet_csv(patches))
        write_json(folder / "coco.json", coco_object(patches, part))
        sys.stdout.write(f"{folder}: {len(patches)} patches in annotations.csv (CoralNet) and coco.json (COCO)\n")
    return 0
