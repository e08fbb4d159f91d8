"""Cross-validation by group: a network is trained and judged for every site or sequence that it never saw."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.patches import TEST, TRAIN, VAL
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS
from reseed.artifacts.table import Column
from reseed.base.classes import CLASSES
from reseed.base.errors import ReseedError, TableError
from reseed.engines.facts import facts_of_geometry
from reseed.engines.predictions import predict_all, prediction_rows
from reseed.network.checkpoint import trainings_folder
from reseed.network.epochs import EpochScore
from reseed.network.model import State
from reseed.network.patch_set import PatchSet, join_patches
from reseed.network.runtime import use_numerics
from reseed.network.training import repeat_params, train_network
from reseed.params.aggregate import AggregateParams
from reseed.params.predict import PredictParams
from reseed.params.train import TrainParams
from reseed.patches.splits import Fold
from reseed.score.bootstrap import intervals
from reseed.score.confusion import Counts
from reseed.score.decisions import decide_frames
from reseed.score.evidence import item_confusion, labelled
from reseed.score.registry import (
    FRAME,
    HEADLINE,
    NOT_AVAILABLE,
    PATCH,
    SCORES,
    TASKS,
    Task,
    as_intervals,
    as_trainings,
    class_key,
    percent,
    percent_if,
    percent_or_nan,
    score_trainings,
)

HELD_OUT: Final = (
    Column("group", "text", "the group that was held out"),
    Column("n_patches", "int", "its labelled patches"),
    *(Column(f"patch_{key}", "float", f"{entry.full_label} (percent)") for key, entry in SCORES[PATCH].items()),
    *(Column(f"{class_key(name)}_support", "int", f"labelled patches that are {name}") for name in CLASSES),
    Column("n_frames", "int", "its labelled frames"),
    *(Column(f"frame_{key}", "float", f"{entry.full_label} (percent)") for key, entry in SCORES[FRAME].items()),
    *(
        Column(f"{task}_{HEADLINE}_{what}", "float", f"{text} over the trainings of the fold (percent)")
        for task in TASKS
        for what, text in (("mean", "mean macro F1"), ("sd", "standard deviation (n - 1) of macro F1"))
    ),
    Column("alpha", "float", "threshold used; empty if none could be chosen"),
    Column("best_epoch", "int", "epoch that validation chose"),
    Column("val_macro_f1", "float", "patch macro F1 on the validation groups of the fold (percent)"),
    Column("train_frames", "int", "frames trained on"),
    Column("val_frames", "int", "frames that chose epoch and alpha"),
)


def pooled(task: Task, counts: Sequence[Counts], resamples: int, seed: int) -> dict[str, Any]:
    """Return the scores over all groups together, each predicted by the network that never saw it, with intervals.

    Args:
        task: `patch` or `frame`.
        counts: (K, K) confusion counts of each group.
        resamples: Of the bootstrap over groups.
        seed: Of the bootstrap.
    """
    tables = np.stack(counts)
    total = tables.sum(axis=0)
    n = int(total.sum())
    return {
        "n": n,
        **{name: percent_if(score(total), n) for name, score in SCORES[task].items()},
        "intervals": as_intervals(intervals(tables, SCORES[task], resamples, seed)),
    }


def spread(table: pd.DataFrame, column: str) -> dict[str, Any]:
    """Return mean, standard deviation (n - 1), lowest and highest over the groups that have the score."""
    known = table[table[column].notna()]
    if known.empty:
        return {"groups": 0, **dict.fromkeys(("mean", "sd", "lowest", "highest"), NOT_AVAILABLE)}
    values = known[column].to_numpy(dtype=np.float64)
    worst, best = known.iloc[int(values.argmin())], known.iloc[int(values.argmax())]
    return {
        "groups": len(values),
        "mean": round(float(values.mean()), 4),
        "sd": round(float(values.std(ddof=1)), 4) if len(values) > 1 else NOT_AVAILABLE,
        "lowest": round(float(worst[column]), 4),
        "lowest_group": str(worst["group"]),
        "highest": round(float(best[column]), 4),
        "highest_group": str(best["group"]),
    }


@dataclass(frozen=True)
class Packed:
    """The packed patches and what is known of them.

    Args:
        images: (N, H, W, 3) uint8, may be mapped from disk.
        geometry: How they were cut and resized, `data/patches/geometry.json`.
        index: Table PATCH_INDEX, N rows in the same order.
        labels: Table PATCH_LABELS.
        frame_labels: Table FRAME_LABELS.
    """

    images: NDArray[np.uint8]
    geometry: dict[str, Any]
    index: pd.DataFrame
    labels: pd.DataFrame
    frame_labels: pd.DataFrame


@dataclass(frozen=True)
class FoldParams:
    """The sections of params.yaml that shape a fold, and how many networks of the recipe are trained for each."""

    train: TrainParams
    repeats: int
    predict: PredictParams
    aggregate: AggregateParams


@dataclass(frozen=True)
class FoldResult:
    """What T trainings without one group gave; all but the counts is of the first.

    Args:
        group: The held-out group.
        patches: (T, 3, 3) confusion counts of its labelled patches, rows gold; all zero if it has none.
        frames: (T, 2, 2) confusion counts of its labelled frames; all zero if it has none or no alpha could be chosen.
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


