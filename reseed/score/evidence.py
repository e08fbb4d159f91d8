"""Everything the scores of one run are computed from, joined and checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.catalog import MACHINE, WEAK
from reseed.artifacts.patches import TEST, TRAIN, VAL
from reseed.artifacts.raw import RawSource
from reseed.base.classes import CLASS_INDEX
from reseed.base.errors import TableError
from reseed.params.evaluate import EvaluateParams
from reseed.score.alpha_curve import AlphaCurve, alpha_curve, alpha_interval
from reseed.score.bootstrap import Interval, cluster_counts
from reseed.score.calibration import Reliability, reliability
from reseed.score.confusion import Counts, class_indices, confusion_counts, decision_indices
from reseed.score.registry import ANSWER, NAMES, PATCH, TASKS, Task, TaskScores, indices, score_task

SCORED: Final = (VAL, TEST)
_PLACE = ["site", "sequence", "synthetic", "water_depth_m", "altitude_m"]
PROBABILITIES = ["p_no_deploy", "p_coral", "p_deploy"]
_LOWEST_PROBABILITY: Final = 1e-6  # a loss stays finite
_LIGHT = ["contrast", "blue_red_ratio"]


@dataclass(frozen=True)
class Context:
    """What a score is read against.

    Args:
        settings: Section `evaluate`.
        splits: Table SPLITS_TABLE: the groups are the clusters of the bootstrap.
        conditions: Table CONDITIONS.
        baselines: Table BASELINE_PREDICTIONS.
        patch_labels: Table PATCH_LABELS, every annotator.
        frame_labels: Table FRAME_LABELS, every annotator.
        calibration: Content of `calibration.json`.
        repeats: By task, the answers of the further trainings: REPEAT_PREDICTIONS and REPEAT_DECISIONS.
        leakage: Content of `leakage.json`: what frames of different splits have in common.
    """

    settings: EvaluateParams
    splits: pd.DataFrame
    conditions: pd.DataFrame
    baselines: pd.DataFrame
    patch_labels: pd.DataFrame
    frame_labels: pd.DataFrame
    calibration: dict[str, Any]
    repeats: Mapping[str, pd.DataFrame]
    leakage: Mapping[str, Any]


@dataclass(frozen=True)
class Evidence:
    """Predictions with their references, place and origin.

    Args:
        patches: Table PATCH_PREDICTIONS with group, site, sequence, synthetic, conditions and the kind of the reference
            label (empty if there is none), one row per patch.
        frames: Table FRAME_PREDICTIONS with the same but kind, one row per frame.
        sources: What was pulled.
        context: What the scores are read against.
        scores: By task (patch, frame) and split (val, test): the scores with their intervals.
    """

    patches: pd.DataFrame
    frames: pd.DataFrame
    sources: tuple[RawSource, ...]
    context: Context
    scores: Mapping[str, Mapping[str, TaskScores]]

    @property
    def alpha(self) -> float:
        """The threshold that was used."""
        return float(self.frames["alpha"].iloc[0])

    @property
    def rule(self) -> str:
        """The rule that decided: `ratio` or `logistic`."""
        return str(self.frames["rule"].iloc[0])

    @property
    def synthetic(self) -> bool:
        """Whether any frame that is scored (val or test) was rendered: then no score here is a field score."""
        return bool(self.frames.loc[self.frames["split"].isin(SCORED), "synthetic"].any())

    @property
    def machine(self) -> bool:
        """Whether any reference, also one that was learned from, is of a machine that no person confirmed."""
        gold = self.context.frame_labels[self.context.frame_labels["gold"] == 1]
        return bool((self.patches["kind"] == MACHINE).any() or (gold["kind"] == MACHINE).any())

    def label_kinds(self, split: str) -> str:
        """Return `weak` if patches of a split inherited the label of their frame, `machine`, both, or `annotated`."""
        weak = bool((self.labelled_patches(split)["kind"] == WEAK).any())
        return ", ".join(["weak"] * weak + ["machine"] * self.machine) or "annotated"

    def labelled_patches(self, split: str) -> pd.DataFrame:
        """Return the patches of `split` that have a reference class."""
        return labelled(self.patches, split)

    def labelled_frames(self, split: str) -> pd.DataFrame:
        """Return the frames of `split` that have a reference decision."""
        return labelled(self.frames, split)

    def labelled(self, task: Task, split: str) -> pd.DataFrame:
        """Return the patches or frames of `split` that have a reference."""
        return labelled(self.patches if task == PATCH else self.frames, split)

    def curve(self, split: str) -> AlphaCurve:
        """Score the labelled frames of `split` at every threshold."""
        frames = self.labelled_frames(split)
        gold = decision_indices(frames["gold"], "reference decisions")
        return alpha_curve(split, frames["deploy_count"].to_numpy(), frames["n_patches"].to_numpy(), gold)

    def training_tables(self, task: Task, split: str) -> Counts:
        """Return the (G, T, K, K) confusion counts of each group under each training of the recipe, the first first.

        Raises:
            TableError: If a training does not answer an item.
        """
        items, key = self.labelled(task, split), f"{task}_id"
        found = [items[ANSWER[task]]]
        for repeat, rows in self.context.repeats[task].groupby("repeat", sort=True):
            answers = dict(zip(rows[key], rows[ANSWER[task]], strict=True))
            lost = [item for item in items[key] if item not in answers]
            if lost:
                raise TableError(f"data/predictions: training {repeat} has no answer for {lost[0]}; run `dvc repro`")
            found.append(items[key].map(answers))
        gold, groups = indices(task, items["gold"], "gold"), list(items["group"])
        tables = [cluster_counts(groups, gold, indices(task, mine, ANSWER[task]), len(NAMES[task])) for mine in found]
        return np.stack(tables, axis=1)

    def alpha_interval(self) -> Interval:
        """Return the 95 % range of the alpha that resampled validation groups would choose."""
        frames, settings = self.labelled_frames(VAL), self.context.settings
        return alpha_interval(
            frames["deploy_count"].to_numpy(),
            frames["n_patches"].to_numpy(),
            decision_indices(frames["gold"], "reference decisions"),
            list(frames["group"]),
            settings.resamples,
            settings.seed,
        )


def labelled(table: pd.DataFrame, split: str) -> pd.DataFrame:
    """Return the rows of `split` that have a reference."""
    return table[(table["split"] == split) & (table["gold"] != "")]


def score_items(
    task: Task, items: pd.DataFrame, settings: EvaluateParams, answers: pd.Series | None = None
) -> TaskScores:
    """Score labelled patches or frames, with intervals over their groups.

    Args:
        task: Which.
        items: Rows of `Evidence.patches` or `Evidence.frames` that have a reference.
        settings: Number of resamples and their seed.
        answers: Other answers than those of the network, in the same order.
    """
    gold = indices(task, items["gold"], "gold")
    predicted = indices(task, items[ANSWER[task]] if answers is None else answers, ANSWER[task])
    return score_task(task, gold, predicted, list(items["group"]), settings.resamples, settings.seed)


def split_reliability(evidence: Evidence, split: str) -> Reliability | None:
    """Compare the probabilities of the labelled patches of `split` with what is true; None if there is none."""
    patches = evidence.labelled_patches(split)
    if patches.empty:
        return None
    return reliability(
        patches[PROBABILITIES].to_numpy(dtype=np.float64),
        class_indices(patches["gold"], "gold"),
        list(patches["group"]),
        evidence.context.settings.resamples,
        evidence.context.settings.seed,
    )


def with_kinds(patches: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Add to predictions how each reference label came about.

    Args:
        patches: Table PATCH_PREDICTIONS.
        labels: Table PATCH_LABELS; only rows with gold 1 count.

    Returns:
        `patches` with the column `kind`, empty where there is no reference label.
    """
    gold = labels[(labels["gold"] == 1) & (labels["label"] != "")]
    kind_of = dict(zip(gold["patch_id"], gold["kind"], strict=True))
    return patches.assign(kind=[kind_of.get(patch_id, "") for patch_id in patches["patch_id"]])


