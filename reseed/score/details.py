"""`metrics/metrics.json`, the few numbers compared from run to run, and `metrics/details.json`, the whole report."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from reseed.artifacts.leakage import leakage_sentence
from reseed.artifacts.patches import TEST, TRAIN, VAL
from reseed.base.classes import CLASSES, DEPLOY
from reseed.score.alpha_curve import average_precision, cheapest_alpha, expected_costs
from reseed.score.baselines import BaselineScore, best_baseline, human_ceiling, score_baselines, verdict
from reseed.score.bootstrap import Interval
from reseed.score.confusion import class_scores
from reseed.score.decisions import LOGISTIC, RATIO
from reseed.score.evidence import SCORED, Evidence, frames_per_split, score_items, split_reliability
from reseed.score.plots import ask_details, coral_cover, cover_errors
from reseed.score.registry import (
    FRAME,
    HEADLINE,
    NAMES,
    NOT_AVAILABLE,
    PATCH,
    SCORES,
    TASKS,
    Task,
    TaskScores,
    as_intervals,
    as_metrics,
    as_trainings,
    class_key,
    percent,
    percent_if,
    score_trainings,
)

UNITS: Final = (
    "scores, shares and cover in percent; n, support, predicted, confusion and clusters are counts; alpha and p 0-1, "
    "kappa -1 to 1, brier_score 0-2; low and high are 95 % intervals over the groups of the split"
)


def summarise(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """Return the content of `metrics/metrics.json`: test scores of the model, and their spread over trainings."""
    patch, frame = (evidence.scores[task][TEST] for task in TASKS)
    interval = patch.intervals[HEADLINE]
    scores, decided = as_metrics(patch), as_metrics(frame)
    return {
        PATCH: {
            HEADLINE: scores.pop(HEADLINE),
            **_over_trainings(evidence, PATCH),
            f"{HEADLINE}_low": percent_if(interval.low, interval.available),
            f"{HEADLINE}_high": percent_if(interval.high, interval.available),
            "accuracy": scores.pop("accuracy"),
            "n": scores.pop("n"),
            **scores,
        },
        FRAME: {
            "alpha": evidence.alpha,
            "accuracy": decided.pop("accuracy"),
            HEADLINE: decided.pop(HEADLINE),
            **_over_trainings(evidence, FRAME),
            **decided,
        },
        "data": {"synthetic": evidence.synthetic},
    }


def _over_trainings(evidence: Evidence, task: Task) -> dict[str, Any]:
    """Return mean and standard deviation of the headline over the trainings of the recipe."""
    values = SCORES[task][HEADLINE](evidence.training_tables(task, TEST).sum(axis=0))
    known = len(values) if evidence.scores[task][TEST].n else 0
    return {
        f"{HEADLINE}_mean": percent(values.mean()) if known else NOT_AVAILABLE,
        f"{HEADLINE}_sd": percent(values.std(ddof=1)) if known > 1 else NOT_AVAILABLE,
    }


def training_details(evidence: Evidence) -> dict[str, Any]:
    """Score every training of the recipe on test: how much of a score is luck of the training."""
    settings = evidence.context.settings
    tables = {task: evidence.training_tables(task, TEST) for task in TASKS}
    return {
        "n": tables[PATCH].shape[1],
        **{
            task: as_trainings(
                score_trainings(task, tables[task], settings.resamples, settings.seed), evidence.scores[task][TEST].n
            )
            for task in TASKS
        },
    }


def describe(evidence: Evidence) -> dict[str, Any]:
    """Return the content of `metrics/details.json`."""
    return {"units": UNITS, **{family: score(evidence) for family, score in DETAILS.items()}}


def baseline_details(evidence: Evidence) -> dict[str, Any]:
    """Score the simpler answers on test, and say in words whether the network beats them."""
    baselines = score_baselines(evidence)
    return {
        "verdict": {task: verdict(evidence, baselines, task) for task in TASKS},
        "best": {task: _best_baseline(best_baseline(baselines, task), task) for task in TASKS},
        **{entry.key: _baseline(entry) for entry in baselines},
    }


def rule_details(evidence: Evidence) -> dict[str, Any]:
    """Score both rules, whichever decides; on validation, where both were fitted, that is optimistic."""
    return {"used": evidence.rule, **{rule: _rule(evidence, rule) for rule in (RATIO, LOGISTIC)}}


def calibration_details(evidence: Evidence) -> dict[str, Any]:
    """Say how honest the probabilities of val and test are, and how they were calibrated."""
    return {
        **evidence.context.calibration,
        **{split: _calibrated(evidence, split) for split in SCORED},
    }


def coral_details(evidence: Evidence) -> dict[str, Any]:
    """Compare predicted with annotated coral cover over test frames, in percentage points of cover."""
    errors = cover_errors(coral_cover(evidence))
    return {
        "n_frames": errors.n,
        **{name: percent(getattr(errors, name)) for name in ("bias", "mae", "rmse")},
        "r2": NOT_AVAILABLE if np.isnan(errors.r2) else round(errors.r2, 4),
    }


def ceiling_details(evidence: Evidence) -> dict[str, Any] | str:
    """Set the network beside a second annotator, both scored against the reference on the same test items."""
    found = human_ceiling(evidence)
    if not found:
        return "no second annotator labelled what is scored here"
    return {
        task: [
            {
                "reference": entry.gold_annotator,
                "annotator": entry.annotator,
                "n": entry.agreement.n,
                "agreement": percent(entry.agreement.agreement),
                "kappa": _number(entry.agreement.kappa),
                "kappa_interval": _interval(entry.agreement.intervals["kappa"]),
                "human": as_metrics(entry.human),
                "network": as_metrics(entry.network),
            }
            for entry in found
            if entry.task == task
        ]
        for task in TASKS
    }


def patch_details(evidence: Evidence) -> dict[str, Any]:
    """Score the patches of val and test: per class, with the confusion and what is predicted of unlabelled patches."""
    return {split: _patch_split(evidence, split) for split in SCORED}


def frame_details(evidence: Evidence) -> dict[str, Any]:
    """Score the decisions on the frames of val and test."""
    return {split: _frame_split(evidence, split) for split in SCORED}


def alpha_details(evidence: Evidence) -> dict[str, Any]:
    """Compare the alpha used with the best of each split; the best on test is hindsight, never a choice."""
    return {
        "used": evidence.alpha,
        "best_on_validation": _best(evidence, VAL),
        "interval_on_validation": _interval(evidence.alpha_interval()),
        "best_on_test_in_hindsight": _best(evidence, TEST),
        "cost": _costs(evidence),
        "deploy_precision_recall_area": {split: _area(evidence, split) for split in SCORED},
    }


def data_details(evidence: Evidence) -> dict[str, Any]:
    """Name the data sources and count the frames of each split, rendered ones apart."""
    rendered = evidence.frames[evidence.frames["synthetic"] == 1]
    return {
        "synthetic": evidence.synthetic,
        "sources": [
            {
                "name": source.name,
                "kind": source.kind,
                "sha256": source.sha256,
                "pinned": source.pinned,
                "licence": source.licence,
                "synthetic": source.synthetic,
            }
            for source in evidence.sources
        ],
        "frames": frames_per_split(evidence),
        "patch_labels": {
            split: evidence.labelled_patches(split)["kind"].value_counts().sort_index().to_dict()
            for split in (TRAIN, VAL, TEST)
        },
        "synthetic_frames": {split: int((rendered["split"] == split).sum()) for split in (TRAIN, VAL, TEST)},
    }


def leakage_details(evidence: Evidence) -> dict[str, Any]:
    """Say what frames at the borders of splits have in common: shared seafloor inflates every score."""
    return {"in_words": leakage_sentence(evidence.context.leakage), **evidence.context.leakage}


# One line per family of scores.
DETAILS: Final[Mapping[str, Callable[[Evidence], Any]]] = {
    "patch": patch_details,
    "frame": frame_details,
    "trainings": training_details,
    "alpha": alpha_details,
    "ask": ask_details,
    "rules": rule_details,
    "baselines": baseline_details,
    "human_ceiling": ceiling_details,
    "calibration": calibration_details,
    "coral_cover": coral_details,
    "data": data_details,
    "leakage": leakage_details,
}


def _patch_split(evidence: Evidence, split: str) -> dict[str, Any]:
    everything = evidence.patches[evidence.patches["split"] == split]
    labelled = evidence.labelled_patches(split)
    return {
        "n": len(labelled),
        "unlabelled": len(everything) - len(labelled),
        "labels": evidence.label_kinds(split),
        **_scores(evidence.scores[PATCH][split], f"no patch of the {split} split has a reference class"),
        "intervals": _intervals(evidence.scores[PATCH][split]),
        "predicted_share": _shares(everything["predicted"]),
    }


def _frame_split(evidence: Evidence, split: str) -> dict[str, Any]:
    labelled = evidence.labelled_frames(split)
    n = int((evidence.frames["split"] == split).sum())
    return {
        "n": len(labelled),
        "unlabelled": n - len(labelled),
        **_scores(evidence.scores[FRAME][split], f"no frame of the {split} split has a reference decision"),
        "intervals": _intervals(evidence.scores[FRAME][split]),
    }


def _scores(result: TaskScores, without: str) -> dict[str, Any]:
    if result.n == 0:
        return {"scores": NOT_AVAILABLE, "reason": without}
    each, names = class_scores(result.confusion), NAMES[result.task]
    by_class = {f"{class_key(name)}_{score}" for name in names for score in ("precision", "recall", "f1")}
    return {
        **{key: percent(value) for key, value in result.scores.items() if key not in by_class},
        "classes": {
            class_key(name): {
                "precision": percent(each.precision[index]),
                "recall": percent(each.recall[index]),
                "f1": percent(each.f1[index]),
                "support": int(each.support[index]),
                "predicted": int(each.predicted[index]),
            }
            for index, name in enumerate(names)
        },
        "confusion": {
            "rows": "gold",
            "columns": "predicted",
            "order": list(names),
            "counts": result.confusion.tolist(),
        },
    }


def _shares(predicted: pd.Series) -> dict[str, float]:
    names = predicted.to_numpy(dtype=object)
    return {class_key(name): percent(np.mean(names == name)) if len(names) else 0.0 for name in CLASSES}


def _best(evidence: Evidence, split: str) -> dict[str, Any] | str:
    curve = evidence.curve(split)
    if curve.n == 0:
        return NOT_AVAILABLE
    best = curve.best()
    return {
        "alpha": float(best.alpha),
        "plateau": {"low": float(best.low), "high": float(best.high)},
        "frame_macro_f1": percent(best.score),
        "n": curve.n,
    }


def _costs(evidence: Evidence) -> dict[str, Any] | str:
    """Return the alpha of least expected cost on validation, and what it and the alpha used cost a test frame."""
    settings = evidence.context.settings
    if evidence.curve(VAL).n == 0:
        return NOT_AVAILABLE
    prices = (settings.cost_false_deploy, settings.cost_missed_deploy)
    val, test = evidence.curve(VAL), evidence.curve(TEST)
    on_val, on_test = expected_costs(val, *prices), expected_costs(test, *prices)
    cheapest = float(cheapest_alpha(val, on_val))
    at = np.isclose(val.alphas, cheapest)
    counts = evidence.scores[FRAME][TEST].confusion
    wrong = prices[0] * counts[0, 1] + prices[1] * counts[1, 0]
    decided = float(wrong / counts.sum()) if counts.sum() else float("nan")
    return {
        "false_deploy": settings.cost_false_deploy,
        "missed_deploy": settings.cost_missed_deploy,
        "cheapest_alpha_on_validation": cheapest,
        "validation_cost_per_frame": _number(float(on_val[at][0])),
        "test_cost_per_frame": _number(float(on_test[at][0])),
        "test_cost_per_frame_as_decided": _number(decided),
    }


def _area(evidence: Evidence, split: str) -> dict[str, Any]:
    patches, frames = evidence.labelled_patches(split), evidence.labelled_frames(split)
    areas = {
        "patches": average_precision((patches["gold"] == DEPLOY).to_numpy(), patches["p_deploy"].to_numpy()),
        "frames": average_precision(
            (frames["gold"] == DEPLOY).to_numpy(), (frames["deploy_count"] / frames["n_patches"]).to_numpy()
        ),
    }
    return {kind: NOT_AVAILABLE if np.isnan(area) else percent(area) for kind, area in areas.items()}


def _baseline(entry: BaselineScore) -> dict[str, Any]:
    if entry.not_run:
        return {"name": entry.name, "scores": "not run", "reason": entry.not_run}
    found: dict[str, Any] = {"name": entry.name}
    if entry.alpha is not None:
        found["alpha"] = entry.alpha
    for task in TASKS:
        scores = entry.scores(task)
        if scores is None:
            found[task] = NOT_AVAILABLE
            continue
        gain = entry.gains[task]
        found[task] = {
            **as_metrics(scores),
            "intervals": _intervals(scores),
            "network_minus_this": {
                HEADLINE: percent(gain.difference),
                **as_intervals({HEADLINE: gain.interval})[HEADLINE],
                "p": _number(gain.p),
            },
        }
    return found


def _best_baseline(entry: BaselineScore | None, task: Task) -> dict[str, Any] | str:
    scores = None if entry is None else entry.scores(task)
    if entry is None or scores is None:
        return NOT_AVAILABLE
    return {"name": entry.name, HEADLINE: percent(scores.scores[HEADLINE])}


def _rule(evidence: Evidence, rule: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for split in SCORED:
        frames = evidence.labelled_frames(split)
        answers = frames[f"{rule}_decision"]
        if (answers == "").any():
            return {"scores": NOT_AVAILABLE, "reason": "the labelled validation frames do not have both decisions"}
        scores = score_items(FRAME, frames, evidence.context.settings, answers)
        found[split] = {**as_metrics(scores), "intervals": _intervals(scores)} if scores.n else NOT_AVAILABLE
    return found


def _calibrated(evidence: Evidence, split: str) -> dict[str, Any] | str:
    found = split_reliability(evidence, split)
    if found is None:
        return NOT_AVAILABLE
    return {
        "n": int(found.n.sum()),
        "expected_calibration_error": percent(found.expected_error),
        "over_confidence": percent(found.over_confidence),
        "brier_score": _number(found.brier),
    }


def _interval(interval: Interval) -> dict[str, Any]:
    ends = {"low": _number(interval.low), "high": _number(interval.high), "clusters": interval.clusters}
    return (
        ends if interval.available else {**ends, "low": NOT_AVAILABLE, "high": NOT_AVAILABLE, "reason": interval.reason}
    )


def _intervals(scores: TaskScores) -> dict[str, Any] | str:
    """Return the intervals of all scores, or one reason if none has one."""
    reasons = {interval.reason for interval in scores.intervals.values()}
    if len(reasons) == 1 and "" not in reasons:
        return f"{NOT_AVAILABLE}: {reasons.pop()}"
    return as_intervals(scores.intervals)


def _number(value: float) -> float | str:
    return NOT_AVAILABLE if np.isnan(value) else round(float(value), 4)
