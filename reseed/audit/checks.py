"""What one rung of the audit says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PASS: Final = "PASS"  # noqa: S105
FAIL: Final = "FAIL"
NOT_CHECKED: Final = "NOT CHECKED"


@dataclass(frozen=True)
class Rung:
    """One rung.

    Args:
        status: PASS, FAIL or NOT CHECKED.
        reason: One line: what was compared, what is wrong, or why nothing was checked.
        findings: Everything that is wrong or missing, one line each.
        notes: What a reader should know and what is no failure.
    """

    status: str
    reason: str
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def judged(failures: Sequence[str], unchecked: Sequence[str], passed: str, notes: Sequence[str] = ()) -> Rung:
    """Return FAIL if anything is wrong, else NOT CHECKED if anything could not be compared, else PASS.

    Args:
        failures: What is wrong.
        unchecked: What could not be compared.
        passed: The reason of a PASS.
        notes: See `Rung`.
    """
    if failures:
        return Rung(FAIL, _counted(failures), (*failures, *unchecked), tuple(notes))
    if unchecked:
        return Rung(NOT_CHECKED, _counted(unchecked), tuple(unchecked), tuple(notes))
    return Rung(PASS, passed, (), tuple(notes))


def _counted(lines: Sequence[str]) -> str:
    return lines[0] if len(lines) == 1 else f"{lines[0]} (and {len(lines) - 1} more)"
