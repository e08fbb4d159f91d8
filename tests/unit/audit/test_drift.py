import copy
from typing import Any

import pytest

from reseed.audit.drift import Tolerance, contradictions, metric_drift, tolerance_of

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
ALLOWED = Tolerance(patch_points=3.0, frame_points=12.5, said="two frames of 16")


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


# Frames: 10 No-Deploy and 6 Deploy, of which 4 are found: accuracy 14/16, precision 1, recall 2/3, F1 0.8;
# No-Deploy F1 is 2 * 10 / (10 + 12) = 10/11, so macro F1 is (10/11 + 4/5) / 2 = 0.854545.
# Patches: rows 4 0 0, 1 3 0, 0 0 2: F1 are 8/9, 6/7 and 1; accuracy 9/10; macro F1 0.915344.
HONEST: dict[str, Any] = {
    "patch": {
        "macro_f1": 91.5344,
        "accuracy": 90.0,
        "n": 10,
        "no_deploy_f1": 88.8889,
        "coral_f1": 85.7143,
        "deploy_f1": 100.0,
    },
    "frame": {
        "alpha": 0.35,
        "accuracy": 87.5,
        "macro_f1": 85.4545,
        "deploy_precision": 100.0,
        "deploy_recall": 66.6667,
        "deploy_f1": 80.0,
        "n": 16,
    },
    "validation": {"patch_macro_f1": 91.5344, "frame_macro_f1": 85.4545},
}


def detailed(name: str, counts: list[list[int]], **classes: dict[str, float]) -> dict[str, Any]:
    scores = {key: HONEST[name][key] for key in ("macro_f1", "accuracy", "n")}
    return {"confusion": {"counts": counts}, "classes": classes, **scores}


def details() -> dict[str, Any]:
    patch = detailed(
        "patch",
        [[4, 0, 0], [1, 3, 0], [0, 0, 2]],
        coral={"precision": 100.0, "recall": 75.0, "f1": 85.7143, "support": 4},
    )
    frame = detailed("frame", [[10, 0], [2, 4]], deploy={"precision": 100.0, "recall": 66.6667, "support": 6})
    return {
        "patch": {"test": patch, "val": copy.deepcopy(patch)},
        "frame": {"test": frame, "val": copy.deepcopy(frame)},
        "alpha": {"used": 0.35},
    }


def test_an_honest_result_does_not_contradict_itself() -> None:
    assert contradictions(HONEST, details()) == []
    assert contradictions(HONEST, {}) == []


@pytest.mark.parametrize(
    ("task", "change", "words"),
    [
        ("patch", {"macro_f1": 96.4344}, "mean of its class F1s is 91.5344"),
        ("patch", {"deploy_f1": 99.0}, "mean of its class F1s is 91.2011"),
        ("patch", {"accuracy": 92.0}, "no whole number of 10 items"),
        ("patch", {"n": 12}, "no whole number of 12 items"),
        ("patch", {"macro_f1": 130.0}, "allowed: 0 to 100"),
        ("frame", {"deploy_f1": 90.0}, "its precision and recall give 80.0000"),
        ("frame", {"deploy_recall": 100.0}, "its precision and recall give 100.0000"),
        ("frame", {"accuracy": 90.0}, "no whole number of 16 items"),
    ],
)
def test_scores_that_contradict_each_other_are_found_without_the_details(
    task: str, change: dict[str, Any], words: str
) -> None:
    found = contradictions(HONEST | {task: HONEST[task] | change}, {})
    assert any(words in each for each in found), found


@pytest.mark.parametrize(
    ("task", "change"),
    [
        ("frame", {"macro_f1": 100.0, "deploy_recall": 100.0, "deploy_f1": 100.0}),
        ("frame", {"accuracy": 93.75}),
        ("frame", {"alpha": 0.4}),
        ("patch", {"accuracy": 100.0}),
        ("patch", {"n": 20}),
        ("patch", {"no_deploy_f1": 90.8889, "coral_f1": 83.7143}),  # the mean is the same
        ("patch", {"accuracy": None}),
    ],
)
def test_scores_that_their_confusion_matrix_does_not_give_are_found(task: str, change: dict[str, Any]) -> None:
    assert contradictions(HONEST | {task: HONEST[task] | change}, details())


@pytest.mark.parametrize(
    ("task", "split", "path", "value"),
    [
        ("patch", "test", ("confusion", "counts"), [[4, 0, 0], [0, 4, 0], [0, 0, 2]]),
        ("patch", "test", ("confusion", "counts"), [[4, 0], [0, 4]]),
        ("patch", "test", ("confusion", "counts"), [[5, 0, -1], [1, 3, 0], [0, 0, 2]]),
        ("patch", "test", ("classes", "coral", "recall"), 80.0),
        ("patch", "test", ("classes", "coral", "support"), 5),
        ("frame", "val", ("macro_f1",), 90.0),
        ("frame", "val", ("n",), 17),
    ],
)
def test_details_that_contradict_themselves_are_found(
    task: str, split: str, path: tuple[str, ...], value: object
) -> None:
    changed = details()
    place = changed[task][split]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert contradictions(HONEST, changed)


def test_the_spread_is_that_of_the_trainings() -> None:
    known = details() | {"trainings": {"n": 3, "patch": {"macro_f1": {"values": [91.5344, 89.5344, 90.5344]}}}}
    patch = HONEST["patch"] | {"macro_f1_mean": 90.5344, "macro_f1_sd": 1.0}
    assert contradictions(HONEST | {"patch": patch}, known) == []
    for wrong in ({"macro_f1_mean": 91.0}, {"macro_f1_sd": 0.2}):
        assert contradictions(HONEST | {"patch": patch | wrong}, known)
    known["trainings"]["patch"]["macro_f1"]["values"][0] = 95.0
    assert contradictions(HONEST | {"patch": patch}, known)


def test_the_tolerance_is_the_measured_spread_where_the_record_has_it() -> None:
    scores = ("macro_f1", "accuracy", "no_deploy_f1", "coral_f1", "deploy_f1")
    trainings = {"n": 3, "patch": {name: {"sd": 0.5} for name in scores}, "frame": {"accuracy": {"sd": 2.0}}}
    measured = tolerance_of(METRICS, {"trainings": trainings})
    # t(2) at 0.975 is 4.302653; times sqrt(2) 6.084870.
    assert measured.patch_points == pytest.approx(0.5 * 6.084870)
    assert measured.frame_points == pytest.approx(2.0 * 6.084870)
    assert "3 trainings" in measured.said
    trainings["frame"] = {"accuracy": {"sd": 0.0}}
    assert tolerance_of(METRICS, {"trainings": trainings}).frame_points == 6.25  # one frame of 16
    for unknown in ({}, {"trainings": {"n": 1}}, {"trainings": {"n": 3, "patch": {"macro_f1": {"sd": "n/a"}}}}):
        alone = tolerance_of(METRICS, unknown)
        assert (alone.patch_points, alone.frame_points) == (5.0, 18.75)
        assert "its spread is not known" in alone.said
