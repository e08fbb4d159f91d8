"""What every stage does around its main: run the code of this folder only, end with its parent, explain user errors."""

import argparse
import errno
import sys
from collections.abc import Callable
from pathlib import Path

import reseed
from reseed.base.errors import EXIT_USER_ERROR, ReseedError
from reseed.base.parallel import end_with_parent

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # the disk, a quota, or the limit of one file


def run_stage(main: Callable[[], None]) -> None:
    """Run a stage's `main`; a user error or full disk ends in one message and code 2, a bug keeps its traceback."""
    try:
        require_local_library(Path.cwd())
        end_with_parent()
        main()
    except ReseedError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(EXIT_USER_ERROR)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        sys.stderr.write(
            f"error: no space left to write ({error.strerror}): nothing half-written is left; free some space and "
            "run the same command again, a training goes on at its last epoch\n"
        )
        sys.exit(EXIT_USER_ERROR)


def parse_arguments(doc: str | None, argv: list[str] | None, **switches: str) -> argparse.Namespace:
    """Parse a stage's command line: `--help` prints `doc`; values come from params.yaml, so there is little else.

    Args:
        doc: The stage's own docstring.
        argv: Arguments without the program name; those of the process if None.
        **switches: Options that are off unless given, with their help: `no_figures` is `--no-figures`.

    Returns:
        A boolean for each switch.
    """
    parser = argparse.ArgumentParser(description=doc)
    for name, text in switches.items():
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=text)
    return parser.parse_args(argv)


def require_local_library(folder: Path) -> None:
    """Check that the imported library is the one below `folder`.

    An installed copy would run while the experiment records the code of this folder.

    Raises:
        ReseedError: If `reseed` was imported from elsewhere.
    """
    library = Path(next(iter(reseed.__path__))).resolve()
    if library.parent != folder.resolve():
        raise ReseedError(
            f"reseed was imported from {library}, not from {folder}: run stages from the repository root as "
            "`python -m stages.<name>` and uninstall any installed reseed (`pip uninstall reseed`)"
        )
