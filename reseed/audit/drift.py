"""Is a committed result near what a run of the same commit gives here? Another processor trains to other digits."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.special import stdtrit

from reseed.artifacts.patches import TEST, VAL
from reseed.score.confusion import Counts, class_scores
from reseed.score.registry import FRAME, NAMES, NOT_AVAILABLE, PATCH, SCORES, TASKS, Task, class_key, percent

# Counts of the data: the same data has the same, on any machine.
_EXACT: Final = (
    ("patch", "n"),
    ("frame", "n"),
    ("data", "synthetic"),
)
# Scores that other digits move; what is left of the frame scores follows from the same decisions.
_ROUNDED: Final = 2e-4  # scores have 4 decimals, and those of classes as well
_PATCH_SCORES: Final = ("macro_f1", "accuracy", "no_deploy_f1", "coral_f1", "deploy_f1")


@dataclass(frozen=True)
class Tolerance:
    """How far a rerun may be from the committed result.

    Args:
        patch_points: Each patch score, percent points.
        frame_points: Frame accuracy, percent points.
        said: Where the two come from, in words.
    """

    patch_points: float
    frame_points: float
    said: str


# Where the record knows one training only: about twice what the demo moved between two processors
# (docs/pull_requests.md).
UNKNOWN_SPREAD_POINTS: Final = 5.0
_FRAMES: Final = 3
_SHARE: Final = 0.975  # both tails: one rerun of twenty of an honest result is further off


def tolerance_of(metrics: Mapping[str, Any], details: Mapping[str, Any]) -> Tolerance:
    """Return what a rerun may differ by: the measured run-to-run spread where the record has one.

    A frame is decided or not, so that at least one may differ.

    Args:
        metrics: `metrics.json` of the commit.
        details: `details.json` of the commit, whose `trainings` have each score of each training.
    """
    n_frames = _value(metrics, FRAME, "n")
    frame = 100 / n_frames if isinstance(n_frames, int) and n_frames > 0 else 0.0
    trainings = details.get("trainings")
    n = trainings.get("n") if isinstance(trainings, Mapping) else None
    spreads = {task: _spread(details, task) for task in TASKS}
    if isinstance(n, int) and n > 1 and None not in spreads.values():
        return Tolerance(
            apart_points(float(spreads[PATCH] or 0.0), n),
            max(frame, apart_points(float(spreads[FRAME] or 0.0), n)),
            f"the run-to-run spread of the {n} trainings that the commit records",
        )
    frames = min(_FRAMES, max(1, int(n_frames) // 5)) if frame else 0  # three of seven would allow anything
    return Tolerance(
        UNKNOWN_SPREAD_POINTS,
        frames * frame,
        f"{UNKNOWN_SPREAD_POINTS:g} points and {frames} frames: the commit records one training, "
        "its spread is not known",
    )


def apart_points(sd: float, n: int) -> float:
    """Return how far two trainings of a recipe lie apart: t(n - 1) * sqrt(2) * sd, exceeded by one pair of twenty.

    Args:
        sd: Standard deviation of a score over trainings, percent points.
        n: Number of trainings that it was measured on, at least 2.
    """
    return math.sqrt(2) * float(stdtrit(n - 1, _SHARE)) * sd


def _spread(details: Mapping[str, Any], task: str) -> float | None:
    """Return the largest standard deviation over trainings of the scores that are compared, in percent points."""
    scores = details["trainings"].get(task) if isinstance(details.get("trainings"), Mapping) else None
    compared = _PATCH_SCORES if task == PATCH else ("accuracy",)
    found = [scores[name].get("sd") for name in compared if isinstance(scores, Mapping) and name in scores]
    numbers = [float(value) for value in found if _is_number(value)]
    return max(numbers) if numbers and len(numbers) == len(compared) else None


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
        if a is None and b is None and group == "data":
            continue  # which counts of the data are recorded has changed, for both
        found.append(Drift(f"{group}.{name}", a, b, "equal", a == b and a is not None))
    found += [_score(committed, rerun, PATCH, name, tolerance.patch_points) for name in _PATCH_SCORES]
    found.append(_score(committed, rerun, FRAME, "accuracy", tolerance.frame_points))
    return found


def contradictions(metrics: Mapping[str, Any], details: Mapping[str, Any]) -> list[str]:
    """Return where the scores of one result contradict each other, in words; none in a result that was computed.

    Args:
        metrics: `metrics.json`.
        details: `details.json`, empty where there is none.
    """
    found = []
    for task in TASKS:
        scores = metrics.get(task)
        if not isinstance(scores, Mapping):
            found.append(f"metrics.json has no {task} scores")
            continue
        found += [f"{task}.{each}" for each in _impossible(task, scores)]
        for split in (TEST, VAL):
            detailed = _at(details, task, split)
            if isinstance(detailed, Mapping) and detailed:
                found += _against_counts(task, split, detailed)
        detailed = _at(details, task, TEST)
        if details and isinstance(detailed, Mapping):
            expected = _from_counts(task, detailed)
            found += [
                f"{task}.{each}" for each in _unlike(scores, expected, "its confusion matrix in details.json gives")
            ]
        found += _of_trainings(task, scores, details)
    for task in TASKS:  # as older results have it
        said, known = _value(metrics, "validation", f"{task}_macro_f1"), _at(details, task, VAL, "macro_f1")
        if None not in (said, known) and not _same(said, known):
            found.append(f"validation.{task}_macro_f1 is {said}, but details.json has {known}")
    alpha = _at(details, "alpha", "used")
    if alpha is not None and not _same(alpha, _value(metrics, FRAME, "alpha")):
        found.append(f"frame.alpha is {_value(metrics, FRAME, 'alpha')}, but details.json has {alpha}")
    return found


def _impossible(task: Task, scores: Mapping[str, Any]) -> Iterator[str]:
    """Yield what cannot be of the scores of a task, whatever the answers were."""
    for name, value in scores.items():
        if _is_number(value) and (name in SCORES[task] or "macro_f1" in name) and not 0 <= float(value) <= 100:
            yield f"{name} is {value}; allowed: 0 to 100"
    each = [scores.get(f"{class_key(name)}_f1") for name in NAMES[task]]
    if all(map(_is_number, each)) and _is_number(scores.get("macro_f1")):
        mean = sum(map(float, each)) / len(each)  # type: ignore[arg-type]  # all are numbers
        if abs(mean - float(scores["macro_f1"])) > _ROUNDED:
            yield f"macro_f1 is {scores['macro_f1']}, but the mean of its class F1s is {mean:.4f}"
    precision, recall, f1 = (scores.get(f"deploy_{name}") for name in ("precision", "recall", "f1"))
    if task == FRAME and all(map(_is_number, (precision, recall, f1))):
        whole = float(precision) + float(recall)  # type: ignore[arg-type]
        mean = 2 * float(precision) * float(recall) / whole if whole else 0.0  # type: ignore[arg-type]
        if abs(mean - float(f1)) > _ROUNDED:  # type: ignore[arg-type]
            yield f"deploy_f1 is {f1}, but its precision and recall give {mean:.4f}"
    n, accuracy = scores.get("n"), scores.get("accuracy")
    if isinstance(n, int) and n > 0 and _is_number(accuracy):
        right = float(accuracy) * n / 100  # type: ignore[arg-type]
        if abs(right - round(right)) > _ROUNDED * n / 100 + 1e-9:
            yield f"accuracy is {accuracy}, which is no whole number of {n} items"


def _from_counts(task: Task, detailed: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return every score of the confusion matrix in a section of details.json; None where it holds none."""
    counts = _counts(task, detailed)
    if counts is None:
        return None
    n = int(counts.sum())
    return {
        "n": n,
        **{name: percent(float(score(counts))) if n else NOT_AVAILABLE for name, score in SCORES[task].items()},
    }


