"""`python -m reseed import-checkpoint FILE`: a network that was trained elsewhere, as a model folder."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Final

from reseed.base.classes import CLASSES
from reseed.base.errors import ReseedError
from reseed.base.files import new_folder
from reseed.network.checkpoint import CARD_FILE, MODEL_FILE, describe_model, save_model
from reseed.network.model import LAST_LAYER
from reseed.network.pretrained import find_weights, read_checkpoint
from reseed.params.extract import ExtractParams
from reseed.params.load import section_problems
from reseed.patches.resize import RESIZE_RULE
from reseed.patches.store import Geometry
from reseed.survey.imagery import DECODE_RULE

_NOT_TRAINED: Final = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="checkpoint: a state_dict with the head of the paper (docs/models.md)"
    )
    parser.add_argument("--arch", required=True, choices=LAST_LAYER, help="torchvision network below the head")
    parser.add_argument(
        "--classes",
        required=True,
        metavar="A,B,C",
        help=f"classes in the order of the network's outputs, such as {','.join(CLASSES)}; reseed reorders them",
    )
    parser.add_argument(
        "--patch-size", required=True, type=int, metavar="PX", help="edge of a patch in stored pixels, 800 on ReefScan"
    )
    parser.add_argument(
        "--input-size", required=True, type=int, metavar="PX", help="edge of a patch as the network sees it, in pixels"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="model folder to create")


def run(args: argparse.Namespace) -> int:
    """Convert, then write `model.pt` and `model.json` into a new folder."""
    out: Path = args.out
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise ReseedError(
            f"--out {out}: is a {'file' if out.is_file() else 'folder that holds something'}; name a new folder"
        )
    sizes = {"patch_size": args.patch_size, "input_size": args.input_size, "min_purity": 0.0}
    for problem in section_problems({"extract": sizes}, "extract", ExtractParams):
        raise ReseedError(problem.replace("extract.", "--").replace("_size", "-size", 1))
    names = [name for name in args.classes.split(",") if name.strip()]
    checkpoint = read_checkpoint(args.file, args.arch, names, "--arch")
    described = describe_model(
        backbone=args.arch,
        best_epoch=_NOT_TRAINED,
        seed=0,
        threads=1,
        device="cpu",
        input_px=(args.input_size, args.input_size),
        geometry=asdict(Geometry(args.patch_size, args.input_size, RESIZE_RULE, DECODE_RULE)),
        pretrained=find_weights(args.arch, "none").record,
        converted=checkpoint.record,
    )
    try:
        with new_folder(out) as folder:
            save_model(checkpoint.network, described, folder / MODEL_FILE, folder / CARD_FILE)
    except OSError as error:
        raise ReseedError(f"--out {out}: cannot be written ({error.strerror})") from error
    sys.stdout.write(f"{out}: {args.arch} of {checkpoint.record.file}, sha256 {checkpoint.record.sha256}\n")
    return 0
