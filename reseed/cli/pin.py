"""`python -m reseed pin URI`: the digest that pins a source."""

import argparse
import sys

from reseed.errors import SourceError
from reseed.field.sources import digest_folder, resolve_uri


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("uri", metavar="URI", help="source folder, as in pull.sources: ~ and $VAR are expanded")


def run(arguments: argparse.Namespace) -> int:
    """Print the digest, alone on its line."""
    folder = resolve_uri(arguments.uri)
    digest = digest_folder(folder)
    if not digest.files:
        raise SourceError(f"{folder}: the folder is empty")
    sys.stdout.write(f"{digest.sha256}\n")
    return 0
