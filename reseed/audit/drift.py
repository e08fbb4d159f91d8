"""Is a committed result near what a run of the same commit gives here? Another processor trains to other digits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from reseed.score.percent import NOT_AVAILABLE
from reseed.score.registry import FRAME, PATCH

# Counts of the data: the same data has the same, on any machine.
_EXACT: Final = (
    ("patch", "n"),
    ("frame", "n"),
    ("data", "synthetic"),
)
# Scores that other digits move; what is left of the frame scores follows from the same decisions.
_PATCH_SCORES: Final = ("macro_f1", "accuracy", "no_deploy_f1", "coral_f1", "deploy_f1")


@dataclass(frozen=True)
class Tolerance:
    """How far a rerun may be from the committed result.

    Args:
        patch_points: Each patch score, percent points.
        frames: Test frames by which the number of right decisions may differ.
    """

    patch_points: float
    frames: int


@dataclass(frozen=True)
class Drift:
    """One score of both.

    Args:
        score: Key, such as `patch.macro_f1`.
        committed: As the commit has it.
        rerun: As it came out here.
        allowed: What would be within the tolerance, in words.
        within: Whether it is.
    """

    score: str
    committed: Any
    rerun: Any
    allowed: str
    within: bool


def metric_drift(committed: Mapping[str, Any], rerun: Mapping[str, Any], tolerance: Tolerance) -> list[Drift]:
    """Compare two `metrics.json`.

    Args:
        committed: Of the commit.
        rerun: Of the run.
        tolerance: What may differ.

    Returns:
        One entry for each value that is held to something: counts, patch scores, frame accuracy.
    """
    found = []
    for group, name in _EXACT:
        a, b = _value(committed, group, name), _value(rerun, group, name)
        found.append(Drift(f"{group}.{name}", a, b, "equal", a == b and a is not None))
    found += [
        _score(committed, rerun, PATCH, name, tolerance.patch_points, f"{tolerance.patch_points:g} points")
        for name in _PATCH_SCORES
    ]
    n = _value(committed, FRAME, "n")
    points = 100 * tolerance.frames / n if isinstance(n, int) and n > 0 else 0.0
    allowed = f"{tolerance.frames} of {n} frames"
    found.append(_score(committed, rerun, FRAME, "accuracy", points, allowed))
    return found


def _score(
    committed: Mapping[str, Any], rerun: Mapping[str, Any], task: str, name: str, points: float, allowed: str
) -> Drift:
    a, b = _value(committed, task, name), _value(rerun, task, name)
    # Both are rounded to 4 decimals, so a difference may be off by one of the last.
    near = _is_number(a) and _is_number(b) and abs(float(a) - float(b)) <= points + 1e-4
    return Drift(f"{task}.{name}", a, b, allowed, near or a == b == NOT_AVAILABLE)


def _value(metrics: Mapping[str, Any], group: str, name: str) -> Any:
    scores = metrics.get(group)
    return scores.get(name) if isinstance(scores, Mapping) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