def item_confusion(task: Task, items: pd.DataFrame) -> Counts:
    """Return the (K, K) confusion counts of labelled patches or frames, rows gold, columns the answer."""
    answers = indices(task, items[ANSWER[task]], ANSWER[task])
    return confusion_counts(indices(task, items["gold"], "gold"), answers, len(NAMES[task]))


def gather(
    patches: pd.DataFrame,
    frames: pd.DataFrame,
    catalog: pd.DataFrame,
    sources: Sequence[RawSource],
    context: Context,
) -> Evidence:
    """Join predictions with the catalog and check that they belong together.

    Args:
        patches: Table PATCH_PREDICTIONS with the column `kind` of `with_kinds`.
        frames: Table FRAME_PREDICTIONS.
        catalog: Table FRAMES.
        sources: What was pulled, `data/raw.json`.
        context: What the scores are read against.

    Raises:
        TableError: If there is nothing to score, the two prediction tables are of different frames, a frame is not in
            the catalog or has no group, several thresholds were used, or no test patch has a reference class.
    """
    if patches.empty or frames.empty:
        raise TableError("no predictions to score; run `dvc repro predict aggregate`")
    _same(set(patches["frame_id"]), set(frames["frame_id"]), "data/predictions/frames.csv")
    _known(set(frames["frame_id"]), set(catalog["frame_id"]))
    if len(set(frames["alpha"])) != 1:
        raise TableError(
            f"data/predictions/frames.csv: {len(set(frames['alpha']))} values of alpha; run `dvc repro aggregate`"
        )
    place = (
        catalog.set_index("frame_id")[_PLACE]
        .join(context.splits.set_index("frame_id")["group"])
        .join(context.conditions.set_index("frame_id")[_LIGHT])
    )
    patches, frames = patches.join(place, on="frame_id"), frames.join(place, on="frame_id")
    if frames["group"].isna().any():
        lost = frames.loc[frames["group"].isna(), "frame_id"].iloc[0]
        raise TableError(f"data/catalog/splits.csv: no group for frame {lost}; run `dvc repro`")
    evidence = Evidence(
        patches=patches,
        frames=frames,
        sources=tuple(sources),
        context=context,
        scores={
            task: {split: score_items(task, labelled(items, split), context.settings) for split in SCORED}
            for task, items in zip(TASKS, (patches, frames), strict=True)
        },
    )
    if evidence.labelled_patches(TEST).empty:
        n = int((patches["split"] == TEST).sum())
        raise TableError(
            f"none of the {n} test patches has a reference class, so there is no score; "
            "label frames of the test split, or change split.* or extract.min_purity"
        )
    return evidence


