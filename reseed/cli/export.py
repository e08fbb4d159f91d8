"""`python -m reseed export --out reef.onnx`: a model as one file for a boat, checked before it appears."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.base.errors import ReseedError
from reseed.base.files import write_bytes
from reseed.engines.engine import ONNX_SUFFIX
from reseed.engines.export import drawn_patches, export_network, require_parity
from reseed.engines.facts import FLIPS, ModelFacts
from reseed.engines.predictions import load_folder
from reseed.infer.calibration import read_calibration, require_model
from reseed.network.checkpoint import CARD_FILE, MODEL_FILE
from reseed.patches.store import open_patches
from reseed.score.alpha import parse_alpha

_SURVEY_PATCHES: Final = 56


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.onnx", help="file to write")
    parser.add_argument(
        "--model",
        type=Path,
        default=Path("models"),
        metavar="FOLDER",
        help="model folder with model.pt and model.json; default: models",
    )
    threshold = parser.add_mutually_exclusive_group()
    threshold.add_argument(
        "--alpha", metavar="A", help="threshold of the decision; default: the one in metrics/metrics.json beside FOLDER"
    )
    threshold.add_argument(
        "--calibration",
        type=Path,
        metavar="FILE",
        help="calibration.json of calibrate: its alpha, and the promise that goes with it",
    )
    parser.add_argument(
        "--flips",
        type=int,
        choices=FLIPS,
        help="1, 2 or 4 mirror images to average over; default: as the predictions beside FOLDER",
    )


def run(args: argparse.Namespace) -> int:
    """Export, compare with the network, and only then write."""
    out: Path = args.out
    if out.suffix != ONNX_SUFFIX or out.is_dir():
        raise ReseedError(
            f"--out {out}: {'is a folder' if out.is_dir() else 'other ending'}; needed: a file name ending in .onnx"
        )
    if args.model.is_file():  # said here, because here no .onnx file will do
        raise ReseedError(f"--model {args.model}: is a file; give the folder that holds {MODEL_FILE} and {CARD_FILE}")
    network, facts = load_folder(args.model)
    if args.calibration is None:
        facts = _with_alpha(facts, args.alpha, args.model)
    else:
        found = read_calibration(args.calibration)
        require_model(found, str(args.calibration), facts, facts.patch_size_px)
        facts = replace(facts, alpha=found.alpha, calibration=found.model_dump_json())
    facts = facts if args.flips is None else replace(facts, flips=args.flips)
    data = export_network(network, facts)
    survey = _survey_patches(args.model, facts.input_size_px)
    images = np.concatenate([survey, drawn_patches(facts.input_size_px)])
    parity = require_parity(data, network, images, str(out))
    try:
        write_bytes(out, data)
    except OSError as error:
        raise ReseedError(f"--out {out}: cannot be written ({error.strerror})") from error
    if facts.trained_on_rendered:
        sys.stdout.write(f"*** {SYNTHETIC_NOTICE} ***\n")
    sys.stdout.write(
        f"{out}: {facts.backbone}, patches of {facts.patch_size_px} px seen at {facts.input_size_px} px, "
        f"alpha {facts.alpha}\n"
        f"compared with the network on {len(survey)} patches of the survey and {parity.n - len(survey)} drawn ones: "
        f"probabilities within {parity.largest:.1g}, all classes equal\n"
    )
    return 0


def _with_alpha(facts: ModelFacts, asked: str | None, folder: Path) -> ModelFacts:
    if asked is not None:
        return replace(facts, alpha=parse_alpha(asked, "--alpha"))
    if facts.alpha is None:
        raise ReseedError(
            f"{folder}: no alpha is recorded beside it (metrics/metrics.json), so no decision can be exported; "
            "give it with --alpha, such as --alpha 0.5"
        )
    return replace(facts, alpha=parse_alpha(facts.alpha, f"alpha in metrics/metrics.json beside {folder}"))


def _survey_patches(folder: Path, edge_px: int) -> NDArray[np.uint8]:
    """Return a spread of the packed patches beside a model folder, none where they are not or have another edge."""
    path = folder.resolve().parent / "data/patches/patches.npy"
    none = np.empty((0, edge_px, edge_px, 3), np.uint8)
    if not path.is_file():
        return none
    packed = open_patches(path)
    if packed.shape[1:3] != (edge_px, edge_px):
        return none
    chosen = np.unique(np.linspace(0, len(packed) - 1, min(_SURVEY_PATCHES, len(packed))).astype(np.int64))
    return np.asarray(packed[chosen])
