from typing import Any

import pytest

from reseed.audit.drift import Tolerance, metric_drift

METRICS: dict[str, Any] = {
    "patch": {
        "macro_f1": 80.0,
        "accuracy": 81.0,
        "no_deploy_f1": 79.0,
        "coral_f1": 78.0,
        "deploy_f1": 83.0,
        "n": 436,
        "macro_f1_low": "n/a",
    },
    "frame": {"accuracy": 81.25, "alpha": 0.39, "n": 16},
    "data": {"synthetic": True},
}
ALLOWED = Tolerance(patch_points=3.0, frames=2)


def drifted(group: str, name: str, value: object) -> list[str]:
    other = METRICS | {group: METRICS[group] | {name: value}}
    return [each.score for each in metric_drift(METRICS, other, ALLOWED) if not each.within]


def test_the_same_scores_do_not_drift() -> None:
    found = metric_drift(METRICS, METRICS, ALLOWED)
    assert all(each.within for each in found)
    assert len(found) == 3 + 5 + 1


@pytest.mark.parametrize(
    ("group", "name", "value", "within"),
    [
        ("patch", "macro_f1", 83.0, True),
        ("patch", "macro_f1", 83.1, False),
        ("patch", "macro_f1", 77.0, True),
        ("patch", "macro_f1", 76.9, False),
        ("patch", "deploy_f1", 79.9, False),
        # one frame of 16 is 6.25 points
        ("frame", "accuracy", 93.75, True),
        ("frame", "accuracy", 68.75, True),
        ("frame", "accuracy", 62.5, False),
        # the data is the same on every machine
        ("patch", "n", 435, False),
        ("data", "synthetic", False, False),
        # alpha and what follows from the decisions are not held to anything
        ("frame", "alpha", 0.9, True),
        ("patch", "accuracy", "n/a", False),
        ("patch", "accuracy", None, False),
        ("patch", "accuracy", True, False),
    ],
)
def test_a_score_may_move_by_the_tolerance_and_no_further(group: str, name: str, value: object, within: bool) -> None:
    assert drifted(group, name, value) == ([] if within else [f"{group}.{name}"])


def test_a_score_that_neither_has_is_no_drift_and_one_that_vanished_is() -> None:
    without = METRICS | {"frame": {"accuracy": "n/a", "n": 0}}
    assert all(each.within for each in metric_drift(without, without, ALLOWED))
    assert {each.score for each in metric_drift(METRICS, {}, ALLOWED) if not each.within} >= {
        "patch.macro_f1",
        "data.synthetic",
    }
