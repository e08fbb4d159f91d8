"""What else would reach: simpler answers, and annotators against each other."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.patches import TEST, VAL
from reseed.artifacts.predictions import BASELINES
from reseed.base.classes import DEPLOY
from reseed.base.errors import TableError
from reseed.score.alpha import exact
from reseed.score.bootstrap import Difference, Interval, cluster_counts, intervals, paired_differences
from reseed.score.confusion import Counts, Shares, accuracy, macro_f1
from reseed.score.decisions import best_alpha, count_patches, frame_table
from reseed.score.evidence import Evidence, score_items
from reseed.score.matching import Key, frame_of, sorting
from reseed.score.registry import ANSWER, FRAME, HEADLINE, NAMES, PATCH, SCORES, TASKS, Task, TaskScores, indices


@dataclass(frozen=True)
class Agreement:
    """How far two answers to the same N items agree; fractions.

    Args:
        n: N.
        agreement: Share of items with the same answer, 0-1.
        kappa: Cohen's kappa, -1 to 1; NaN if both used one and the same class for everything.
        macro_f1: Macro F1 of the second scored against the first; the same the other way round.
        confusion: (K, K) counts, rows first, columns second.
        intervals: 95 % interval of `agreement`, `kappa` and `macro_f1`, over clusters of items.
    """

    n: int
    agreement: float
    kappa: float
    macro_f1: float
    confusion: Counts
    intervals: dict[str, Interval]


def cohen_kappa(counts: Counts) -> Shares:
    """Return Cohen's kappa, (observed - expected agreement) / (1 - expected agreement) (Cohen 1960).

    Args:
        counts: (..., K, K), rows first, columns second.

    Returns:
        (...,) from -1 to 1; NaN where both used one and the same class for everything, or there is no item.
    """
    counts = np.asarray(counts, dtype=np.float64)
    n = counts.sum(axis=(-2, -1))
    squared = n * n
    by_chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1)
    beyond = n * np.trace(counts, axis1=-2, axis2=-1) - by_chance  # both sides times n squared: integers
    out = np.full(n.shape, np.nan)
    return np.asarray(np.divide(beyond, squared - by_chance, out=out, where=squared > by_chance))


SHARES: Final = {"agreement": accuracy, "macro_f1": macro_f1}


def agree(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    clusters: Sequence[str] | NDArray[np.object_],
    n_classes: int,
    resamples: int,
    seed: int,
) -> Agreement:
    """Compare two answers to the same items.

    Args:
        first: (N,) class indices of one annotator, 0 to K - 1.
        second: (N,) class indices of the other, in the same order.
        clusters: (N,) what is drawn together for the intervals, such as the frame of a patch.
        n_classes: K.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        TableError: If there is no item, or the lengths or the indices do not fit.
    """
    if len(first) == 0:
        raise TableError("no item is labelled in both tables, so agreement cannot be computed")
    by_cluster = cluster_counts(clusters, first, second, n_classes)
    counts = by_cluster.sum(axis=0)
    return Agreement(
        n=int(counts.sum()),
        agreement=float(accuracy(counts)),
        kappa=float(cohen_kappa(counts)),
        macro_f1=float(macro_f1(counts)),
        confusion=counts,
        intervals=intervals(by_cluster, SHARES, resamples, seed)
        | intervals(by_cluster, {"kappa": cohen_kappa}, resamples, seed, limits=(-1.0, 1.0)),
    )


@dataclass(frozen=True)
class Ceiling:
    """One other annotator, on the test items that both annotators and the network answered.

    Args:
        task: `patch` or `frame`.
        gold_annotator: Whose labels are the reference.
        annotator: Who is scored against them.
        agreement: Percent agreement, kappa and confusion, gold first.
        human: Scores of the annotator against the reference.
        network: Scores of the network on the same items.
    """

    task: Task
    gold_annotator: str
    annotator: str
    agreement: Agreement
    human: TaskScores
    network: TaskScores


def human_ceiling(evidence: Evidence) -> list[Ceiling]:
    """Compare every other annotator with the reference; empty if there is only one, or nothing in common on test."""
    return [ceiling for task in TASKS for ceiling in _ceilings(evidence, task)]


def _ceilings(evidence: Evidence, task: Task) -> list[Ceiling]:
    context = evidence.context
    labels = context.patch_labels if task == PATCH else context.frame_labels
    items, key = evidence.labelled(task, TEST), f"{task}_id"
    reference = sorted(set(labels.loc[labels["gold"] == 1, "annotator"]))
    found = []
    for annotator in sorted(set(labels.loc[labels["gold"] == 0, "annotator"])):
        theirs = labels[(labels["annotator"] == annotator) & (labels["label"] != "")]
        answers = pd.Series(theirs["label"].to_numpy(), index=theirs[key].to_numpy())
        both = items[items[key].isin(answers.index)]
        if both.empty:
            continue
        answer = answers.loc[list(both[key])]
        settings = context.settings
        agreement = agree(
            indices(task, both["gold"], "gold"),
            indices(task, answer, annotator),
            list(both["group"]),
            len(NAMES[task]),
            settings.resamples,
            settings.seed,
        )
        found.append(
            Ceiling(
                task=task,
                gold_annotator=", ".join(reference),
                annotator=annotator,
                agreement=agreement,
                human=score_items(task, both, settings, answer),
                network=score_items(task, both, settings),
            )
        )
    return found


@dataclass(frozen=True)
class SecondLook:
    """One item that two annotators see differently.

    Args:
        key: The item.
        first: Label of the first annotator.
        second: Label of the second.
        frame: The frame it lies on; empty if the key does not tell.
        frame_disagreements: Items of that frame that they see differently.
        frame_items: Items of that frame that both labelled.
    """

    key: Key
    first: str
    second: str
    frame: str
    frame_disagreements: int
    frame_items: int


def second_looks(
    key_columns: Key, keys: Sequence[Key], first: Sequence[str], second: Sequence[str]
) -> tuple[SecondLook, ...]:
    """Return every disagreement, the most important first.

    Deploy against another class comes before No-Deploy against Coral, as only it can change a deployment; then the
    frames with the largest share of disagreement, where a rule of the protocol may be read differently; then by key.

    Args:
        key_columns: Names of the parts of a key.
        keys: (N,) items that both labelled.
        first: (N,) class names.
        second: (N,) class names.
    """
    frames = [frame_of(key_columns, key) or "" for key in keys]
    items = Counter(frames)
    against = Counter(frame for frame, a, b in zip(frames, first, second, strict=True) if a != b)
    looks = [
        SecondLook(key, a, b, frame, against[frame] if frame else 1, items[frame] if frame else 1)
        for key, a, b, frame in zip(keys, first, second, frames, strict=True)
        if a != b
    ]
    return tuple(sorted(looks, key=_worth))


def _worth(look: SecondLook) -> tuple[bool, float, tuple[tuple[int, int, str], ...]]:
    decides = DEPLOY in {look.first, look.second}
    return not decides, -look.frame_disagreements / look.frame_items, sorting(look.key)


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
