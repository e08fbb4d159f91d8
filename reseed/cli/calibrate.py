"""`python -m reseed calibrate`: an alpha that bounds the wrong drops, from a labelled sample (docs/calibrate.md)."""

import argparse
import sys
from pathlib import Path
from typing import Final

from reseed.base.errors import ReseedError
from reseed.base.files import write_json
from reseed.cli.main import not_negative
from reseed.engines.engine import AUTO, ENGINES, open_engine
from reseed.infer.calibration import CALIBRATION_FILE, calibrate
from reseed.infer.deciding import frames_text, rule_of
from reseed.infer.sample import (
    LABELS_FILE,
    PAGE_FILE,
    SAMPLE_UNITS,
    draw_sample,
    read_labels,
    read_sample,
    sampled_frames,
)
from reseed.infer.tables import writing
from reseed.score.promise import FRAME, PROMISES

SAMPLE: Final = "sample"
_N: Final = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of both steps."""
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP", help="run sample first, then alpha")
    line = "draw frames at random, and write a page to label them on"
    sample = steps.add_parser(SAMPLE, help=line, description=line)
    sample.add_argument("frames", nargs="+", type=Path, metavar="FRAMES", help="all frames to be decided, as for infer")
    sample.add_argument("-n", type=not_negative, default=_N, metavar="N", help="frames to label; default: %(default)s")
    sample.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="new folder for the page and the table of frames"
    )
    sample.add_argument(
        "--unit",
        choices=SAMPLE_UNITS,
        default=FRAME,
        help="what is drawn at random: frames, or whole sequences or sites, one frame of each in turn, where each of "
        "them is to count alike; default: %(default)s",
    )
    sample.add_argument(
        "--seed", type=not_negative, default=0, metavar="N", help="seed of the draw; default: %(default)s"
    )
    line = "compute alpha from the labels, and write calibration.json"
    alpha = steps.add_parser("alpha", help=line, description=line)
    alpha.add_argument("folder", type=Path, metavar="DIR", help="folder that sample wrote")
    alpha.add_argument("--model", type=Path, required=True, metavar="MODEL", help="as for infer")
    alpha.add_argument(
        "--promise",
        choices=PROMISES,
        default=FRAME,
        help="what is bounded. frame: the chance that a frame is dropped on wrongly; confident: the same, with a "
        "confidence of 1 - delta; drops: the share of wrong drops among the drops, for a finished survey; default: "
        "%(default)s",
    )
    alpha.add_argument("--target", default="0.05", metavar="T", help="the bound, 0 to 1; default: %(default)s")
    alpha.add_argument(
        "--delta", default="0.1", metavar="D", help="confident: chance that it fails; default: %(default)s"
    )
    alpha.add_argument(
        "--labels", type=Path, metavar="FILE", help=f"labels that the page saved; default: {LABELS_FILE} in DIR"
    )
    alpha.add_argument("--patch-size", type=int, metavar="P", help="as for infer")
    alpha.add_argument("--engine", choices=ENGINES, default=AUTO, help="as for infer; default: %(default)s")
    alpha.add_argument("--device", default="cpu", metavar="D", help="as for infer; default: %(default)s")


def run(args: argparse.Namespace) -> int:
    """Draw a sample, or take alpha from its labels."""
    return _sample(args) if args.step == SAMPLE else _alpha(args)


def _sample(args: argparse.Namespace) -> int:
    if not args.n:
        raise ReseedError("-n is 0; allowed: at least 1 frame")
    sample = draw_sample(args.frames, args.out, args.n, args.seed, args.unit)
    lines = [f"{frames_text(len(sample.frames))} of {sample.survey_frames:,} drawn at random"]
    lines += [f"passed over, cannot be read: {found}" for found in sample.unusable]
    lines.append(f"open {args.out / PAGE_FILE}, and put the {LABELS_FILE} that it saves into {args.out}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _alpha(args: argparse.Namespace) -> int:
    sample = read_sample(args.folder)
    labels = read_labels(args.labels or args.folder / LABELS_FILE, sample)
    survey = sampled_frames(sample, args.folder)
    engine = open_engine(args.model, args.engine, threads=1, device=args.device)
    rule = rule_of(engine, args.model, "1.0", args.patch_size)
    found = calibrate(args.promise, args.target, args.delta, sample, labels, survey, rule, _note)
    with writing(args.folder / CALIBRATION_FILE):
        write_json(args.folder / CALIBRATION_FILE, found.model_dump())
    sys.stdout.write(f"{args.folder / CALIBRATION_FILE}: {found.in_words()}\n")
    return 0


def _note(line: str) -> None:
    sys.stderr.write(f"note: {line}\n")
