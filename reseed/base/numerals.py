"""Numbers as people, spreadsheets and programs write them: read exactly, or refused with the reason.

A decimal point or comma, thousands marks (dot, comma, apostrophe, blank), exponents. A text that has two readings,
`1.000` for one or for one thousand, is not guessed: other cells of the same table may settle which mark it uses.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reseed.base.errors import TableError

_DECIMAL_OF: Final = {".": ",", ",": "."}  # which mark groups thousands where the other one is the decimal mark
# Blanks of every kind, apostrophes, and the Arabic thousands mark: they group digits and mean nothing else.
_PLAIN_GROUPS: Final = re.compile(r"(?<=\d)[\s\u200b'\u2018\u2019\u02bc_\u066c](?=\d{3}(?!\d))")
_NUMBER: Final = re.compile(r"(?P<sign>[+-]?)(?P<body>\d[\d.,]*|[.,]\d+)(?:[eE](?P<exponent>[+-]?\d{1,3}))?")
_GROUPED: Final = {mark: re.compile(rf"[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+") for mark in ".,"}
_PROGRAMS_FROM: Final = 16  # a program writes 1e16 and above with an exponent, and loses nothing by it
_MINUS: Final = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2013": "-"})


class NumberError(ValueError):
    """A text that is no number, or not one number.

    Args:
        reason: `not_a_number`, `ambiguous` or `digits_lost`.
        advice: What it may be and what to do.
    """

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(advice)
        self.reason = reason


@dataclass(frozen=True)
class Cell:
    """A number of a table.

    Args:
        where: File, line and column, for messages.
        text: As it stands there.
        limit: What its size cannot exceed, such as 90 for a latitude; None if nothing is known.
    """

    where: str
    text: str
    limit: int | None = None


def parse_number(text: str, decimal_mark: str | None = None, places: int = 0) -> Fraction:
    """Return the number that a text writes.

    Args:
        text: Such as `1234.5`, `1.234,5`, `1'234`, `-1.05E+01`.
        decimal_mark: `.` or `,` where it is known; None: only a text with a single reading is read.
        places: Decimals that a number with an exponent must have written out; with fewer, digits were lost.

    Raises:
        NumberError: If it is no number, may be two numbers, or has lost digits.
    """
    plain = _PLAIN_GROUPS.sub("", text.strip().translate(_MINUS))
    match = _NUMBER.fullmatch(plain)
    if match is None:
        raise NumberError("not_a_number", f"{text[:40]!r} is no number")
    body, exponent = match["body"], int(match["exponent"] or 0)
    if decimal_mark is None or match["exponent"] is not None:  # nobody groups the digits of 1.500E+03
        decimal_mark = _decimal_mark(body, grouped="exponent" if match["exponent"] is not None else _groups(text))
    whole, _, decimals = body.partition(decimal_mark) if decimal_mark else (body, "", "")
    group = _DECIMAL_OF.get(decimal_mark) or next((mark for mark in ".," if mark in body), ",")
    if not (whole or decimals) or (decimals and not decimals.isdigit()) or not _is_whole(whole, group):
        raise NumberError(
            "not_a_number", f"{text[:40]!r} is no number with the decimal mark {decimal_mark} that its table uses"
        )
    digits = whole.replace(group, "") + decimals
    if (
        match["exponent"] is not None
        and exponent < _PROGRAMS_FROM
        and len(decimals) - exponent < places
        and int(digits)
    ):
        raise NumberError(
            "digits_lost",
            f"{text[:40]!r} has lost digits: a spreadsheet rounded it; bring the table as it was first written, or "
            "format the column as plain numbers and save again from the original",
        )
    number = Fraction(int(digits or 0)) * Fraction(10) ** (exponent - len(decimals))
    return -number if match["sign"] == "-" else number


def settle_decimal_mark(cells: Iterable[Cell]) -> str | None:
    """Return the decimal mark that a table uses: `.`, `,`, or None if no cell tells.

    A cell tells if it has one reading only: `10.5` and `1,234.5` have a point, `10,5` and `1.234,5` a comma; so does
    `9.123` where a limit rules 9123 out.

    Raises:
        TableError: If cells of one table use different marks; names one of each.
    """
    found: dict[str, Cell] = {}
    for cell in cells:
        if "." in cell.text or "," in cell.text:
            mark = _mark_of(cell)
            if mark:
                found.setdefault(mark, cell)
        if len(found) > 1:
            point, comma = found["."], found[","]
            raise TableError(
                f"{point.where} has {point.text!r} with a decimal point, {comma.where} has {comma.text!r} with a "
                "decimal comma; write all numbers of a table in one way"
            )
    return next(iter(found), None)


def _mark_of(cell: Cell) -> str | None:
    plain = _PLAIN_GROUPS.sub("", cell.text.strip().translate(_MINUS))
    match = _NUMBER.fullmatch(plain)
    if match is None:
        return None
    body = match["body"]
    try:
        mark = _decimal_mark(body, grouped="exponent" if match["exponent"] is not None else _groups(cell.text))
    except NumberError:
        mark = next(mark for mark in ".," if mark in body)
        return mark if cell.limit is not None and int(body.replace(mark, "")) > cell.limit else None
    if mark:
        return mark
    grouped = next((mark for mark in ".," if mark in body), "")
    return _DECIMAL_OF[grouped] if grouped else None


def _decimal_mark(body: str, grouped: str) -> str:
    """Return the decimal mark of a text with a single reading, empty if it has none.

    Args:
        body: Digits, dots and commas.
        grouped: Not empty if neither dot nor comma can group the digits.

    Raises:
        NumberError: If it has two readings, or none.
    """
    marks = sorted((mark for mark in ".," if mark in body), key=body.rfind)
    if not marks:
        return ""
    last = marks[-1]
    if len(marks) == 2:
        if not grouped and body.count(last) == 1 and _GROUPED[marks[0]].fullmatch(body.partition(last)[0]):
            return last
        raise NumberError("not_a_number", f"{body[:40]!r} is no number")
    if body.count(last) == 1 and (grouped or not _GROUPED[last].fullmatch(body)):
        return last
    if body.count(last) > 1:
        if not grouped and _GROUPED[last].fullmatch(body):
            return ""
        raise NumberError("not_a_number", f"{body[:40]!r} is no number")
    whole = body.replace(last, "")
    raise NumberError(
        "ambiguous",
        f"{body[:40]!r} may be {body.replace(last, '.')} or {whole}; write it without a thousands mark, as {whole} or "
        f"{body.partition(last)[0]}",
    )


def _groups(text: str) -> str:
    """Return the first mark in a text that groups digits and means nothing else, or an empty text."""
    found = _PLAIN_GROUPS.search(text.strip())
    return found[0] if found else ""


def _is_whole(text: str, group: str) -> bool:
    return not text or text.isdigit() or _GROUPED[group].fullmatch(text) is not None
