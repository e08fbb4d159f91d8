"""The three patch classes in their fixed order, the two frame decisions, and how people spell them."""

import difflib
import re
from typing import Final

from reseed.base.errors import TableError

NO_DEPLOY: Final = "No-Deploy"
CORAL: Final = "Coral"
DEPLOY: Final = "Deploy"

# The order is the class index everywhere (0, 1, 2): softmax columns, confusion matrices, model heads.
# Ties go to the lower index, so to No-Deploy first: the safe side.
CLASSES: Final = (NO_DEPLOY, CORAL, DEPLOY)
CLASS_INDEX: Final = {name: index for index, name in enumerate(CLASSES)}

# A frame's decision, in the same order.
DECISIONS: Final = (NO_DEPLOY, DEPLOY)

# Deploy is the rare and the costly class; the colours are told apart in the common colour-vision deficiencies.
# Instead of a decision: a person should look. Its colour is told apart from those of the classes in the same way.
ASK: Final = "Ask"
ASK_COLOUR: Final = "#cc79a7"
CLASS_COLOURS: Final = {NO_DEPLOY: "#8c8c8c", CORAL: "#d55e00", DEPLOY: "#0072b2"}


def fold_label(text: str) -> str:
    """Fold case, blanks, underscores and hyphens away: `No Deploy`, `no_deploy` and `NoDeploy ` are one label."""
    return re.sub(r"[\s_\-]+", "", text.strip().casefold())


_CLASS_BY_FOLDED: Final = {fold_label(name): name for name in CLASSES}


def match_class(text: str) -> str | None:
    """Return the class that `text` spells, or None.

    >>> match_class("no_deploy ")
    'No-Deploy'
    """
    return _CLASS_BY_FOLDED.get(fold_label(text))


def parse_class(text: str, where: str) -> str:
    """Return the class that `text` spells.

    Args:
        text: A label as a file gives it.
        where: File and row, for the message.

    Raises:
        TableError: If `text` is none of the three classes; the message offers the nearest one.
    """
    found = match_class(text)
    if found is None:
        raise TableError(f"{where}: label {text!r} is not a class; allowed: {', '.join(CLASSES)}{_hint(text, CLASSES)}")
    return found


def parse_decision(text: str, where: str) -> str:
    """Return the frame decision that `text` spells, `Deploy` or `No-Deploy`.

    Raises:
        TableError: If `text` is neither decision.
    """
    found = match_class(text)
    if found not in DECISIONS:
        raise TableError(
            f"{where}: frame label {text!r} is neither decision; allowed: {', '.join(DECISIONS)}"
            f"{_hint(text, DECISIONS)}"
        )
    return found


def _hint(text: str, allowed: tuple[str, ...]) -> str:
    by_folded = {fold_label(name): name for name in allowed}
    close = difflib.get_close_matches(fold_label(text), by_folded, n=1)
    return f" (did you mean {by_folded[close[0]]}?)" if close else ""
