"""Long work shows itself: a bar on a terminal, lines where there is none, such as in `dvc queue logs`."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

LINES_AFTER_S: Final = 20.0
_BAR_AFTER_S: Final = 5.0


def progress(items: Iterable[Item], *, total: int, what: str, unit: str) -> Iterator[Item]:
    """Yield `items` and show how many are done: without a terminal, a line per tenth of what takes over 20 s.

    Args:
        items: To be worked on by the caller, one after the other.
        total: How many they are.
        what: What is being done.
        unit: What an item is.
    """
    if sys.stderr.isatty():
        yield from tqdm(items, total=total, desc=what, unit=unit, delay=_BAR_AFTER_S, leave=False)
        return
    began, told = time.monotonic(), 0
    for number, item in enumerate(items, 1):
        yield item
        tenth = 10 * number // total
        taken_s = time.monotonic() - began
        if tenth > told and taken_s > LINES_AFTER_S:
            tell(f"{what}: {number:,} of {total:,} {unit}s ({10 * tenth} %), {taken_s:.0f} s")
            told = tenth


def tell(line: str) -> None:
    """Write one line to standard error, at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
