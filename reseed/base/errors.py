"""Errors a user can act on: one clear line, exit code 2, no traceback."""

EXIT_USER_ERROR = 2


def printable(text: str) -> str:
    """Return a text with control characters written out: text of others does nothing to a terminal."""
    return "".join(c if c.isprintable() or c in "\t\n" else repr(c)[1:-1] for c in text)


class ReseedError(Exception):
    """A problem in what the user gave; the message names what, where, got, allowed and the way out."""


class ParamsError(ReseedError):
    """The parameter file holds an unknown, missing or out-of-range value."""


class SourceError(ReseedError):
    """A data source is missing, empty, changed since it was pinned, or cannot be read or copied."""


class TableError(ReseedError):
    """A table or label file is broken: columns, keys, values or rows that contradict each other."""


class ImageError(ReseedError):
    """An image cannot be used; `reason` is the code that `quarantine.csv` records.

    Args:
        reason: Short code such as `truncated` or `not_an_image`.
        detail: What was found, for people.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class SplitError(ReseedError):
    """The frames cannot be divided as asked."""


class ModelError(ReseedError):
    """Weights or a model file do not fit: missing, unreadable, or another architecture or geometry."""
