"""The commands of `python -m reseed`: one module each, loaded only when it is called."""

import argparse
import importlib
import sys
from typing import Final

from reseed.base.errors import EXIT_USER_ERROR, ReseedError

# Command: what it does in one line. Its module reseed.cli.<command>, dashes as underscores, has
# `add_arguments(parser)` and `run(arguments) -> int`, the exit code.
COMMANDS: Final = {
    "agree": "say how far two tables of labels agree, and which items are worth a second look",
    "audit": "show which data, code and parameters produced the score of a revision, rung by rung",
    "card": "write the model card of a result: use, data, scores with intervals, limits",
    "check": "validate a parameter file in full, and see whether the sources are what was pulled and pinned",
    "compare": "say whether B is better than A, how sure that is, and what changed: revisions or experiments",
    "crossval": "hold every site or sequence out in turn: train on the others, predict it; table and figure",
    "drift": "say whether a committed result is that of its code and parameters, and near the run in the workspace",
    "export": "write a model as one ONNX file that says how to use it, checked against the network before it appears",
    "import-checkpoint": "make a model folder of a research checkpoint: for infer and export",
    "infer": "decide every frame of a folder, also one that is still being written: tables and a map, for the boat",
    "leakage": "look for seafloor that train, val and test share: copies, close neighbours, overlapping views",
    "pin": "print the digest of a source folder, archive or url, for pull.sources[].sha256",
    "report": "write what a change does to the result as a page for its pull request: base, head, doubt, audit",
    "score": "score a table of predictions against a table of reference labels, with the code of the pipeline",
    "scores": "print the scores of the last run in a short table",
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
        description=f"commands:\n{lines}\n\n`python -m reseed COMMAND --help` tells more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of the commands above")
    return parser
