"""Cross-validation by group: a network is trained and judged for every site or sequence that it never saw."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.predictions import FRAME_PREDICTIONS
from reseed.artifacts.splits import TEST, TRAIN, VAL
from reseed.base.classes import CLASSES, DECISIONS
from reseed.base.errors import ReseedError
from reseed.base.probabilities import predicted_classes
from reseed.network.fit import fit
from reseed.network.infer import predict_probabilities
from reseed.network.patch_set import PatchSet, join_patches
from reseed.network.runtime import reproducible
from reseed.network.state import State
from reseed.params.aggregate import AggregateParams
from reseed.params.predict import PredictParams
from reseed.params.train import TrainParams
from reseed.patches.folds import Fold
from reseed.score.aggregate import LOGISTIC, FrameCounts, count_patches, frame_table
from reseed.score.alpha import alpha_grid, choose, decisions_over, exact
from reseed.score.alpha_curve import alpha_curve
from reseed.score.confusion import Counts, confusion_counts
from reseed.score.logistic import logistic_decisions
from reseed.score.metrics import class_indices, decision_indices


@dataclass(frozen=True)
class Packed:
    """The packed patches and what is known of them.

    Args:
        images: (N, H, W, 3) uint8, may be mapped from disk.
        index: Table PATCH_INDEX, N rows in the same order.
        labels: Table PATCH_LABELS.
        frame_labels: Table FRAME_LABELS.
    """

    images: NDArray[np.uint8]
    index: pd.DataFrame
    labels: pd.DataFrame
    frame_labels: pd.DataFrame


@dataclass(frozen=True)
class FoldParams:
    """The sections of params.yaml that shape a fold."""

    train: TrainParams
    predict: PredictParams
    aggregate: AggregateParams


@dataclass(frozen=True)
class FoldResult:
    """What training without one group gave.

    Args:
        group: The held-out group.
        patches: (3, 3) confusion counts of its labelled patches, rows gold; all zero if it has none.
        frames: (2, 2) confusion counts of its labelled frames; all zero if it has none or no alpha could be chosen.
        alpha: Threshold used; None if it is auto and no validation frame is labelled.
        best_epoch: Epoch that validation chose.
        val_macro_f1: Patch macro F1 on validation, 0-1.
        train_frames: Frames trained on.
        val_frames: Frames that chose epoch and alpha.
        predictions: PATCH_PREDICTIONS columns, the patches of the held-out group.
        decisions: Table FRAME_PREDICTIONS, its frames; empty if there is no alpha.
    """

    group: str
    patches: Counts
    frames: Counts
    alpha: float | None
    best_epoch: int
    val_macro_f1: float
    train_frames: int
    val_frames: int
    predictions: pd.DataFrame
    decisions: pd.DataFrame


def cross_validate(
    packed: Packed,
    folds: Sequence[Fold],
    params: FoldParams,
    start: State,
    tell: Callable[[FoldResult], None],
) -> list[FoldResult]:
    """Train and predict once for each fold.

    Args:
        packed: The patches.
        folds: What to hold out.
        params: As for the stages train, predict and aggregate.
        start: Weights to start from, empty for random ones.
        tell: Called after each fold, as all of them can take hours.

    Raises:
        ReseedError: If a fold cannot be trained: names the group that was held out; or if `train.checkpoint` is set.
    """
    if params.train.checkpoint != "none":
        raise ReseedError(
            "train.checkpoint is set: a network that is taken over learns from no fold, so there is nothing to "
            "hold out; set train.checkpoint to none"
        )
    results = []
    for fold in folds:
        try:
            results.append(_run(packed, fold, params, start))
        except ReseedError as error:
            raise ReseedError(f"with {fold.group} held out: {error}") from error
        tell(results[-1])
    return results


def _run(packed: Packed, fold: Fold, params: FoldParams, start: State) -> FoldResult:
    splits = pd.DataFrame({"frame_id": list(fold.splits), "split": list(fold.splits.values())})
    patches = join_patches(packed.index, packed.labels, splits)
    trained = fit(packed.images, patches.gold, patches.labelled(TRAIN), patches.labelled(VAL), params.train, start)
    rows = np.flatnonzero(np.isin(patches.split.astype(str), (VAL, TEST))).astype(np.int64)
    with reproducible(params.predict.threads, 0, trained.device):
        probabilities = predict_probabilities(
            trained.network, packed.images, params.predict.batch_size, trained.device, rows
        )
    predictions = _table(patches, rows, probabilities)
    counts = count_patches(predictions, packed.frame_labels)
    alpha = _alpha(counts, params.aggregate)
    held_out = predictions[predictions["split"] == TEST].reset_index(drop=True)
    labelled = held_out[held_out["gold"] != ""]
    decided = _decide(packed, predictions, counts, alpha, params.aggregate.rule)
    known = decided[decided["gold"] != ""]
    held = {split: sum(value == split for value in fold.splits.values()) for split in (TRAIN, VAL)}
    return FoldResult(
        group=fold.group,
        patches=confusion_counts(
            class_indices(labelled["gold"], "gold"), class_indices(labelled["predicted"], "predicted"), len(CLASSES)
        ),
        frames=confusion_counts(
            decision_indices(known["gold"], "gold"), decision_indices(known["decision"], "decisions"), len(DECISIONS)
        ),
        alpha=None if alpha is None else float(alpha),
        best_epoch=trained.best.epoch,
        val_macro_f1=trained.best.val_macro_f1,
        train_frames=held[TRAIN],
        val_frames=held[VAL],
        predictions=held_out,
        decisions=decided,
    )


def _table(patches: PatchSet, rows: NDArray[np.int64], probabilities: NDArray[np.float64]) -> pd.DataFrame:
    names = np.asarray(patches.gold_names, dtype=object)
    return pd.DataFrame(
        {
            "patch_id": patches.patch_ids[rows],
            "frame_id": patches.frame_ids[rows],
            "split": patches.split[rows],
            "gold": names[rows],
            "p_no_deploy": probabilities[:, 0],
            "p_coral": probabilities[:, 1],
            "p_deploy": probabilities[:, 2],
            "predicted": np.asarray(CLASSES, dtype=object)[predicted_classes(probabilities)],
        }
    )


def _alpha(counts: FrameCounts, params: AggregateParams) -> Fraction | None:
    """Return the alpha of the parameters, or the best on the validation frames of the fold, as stage aggregate does."""
    if params.alpha != "auto":
        return exact(params.alpha)
    mask = counts.labelled(VAL)
    if not mask.any():
        return None
    grid = alpha_grid()
    deploys = decisions_over(counts.deploy_count[mask], counts.n_patches[mask], grid)
    curve = alpha_curve(VAL, grid, deploys, decision_indices(counts.gold[mask], "reference decisions"))
    return choose(grid, curve.scores.macro_f1)


def _decide(
    packed: Packed, predictions: pd.DataFrame, counts: FrameCounts, alpha: Fraction | None, rule: str
) -> pd.DataFrame:
    """Return the decisions on the held-out frames, as stage aggregate takes them."""
    if alpha is None:
        return FRAME_PREDICTIONS.frame([])
    logistic = logistic_decisions(predictions, packed.index, counts) if rule == LOGISTIC else None
    decided = frame_table(counts, alpha, rule, logistic)
    return decided[decided["split"] == TEST].reset_index(drop=True)
