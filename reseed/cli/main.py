"""The commands of `python -m reseed`: one module each, loaded only when it is called."""

import argparse
import importlib
import sys
from typing import Final

from reseed.base.errors import EXIT_USER_ERROR, ReseedError

# Command: what it does in one line. Its module reseed.cli.<command>, dashes as underscores, has
# `add_arguments(parser)` and `run(arguments) -> int`, the exit code.
COMMANDS: Final = {
    "agree": "compare two tables of labels: agreement, Cohen's kappa, and the items on which two annotators differ",
    "audit": "check that the data, code and parameters of a revision give its score, and show where each came from",
    "card": "write the model card of a result: intended use, data, scores with intervals, limits",
    "check": "validate a whole parameter file, and report which sources have changed since they were copied",
    "compare": "compare two revisions or experiments on the same test frames: difference, interval, p, what changed",
    "crossval": "leave-one-group-out cross-validation: train on all sites (or sequences) but one, test on that one",
    "drift": "check that a committed result fits its code and parameters, and that a new run gives nearly its scores",
    "export": "write a trained model as one ONNX file with all that infer needs, after comparing it with the network",
    "export-labels": "write the predictions of a run as a CoralNet CSV and as COCO JSON, for annotation tools",
    "import-checkpoint": "convert a checkpoint from elsewhere into a model folder for infer and export",
    "infer": "classify every frame in a folder, including one still being written: decisions, a track and a map",
    "leakage": "find seafloor that train, val and test have in common: copies, close neighbours, overlapping views",
    "pin": "print the digest of a folder, archive or url, for sha256 of an entry of pull.sources",
    "report": "write a page for a pull request: scores before and after, intervals, what changed, the audit",
    "score": "score a table of predictions against a table of reference labels, as the pipeline does",
    "scores": "print the scores of the last run as a short table",
}


def main(argv: list[str] | None = None) -> int:
    """Run one command; a user error ends in one clear message and exit code 2.

    Args:
        argv: Arguments without the program name; those of the process if None.

    Returns:
        Exit code.
    """
    arguments = sys.argv[1:] if argv is None else argv
    chosen = _overview().parse_args(arguments[:1]).command
    command = importlib.import_module(f"reseed.cli.{chosen.replace('-', '_')}")
    parser = argparse.ArgumentParser(prog=f"python -m reseed {chosen}", description=COMMANDS[chosen])
    command.add_arguments(parser)
    try:
        return int(command.run(parser.parse_args(arguments[1:])))
    except ReseedError as error:
        sys.stderr.write(f"error: {error}\n")
        return EXIT_USER_ERROR


def _overview() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name:<{width}}  {line}" for name, line in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m reseed",
        usage="python -m reseed COMMAND ...",
        description="Decides from reef survey frames where to deploy, and scores these decisions (README.md).\n\n"
        f"commands:\n{lines}\n\n`python -m reseed COMMAND --help` lists the arguments of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of the commands above")
    return parser
