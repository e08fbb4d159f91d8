"""What one check of the audit found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PASS: Final = "PASS"  # noqa: S105
FAIL: Final = "FAIL"
NOT_CHECKED: Final = "NOT CHECKED"
DIFFERS: Final = "DIFFERS"


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Args:
        status: PASS, FAIL, NOT CHECKED or, of code, DIFFERS.
        reason: One line: what was compared, what is wrong, or why nothing was checked.
        findings: Everything that is wrong or missing, one line each.
        notes: What a reader should know and what is no failure.
        wanted: Whether it was to be done; what nobody asked for does not change the exit code.
    """

    status: str
    reason: str
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    wanted: bool = True


def judged(failures: Sequence[str], unchecked: Sequence[str], passed: str, notes: Sequence[str] = ()) -> Check:
    """Return FAIL if anything is wrong, else NOT CHECKED if anything could not be compared, else PASS.

    Args:
        failures: What is wrong.
        unchecked: What could not be compared.
        passed: The reason of a PASS.
        notes: See `Check`.
    """
    if failures:
        return Check(FAIL, _counted(failures), (*failures, *unchecked), tuple(notes))
    if unchecked:
        return Check(NOT_CHECKED, _counted(unchecked), tuple(unchecked), tuple(notes))
    return Check(PASS, passed, (), tuple(notes))


def _counted(lines: Sequence[str]) -> str:
    return lines[0] if len(lines) == 1 else f"{lines[0]} (and {len(lines) - 1} more)"