def fold_row(result: FoldResult) -> dict[str, Any]:
    """Return the scores of one held-out group, columns HELD_OUT; no score of nothing."""
    patches, frames = result.patches[0], result.frames[0]
    n_patches, n_frames = int(patches.sum()), int(frames.sum())
    return {
        "group": result.group,
        "n_patches": n_patches,
        **{f"patch_{key}": percent_or_nan(entry(patches), n_patches) for key, entry in SCORES[PATCH].items()},
        **{f"{class_key(name)}_support": int(patches[index].sum()) for index, name in enumerate(CLASSES)},
        "n_frames": n_frames,
        **{f"frame_{key}": percent_or_nan(entry(frames), n_frames) for key, entry in SCORES[FRAME].items()},
        **_over_trainings(PATCH, result.patches),
        **_over_trainings(FRAME, result.frames),
        "alpha": float("nan") if result.alpha is None else result.alpha,
        "best_epoch": result.best_epoch,
        "val_macro_f1": percent(result.val_macro_f1),
        "train_frames": result.train_frames,
        "val_frames": result.val_frames,
    }


def _over_trainings(task: Task, tables: Counts) -> dict[str, float]:
    """Return mean and standard deviation of the headline over T trainings, (T, K, K) counts."""
    values, n = SCORES[task][HEADLINE](tables), int(tables[0].sum())
    sd = values.std(ddof=1) if len(values) > 1 else float("nan")
    return {
        f"{task}_{HEADLINE}_mean": percent_or_nan(values.mean(), n),
        f"{task}_{HEADLINE}_sd": percent_or_nan(sd, n),
    }


def crossval_report(
    group_by: str, results: Sequence[FoldResult], resamples: int, seed: int, *, synthetic: bool
) -> dict[str, Any]:
    """Return scores over all groups, their spread over groups and over trainings, and those of each fold, as JSON.

    Raises:
        TableError: If no patch of any group has a reference class.
    """
    table = pd.DataFrame([fold_row(result) for result in results])
    if not table["n_patches"].any():
        raise TableError("no patch of any group has a reference class, so there is nothing to score")
    tables: dict[Task, Counts] = {
        PATCH: np.stack([result.patches for result in results]),
        FRAME: np.stack([result.frames for result in results]),
    }
    return {
        "group": group_by,
        "synthetic": synthetic,
        "units": "scores in percent; alpha 0-1",
        **{task: pooled(task, list(tables[task][:, 0]), resamples, seed) for task in TASKS},
        "trainings": {
            "n": tables[PATCH].shape[1],
            **{
                task: as_trainings(score_trainings(task, tables[task], resamples, seed), int(tables[task][:, 0].sum()))
                for task in TASKS
            },
        },
        "spread": {name: spread(table, name) for name in ("patch_macro_f1", "frame_accuracy")},
        "folds": table.astype(object).where(table.notna(), NOT_AVAILABLE).to_dict("records"),
    }


def cross_validate(
    packed: Packed,
    folds: Sequence[Fold],
    params: FoldParams,
    start: State,
    tell: Callable[[FoldResult], None],
) -> list[FoldResult]:
    """Train and predict `params.repeats` times for each fold, with the seeds that stage repeats takes.

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
    use_numerics(params.train.numerics)
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
    runs = [
        _train(packed, patches, repeat_params(params.train, repeat), params, start) for repeat in range(params.repeats)
    ]
    held = {split: sum(value == split for value in fold.splits.values()) for split in (TRAIN, VAL)}
    best, held_out, decided = runs[0]
    return FoldResult(
        group=fold.group,
        patches=np.stack([item_confusion(PATCH, labelled(predictions, TEST)) for _, predictions, _ in runs]),
        frames=np.stack([item_confusion(FRAME, labelled(decisions, TEST)) for _, _, decisions in runs]),
        alpha=None if decided.empty else float(decided["alpha"].iloc[0]),
        best_epoch=best.epoch,
        val_macro_f1=best.val_macro_f1,
        train_frames=held[TRAIN],
        val_frames=held[VAL],
        predictions=held_out,
        decisions=decided,
    )


def _train(
    packed: Packed, patches: PatchSet, recipe: TrainParams, params: FoldParams, start: State
) -> tuple[EpochScore, pd.DataFrame, pd.DataFrame]:
    """Return the best epoch of one training, its answers to the held-out patches and its decisions there."""
    rows = patches.labelled(TRAIN), patches.labelled(VAL)
    trained = train_network(packed.images, patches.gold, *rows, recipe, start, keep=trainings_folder())
    facts = facts_of_geometry(packed.geometry, recipe.backbone, "", Path("models"))
    networks = trained.final.network, trained.without_val_network
    answers = predict_all(*networks, facts, packed.images, patches, params.predict)
    every = PATCH_PREDICTIONS.frame(prediction_rows(patches, answers.probabilities))
    predictions = every[every["split"].isin((VAL, TEST))].reset_index(drop=True)
    held_out = predictions[predictions["split"] == TEST].reset_index(drop=True)
    return trained.chosen.best, held_out, _decide(packed, predictions, params.aggregate)


def _decide(packed: Packed, predictions: pd.DataFrame, params: AggregateParams) -> pd.DataFrame:
    """Return the decisions on the held-out frames, as stage aggregate takes them; empty if no alpha can be chosen."""
    labelled_val = set(packed.frame_labels.loc[packed.frame_labels["gold"] == 1, "frame_id"]) & set(
        predictions.loc[predictions["split"] == VAL, "frame_id"]
    )
    if isinstance(params.alpha, str) and not labelled_val:
        return FRAME_PREDICTIONS.frame([])
    decided = decide_frames(predictions, packed.frame_labels, packed.index, params)
    return decided[decided["split"] == TEST].reset_index(drop=True)