def _counts(task: Task, detailed: Mapping[str, Any]) -> Counts | None:
    given, size = _at(detailed, "confusion", "counts"), len(NAMES[task])
    try:
        counts = np.asarray(given, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        return None
    return counts if counts.shape == (size, size) and (counts >= 0).all() else None


def _against_counts(task: Task, split: str, detailed: Mapping[str, Any]) -> list[str]:
    """Return where a section of details.json contradicts its own confusion matrix."""
    where, counts = f"details.json {task} {split}", _counts(task, detailed)
    if counts is None:
        return [f"{where} holds no confusion matrix of {len(NAMES[task])} classes"]
    expected = _from_counts(task, detailed) or {}
    found = [
        f"{where}: {each}"
        for each in _unlike(
            detailed, {k: v for k, v in expected.items() if k in detailed}, "its confusion matrix gives"
        )
    ]
    scores = class_scores(counts)
    for index, name in enumerate(NAMES[task]):
        own = _at(detailed, "classes", class_key(name))
        if not isinstance(own, Mapping):
            continue
        of_class: dict[str, Any] = {
            score: percent(float(getattr(scores, score)[index])) for score in ("precision", "recall", "f1")
        } | {count: int(getattr(scores, count)[index]) for count in ("support", "predicted")}
        known = {key: value for key, value in of_class.items() if key in own and _is_number(own[key])}
        found += [f"{where}, {name}: {each}" for each in _unlike(own, known, "its confusion matrix gives")]
    return found


def _unlike(said: Mapping[str, Any], expected: Mapping[str, Any] | None, gives: str) -> list[str]:
    if expected is None:
        return []
    return [
        f"{name} is {said.get(name)}, but {gives} {value}"
        for name, value in expected.items()
        if not _same(said.get(name), value)
    ]


def _of_trainings(task: Task, scores: Mapping[str, Any], details: Mapping[str, Any]) -> list[str]:
    """Return where the spread over trainings is not that of the trainings, or the first is not the one scored."""
    found = []
    for name in SCORES[task]:
        known = _at(details, "trainings", task, name)
        values = known.get("values") if isinstance(known, Mapping) else None
        if not isinstance(values, list) or not values or not all(map(_is_number, values)):
            continue
        expected = {name: values[0], f"{name}_mean": float(np.mean(values))}
        if len(values) > 1:
            expected[f"{name}_sd"] = float(np.std(values, ddof=1))
        expected = {key: value for key, value in expected.items() if key in scores}
        found += [f"{task}.{each}" for each in _unlike(scores, expected, "the trainings in details.json give")]
    return found


def _score(committed: Mapping[str, Any], rerun: Mapping[str, Any], task: str, name: str, points: float) -> Drift:
    allowed = f"{points:.4g} points"
    a, b = _value(committed, task, name), _value(rerun, task, name)
    # Both are rounded to 4 decimals, so a difference may be off by one of the last.
    near = _is_number(a) and _is_number(b) and abs(float(a) - float(b)) <= points + 1e-4
    return Drift(f"{task}.{name}", a, b, allowed, near or a == b == NOT_AVAILABLE)


def _value(metrics: Mapping[str, Any], group: str, name: str) -> Any:
    scores = metrics.get(group)
    return scores.get(name) if isinstance(scores, Mapping) else None


def _at(values: Any, *keys: str) -> Any:
    for key in keys:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def _same(a: Any, b: Any) -> bool:
    if _is_number(a) and _is_number(b):
        return abs(float(a) - float(b)) <= _ROUNDED
    return bool(a == b)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
