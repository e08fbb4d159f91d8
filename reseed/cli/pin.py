"""`python -m reseed pin URI`: the digest that pins a source."""

import argparse
import sys

from reseed.base.errors import SourceError
from reseed.base.urls import expand
from reseed.sources.folder import digest_folder, explained, hash_file, resolve_uri
from reseed.sources.pull import DOWNLOADS, fetch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "uri", metavar="URI", help="folder, archive or url, as in pull.sources: $VAR is expanded; a url is downloaded"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the digest, alone on its line."""
    sys.stdout.write(f"{_digest(arguments.uri)}\n")
    return 0


def _digest(uri: str) -> str:
    if "://" in expand(uri):
        return fetch(uri, DOWNLOADS, None).sha256  # it stays there: a pull that follows need not download it again
    path = resolve_uri(uri)
    if path.is_file():
        with explained(path, "read"):
            return hash_file(path)[0]
    digest = digest_folder(path)
    if not digest.files:
        raise SourceError(f"{path}: the folder is empty")
    return digest.sha256
