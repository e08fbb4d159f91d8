"""Human ceiling: how well one annotator scores against another, beside the network on the very same items."""

from dataclasses import dataclass
from typing import Literal

import pandas as pd

from reseed.artifacts.splits import TEST
from reseed.score.agreement import Agreement, agree
from reseed.score.evidence import Evidence, score_frames, score_patches
from reseed.score.metrics import class_indices, decision_indices
from reseed.score.scoring import FRAME, NAMES, PATCH, Task, TaskScores


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
    return [*_ceilings(evidence, PATCH), *_ceilings(evidence, FRAME)]


def _ceilings(evidence: Evidence, task: Literal["patch", "frame"]) -> list[Ceiling]:
    context = evidence.context
    labels = context.patch_labels if task == PATCH else context.frame_labels
    items = evidence.labelled_patches(TEST) if task == PATCH else evidence.labelled_frames(TEST)
    key = f"{task}_id"
    score, indices = (score_patches, class_indices) if task == PATCH else (score_frames, decision_indices)
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
            indices(both["gold"], "gold"),
            indices(answer, annotator),
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
                human=score(both, settings, answer),
                network=score(both, settings),
            )
        )
    return found