def confident_mistakes(evidence: Evidence, count: int) -> pd.DataFrame:
    """Return the most confident wrong test patches, surest first, ties by patch_id.

    Args:
        evidence: The predictions.
        count: At most this many.

    Returns:
        Columns patch_id, frame_id, site, gold, predicted, probability (of the predicted class, 0-1).
    """
    ordered = surest_first(evidence.labelled_patches(TEST))
    columns = ["patch_id", "frame_id", "site", "gold", "predicted", "probability"]
    return ordered.head(count)[columns].reset_index(drop=True)


def surest_first(patches: pd.DataFrame) -> pd.DataFrame:
    """Return the wrong ones of labelled patches with the probability of what is predicted, surest first."""
    wrong = patches[patches["gold"] != patches["predicted"]]
    column = wrong["predicted"].map(CLASS_INDEX).to_numpy(dtype=np.int64)
    wrong = wrong.assign(probability=wrong[PROBABILITIES].to_numpy()[np.arange(len(wrong)), column])
    return wrong.sort_values(["probability", "patch_id"], ascending=[False, True], kind="stable")


def patch_losses(patches: pd.DataFrame) -> NDArray[np.float64]:
    """Return (N,) negative logarithms of the probability of the reference class; NaN where a patch has no label."""
    column = patches["gold"].map(CLASS_INDEX)
    known = column.notna().to_numpy()
    given = patches[PROBABILITIES].to_numpy(dtype=np.float64)
    of_gold = given[np.arange(len(patches)), column.fillna(0).to_numpy(dtype=np.int64)]
    return np.where(known, -np.log(np.maximum(of_gold, _LOWEST_PROBABILITY)), np.nan)


def patch_rows(mistakes: pd.DataFrame, index: pd.DataFrame, n_packed: int) -> NDArray[np.int64]:
    """Return the rows of `patches.npy` that show the mistakes.

    Args:
        mistakes: M rows with patch_id.
        index: Table PATCH_INDEX, in the order of `patches.npy`.
        n_packed: Length of `patches.npy`.

    Returns:
        (M,) positions.

    Raises:
        TableError: If the index does not describe the packed patches, or a patch is not in it.
    """
    if len(index) != n_packed:
        raise TableError(
            f"data/patches/index.csv lists {len(index)} patches, patches.npy holds {n_packed}; run `dvc repro extract`"
        )
    row_of = {patch: row for row, patch in enumerate(index["patch_id"])}
    lost = [patch for patch in mistakes["patch_id"] if patch not in row_of]
    if lost:
        raise TableError(f"data/patches/index.csv: no patch {lost[0]}; run `dvc repro`")
    return np.asarray([row_of[patch] for patch in mistakes["patch_id"]], dtype=np.int64)


def frames_per_split(evidence: Evidence) -> dict[str, int]:
    """Return how many frames each of train, val and test holds, labelled or not."""
    return {split: int((evidence.frames["split"] == split).sum()) for split in (TRAIN, VAL, TEST)}


def _same(in_patches: set[str], in_frames: set[str], where: str) -> None:
    differ = sorted(in_patches ^ in_frames)
    if differ:
        raise TableError(
            f"{where}: {len(differ)} frames are in only one of the prediction tables, first: {differ[0]}; "
            "run `dvc repro aggregate`"
        )


def _known(in_frames: set[str], in_catalog: set[str]) -> None:
    unknown = sorted(in_frames - in_catalog)
    if unknown:
        raise TableError(
            f"{len(unknown)} predicted frames are not in data/catalog/frames.csv, first: {unknown[0]}; run `dvc repro`"
        )
