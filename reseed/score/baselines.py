"""What would have been enough: the scores of simpler answers, and in words whether the network beats them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from reseed.artifacts.baselines import BASELINES
from reseed.artifacts.splits import TEST, VAL
from reseed.base.errors import TableError
from reseed.score.alpha import exact
from reseed.score.bootstrap import Difference, cluster_counts, paired_differences
from reseed.score.decisions import best_alpha, count_patches, frame_table
from reseed.score.evidence import Evidence, score_items
from reseed.score.registry import ANSWER, FRAME, HEADLINE, NAMES, PATCH, SCORES, Task, TaskScores, indices

WHOLE_IMAGE: Final = "whole_image"
NO_INTERVAL: Final = ", with no interval"

_SAME: Final = 1e-12


@dataclass(frozen=True)
class BaselineScore:
    """One baseline on the test split, beside the network.

    Args:
        key: As in BASELINES.
        name: For people.
        patch: Its patch scores; None if it answers no patches.
        frame: Its frame scores; None if no test frame has a reference.
        alpha: Threshold of its frame decisions, its own best on validation frames; None if it decides frames directly.
        gains: By task: macro F1 of the network minus its own, paired over the groups.
        not_run: Why it was not run; empty if it was.
    """

    key: str
    name: str
    patch: TaskScores | None
    frame: TaskScores | None
    alpha: float | None
    gains: dict[Task, Difference]
    not_run: str = ""

    def scores(self, task: Task) -> TaskScores | None:
        """Return the scores of `task`, None if there are none."""
        return self.patch if task == PATCH else self.frame


def score_baselines(evidence: Evidence) -> tuple[BaselineScore, ...]:
    """Score every baseline on the test split.

    Raises:
        TableError: If the baselines are of other patches or frames than the predictions.
    """
    return tuple(_score(evidence, key, name) for key, name in BASELINES.items())


def best_baseline(baselines: Sequence[BaselineScore], task: Task) -> BaselineScore | None:
    """Return the baseline of the highest macro F1, the first of equals; None if none answers the task."""
    ran = [entry for entry in baselines if entry.scores(task) is not None]
    return max(ran, key=lambda entry: _macro_f1(entry, task)) if ran else None


def verdict(evidence: Evidence, baselines: Sequence[BaselineScore], task: Task) -> str:
    """Say in one sentence whether the network beats the best baseline, and how sure that is."""
    own, best = evidence.scores[task][TEST], best_baseline(baselines, task)
    what = "Patch" if task == PATCH else "Frame"
    if own.n == 0:
        return f"No {task} score to compare: no test {task} has a reference."
    if best is None:
        return f"{what} macro F1 {100 * own.scores[HEADLINE]:.1f} %; no baseline was run to compare it with."
    gain = best.gains[task]
    mine, theirs = 100 * own.scores[HEADLINE], 100 * _macro_f1(best, task)
    points = f"{abs(mine - theirs):.1f} points"
    rival = f"the best baseline ({best.name}, {theirs:.1f} %)"
    if gain.difference <= _SAME:
        how = "the two are equal" if gain.difference >= -_SAME else f"it is {points} below"
        return f"{what} macro F1 {mine:.1f} % does NOT beat {rival}: {how}."
    if not gain.interval.available:
        return f"{what} macro F1 {mine:.1f} % is {points} above {rival}{NO_INTERVAL}: {gain.interval.reason}."
    low, high = 100 * gain.interval.low, 100 * gain.interval.high
    if low <= 0:
        return (
            f"{what} macro F1 {mine:.1f} % does NOT clearly beat {rival}: {points} above, but the 95 % interval of the "
            f"difference, {low:.1f} to {high:.1f}, holds 0."
        )
    return f"{what} macro F1 {mine:.1f} % beats {rival} by {points} (95 % interval {low:.1f} to {high:.1f})."


def _score(evidence: Evidence, key: str, name: str) -> BaselineScore:
    rows = evidence.context.baselines
    answers = {
        kind: dict(zip(part["item"], part["predicted"], strict=True))
        for kind, part in rows[rows["baseline"] == key].groupby("kind")
    }
    if not answers:
        why = "baselines.image is false" if key == WHOLE_IMAGE else "the training patches have fewer than two classes"
        return BaselineScore(key, name, None, None, None, {}, not_run=why)
    settings = evidence.context.settings
    gains: dict[Task, Difference] = {}
    patch = frame = None
    if "patch" in answers:
        patches = evidence.labelled_patches(TEST)
        predicted = _look_up(answers["patch"], patches["patch_id"], name)
        patch = score_items(PATCH, patches, settings, predicted)
        gains[PATCH] = _gain(evidence, PATCH, patches, predicted)
    frames, alpha = evidence.labelled_frames(TEST), None
    if len(frames):
        if "frame" in answers:
            decided = _look_up(answers["frame"], frames["frame_id"], name)
        else:
            decided, alpha = _decided_from_patches(evidence, answers["patch"], name)
        frame = score_items(FRAME, frames, settings, decided)
        gains[FRAME] = _gain(evidence, FRAME, frames, decided)
    return BaselineScore(key, name, patch, frame, alpha, gains)


def _look_up(answers: dict[str, str], items: pd.Series, name: str) -> pd.Series:
    missing = [item for item in items if item not in answers]
    if missing:
        raise TableError(
            f"data/predictions/baselines.csv: the baseline {name!r} has no answer for {len(missing)} of {len(items)} "
            f"items, first: {missing[0]}; run `dvc repro baselines`"
        )
    return items.map(answers)


def _decided_from_patches(evidence: Evidence, answers: dict[str, str], name: str) -> tuple[pd.Series, float]:
    """Decide the labelled test frames by the ratio rule, at the alpha that is best for this baseline on validation."""
    patches = evidence.patches[evidence.patches["split"].isin((VAL, TEST))]
    reference = evidence.frames[["frame_id", "gold"]].rename(columns={"gold": "label"})
    labels = reference[reference["label"] != ""].assign(gold=1)
    counts = count_patches(patches.assign(predicted=_look_up(answers, patches["patch_id"], name)), labels)
    best = best_alpha(counts)
    alpha = exact(evidence.alpha) if best is None else best
    decided = dict(zip(*frame_table(counts, alpha)[["frame_id", "decision"]].to_numpy().T, strict=True))
    return evidence.labelled_frames(TEST)["frame_id"].map(decided), float(alpha)


def _gain(evidence: Evidence, task: Task, items: pd.DataFrame, predicted: pd.Series) -> Difference:
    settings = evidence.context.settings
    gold, groups, k = indices(task, items["gold"], "gold"), list(items["group"]), len(NAMES[task])
    mine, theirs = (
        cluster_counts(groups, gold, indices(task, answer, "predicted"), k)
        for answer in (items[ANSWER[task]], predicted)
    )
    headline = {HEADLINE: SCORES[task][HEADLINE]}
    return paired_differences(theirs, mine, headline, settings.resamples, settings.seed)[HEADLINE]


def _macro_f1(entry: BaselineScore, task: Task) -> float:
    found = entry.scores(task)
    return -1.0 if found is None else found.scores[HEADLINE]
