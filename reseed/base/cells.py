"""Cells of a CSV that a spreadsheet would take for a formula: written with an apostrophe before them, read without it.

Names of frames, sites and labels come from files of others. A spreadsheet runs `=HYPERLINK(...)` where it stands at the
start of a cell, and in some countries a semicolon starts a cell too. The apostrophe makes it text
(https://owasp.org/www-community/attacks/CSV_Injection).
"""

import re
from collections.abc import Iterable
from typing import Any, Final

# Also in their full-width forms, which some spreadsheets read as the same characters.
_STARTS: Final = "=+\\-@\t\r\uff1d\uff0b\uff0d\uff20"
_RISKY: Final = re.compile(rf"(^|[;\t])('*)(?=\s*[{_STARTS}])")
_WRITTEN: Final = re.compile(rf"(^|[;\t])'('*)(?=\s*[{_STARTS}])")
_NUMBER: Final = re.compile(r"'*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FIRST: Final = frozenset("'=+-@\uff1d\uff0b\uff0d\uff20")


def guard(text: str) -> str:
    """Return a cell as it is written; numbers stay as they are.

    >>> guard("=1+1.jpg"), guard("-9.5"), guard("reef_7.jpg")
    ("'=1+1.jpg", '-9.5', 'reef_7.jpg')
    """
    return _changed(_RISKY, r"\1'\2", text)


def unguard(text: str) -> str:
    """Return what was written by `guard`; any other text comes back as it is."""
    return _changed(_WRITTEN, r"\1\2", text)


def guard_all(values: Iterable[object]) -> list[Any]:
    """Return a column as it is written: `guard` of what is text."""
    return [guard(value) if isinstance(value, str) else value for value in values]


def _changed(pattern: re.Pattern[str], change: str, text: str) -> str:
    if not text or (text[0] not in _FIRST and not text[0].isspace() and ";" not in text and "\t" not in text):
        return text
    return text if _NUMBER.fullmatch(text) else pattern.sub(change, text)
