"""From the patches of a frame to its deployment decision: counts, the settled alpha, the rule."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.patches import VAL
from reseed.artifacts.predictions import FRAME_PREDICTIONS, REPEAT_DECISIONS
from reseed.base.classes import CLASSES, CORAL, DECISIONS, DEPLOY, NO_DEPLOY
from reseed.base.errors import TableError
from reseed.params.aggregate import AggregateParams
from reseed.score.alpha import decisions, exact
from reseed.score.alpha_curve import AlphaCurve, alpha_curve
from reseed.score.calibration import fit_rule, frame_features
from reseed.score.confusion import decision_indices
from reseed.score.promise import CONFIDENT, FRAME, MILLION, doubtful_from, lowest_alpha, shares

AUTO: Final = "auto"
RATIO: Final = "ratio"
LOGISTIC: Final = "logistic"


@dataclass(frozen=True)
class FrameCounts:
    """What the classifier says of each frame, counted; no threshold yet.

    Args:
        frame_id: (N,) frames, sorted.
        split: (N,) train, val, test or none.
        n_patches: (N,) patches of the frame, at least 1.
        deploy_count: (N,) patches predicted Deploy.
        coral_count: (N,) patches predicted Coral.
        gold: (N,) reference decision, empty where the frame has no label.
    """

    frame_id: NDArray[np.object_]
    split: NDArray[np.object_]
    n_patches: NDArray[np.int64]
    deploy_count: NDArray[np.int64]
    coral_count: NDArray[np.int64]
    gold: NDArray[np.object_]

    def labelled(self, split: str) -> NDArray[np.bool_]:
        """Return (N,) True for the frames of `split` that have a reference decision."""
        return np.asarray((self.split == split) & (self.gold != ""), dtype=np.bool_)

    def curve(self, split: str) -> AlphaCurve:
        """Score the labelled frames of `split` at every threshold."""
        mask = self.labelled(split)
        gold = decision_indices(self.gold[mask], "reference decisions")
        return alpha_curve(split, self.deploy_count[mask], self.n_patches[mask], gold)


def count_patches(predictions: pd.DataFrame, frame_labels: pd.DataFrame) -> FrameCounts:
    """Count the predicted classes of each frame and look up its reference decision.

    Args:
        predictions: Table PATCH_PREDICTIONS.
        frame_labels: Table FRAME_LABELS; only the rows with `gold` 1 are used.

    Raises:
        TableError: If there are no predictions, a predicted class or a reference decision is unknown, the patches of
            one frame carry different splits, or a frame has two reference decisions.
    """
    if predictions.empty:
        raise TableError("data/predictions/patches.csv holds no patch; run `dvc repro predict`")
    unknown = sorted(set(predictions["predicted"]) - set(CLASSES))
    if unknown:
        raise TableError(f"predicted class {unknown[0]!r} is unknown; allowed: {', '.join(CLASSES)}")
    by_frame = predictions.groupby("frame_id", sort=True)
    splits = by_frame["split"].agg(["nunique", "first"])
    torn = splits.index[splits["nunique"] > 1]
    if len(torn):
        names = sorted(set(predictions.loc[predictions["frame_id"] == torn[0], "split"]))
        raise TableError(
            f"{len(torn)} frames have patches in several splits, first: {torn[0]} in {', '.join(names)}; "
            "a frame is never divided, run `dvc repro split predict`"
        )
    frame_id = splits.index.to_numpy(dtype=object)
    return FrameCounts(
        frame_id=frame_id,
        split=splits["first"].to_numpy(dtype=object),
        n_patches=np.asarray(by_frame.size(), dtype=np.int64),
        deploy_count=_count(predictions, DEPLOY),
        coral_count=_count(predictions, CORAL),
        gold=_reference(frame_labels, frame_id),
    )


def best_alpha(counts: FrameCounts) -> Fraction | None:
    """Return the alpha of the best frame macro F1 on validation frames, in the middle of its plateau; None without any.

    The only place where an alpha is chosen: for the network, for a fold, and where the choice is checked.
    """
    curve = counts.curve(VAL)
    return curve.best().alpha if curve.n else None


def decide_frames(
    predictions: pd.DataFrame,
    frame_labels: pd.DataFrame,
    index: pd.DataFrame,
    params: AggregateParams,
    splits: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Settle alpha and decide every frame.

    Args:
        predictions: Table PATCH_PREDICTIONS.
        frame_labels: Table FRAME_LABELS.
        index: Table PATCH_INDEX.
        params: Section `aggregate`.
        splits: Table SPLITS, for an alpha that is guaranteed by group.

    Returns:
        Table FRAME_PREDICTIONS.

    Raises:
        TableError: If alpha is auto and no validation frame has a reference decision, too few have one for an alpha
            that is guaranteed, or the tables do not fit.
    """
    counts = count_patches(predictions, frame_labels)
    if params.guaranteed is not None:
        alpha = guaranteed_alpha(counts, params, splits)
    else:
        alpha = best_alpha(counts) if isinstance(params.alpha, str) else exact(params.alpha)
    if alpha is None:
        raise TableError(
            f"aggregate.alpha is auto, but none of the {int(np.sum(counts.split == VAL))} validation frames has a "
            "frame label; set aggregate.alpha to a number from 0 to 1, or label validation frames"
        )
    return frame_table(counts, alpha, params.rule, logistic_decisions(predictions, index, counts))


def guaranteed_alpha(counts: FrameCounts, params: AggregateParams, splits: pd.DataFrame | None) -> Fraction | None:
    """Return the lowest alpha that keeps a promise about wrong drops on the validation frames, None for no promise.

    Raises:
        TableError: If too few frames or groups are labelled, their groups are not known, or alpha decides nothing.
    """
    if params.guaranteed is None:
        return None
    target, _ = params.guaranteed
    if params.rule != RATIO:
        raise TableError(
            f"aggregate.alpha is {params.alpha}, but aggregate.rule {params.rule} has no alpha; set {RATIO}"
        )
    share, wrong, groups = _promised_units(counts, params, splits)
    promise = FRAME if params.may_fail is None else CONFIDENT
    return Fraction(lowest_alpha(promise, share, wrong, target, params.may_fail or target, groups), MILLION)


def doubted_alpha(
    predictions: pd.DataFrame, frame_labels: pd.DataFrame, params: AggregateParams, splits: pd.DataFrame
) -> Fraction | None:
    """Return the alpha that the labelled validation frames alone would allow, see `doubtful_from`; None for no promise.

    Args:
        predictions: Table PATCH_PREDICTIONS.
        frame_labels: Table FRAME_LABELS.
        params: Section `aggregate`.
        splits: Table SPLITS_TABLE.
    """
    if params.guaranteed is None:
        return None
    share, wrong, groups = _promised_units(count_patches(predictions, frame_labels), params, splits)
    return Fraction(doubtful_from(share, wrong, params.guaranteed[0], groups), MILLION)


def _promised_units(
    counts: FrameCounts, params: AggregateParams, splits: pd.DataFrame | None
) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[str] | None]:
    """Return share, whether a drop would be wrong, and group of each labelled validation frame; no groups by frame."""
    by_group = params.guaranteed is not None and params.guaranteed[1]
    if by_group and splits is None:
        raise TableError(f"aggregate.alpha is {params.alpha}, but groups are not known here; set it to a number")
    val = counts.labelled(VAL)
    group_of = {} if splits is None else dict(zip(splits["frame_id"], splits["group"], strict=True))
    groups = [group_of[name] for name in counts.frame_id[val]] if by_group else None
    wrong = np.asarray(counts.gold[val] == NO_DEPLOY, dtype=np.bool_)
    return shares(counts.deploy_count[val], counts.n_patches[val]), wrong, groups


def decide_repeats(
    predictions: pd.DataFrame,
    repeats: pd.DataFrame,
    frame_labels: pd.DataFrame,
    index: pd.DataFrame,
    params: AggregateParams,
    splits: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Decide every frame by each further training of the recipe, each at an alpha of its own if that is auto.

    Args:
        predictions: Table PATCH_PREDICTIONS, of the first training.
        repeats: Table REPEAT_PREDICTIONS, of the others; may be empty.
        frame_labels: Table FRAME_LABELS.
        index: Table PATCH_INDEX.
        params: Section `aggregate`.
        splits: As for `decide_frames`.

    Returns:
        Table REPEAT_DECISIONS.

    Raises:
        TableError: If a training does not answer exactly the patches of the first.
    """
    found = [
        decide_frames(answers, frame_labels, index, params, splits).assign(repeat=repeat)
        for repeat, answers in repeated_predictions(predictions, repeats).items()
    ]
    names = REPEAT_DECISIONS.names
    return pd.concat(found)[names].reset_index(drop=True) if found else REPEAT_DECISIONS.frame([])


def repeated_predictions(predictions: pd.DataFrame, repeats: pd.DataFrame) -> dict[int, pd.DataFrame]:
    """Return the predictions of each further training, in the rows and with the columns of the first but probabilities.

    Raises:
        TableError: If a training does not answer exactly the patches of the first.
    """
    found = {}
    for repeat, rows in repeats.groupby("repeat", sort=True):
        answer = dict(zip(rows["patch_id"], rows["predicted"], strict=True))
        if answer.keys() != set(predictions["patch_id"]):
            raise TableError(
                f"data/predictions/repeats.csv: training {repeat} answers other patches than "
                "data/predictions/patches.csv holds; run `dvc repro`"
            )
        found[int(str(repeat))] = predictions.assign(predicted=predictions["patch_id"].map(answer))
    return found


def logistic_decisions(predictions: pd.DataFrame, index: pd.DataFrame, counts: FrameCounts) -> NDArray[np.bool_] | None:
    """Fit the logistic rule on the labelled validation frames and decide every frame by it.

    Args:
        predictions: Table PATCH_PREDICTIONS.
        index: Table PATCH_INDEX.
        counts: The N frames of `predictions`.

    Returns:
        (N,) True for Deploy; None if the validation frames do not have both decisions.

    Raises:
        TableError: If a predicted patch is not in the index.
    """
    names, features = frame_features(predictions, index)
    assert (names == counts.frame_id).all()  # both sorted
    val = counts.labelled(VAL)
    rule = fit_rule(features[val], np.asarray(counts.gold[val] == DEPLOY))
    return None if rule is None else rule.deploys(features)


def frame_table(
    counts: FrameCounts, alpha: Fraction, rule: str = RATIO, logistic: NDArray[np.bool_] | None = None
) -> pd.DataFrame:
    """Decide every frame.

    Args:
        counts: N frames.
        alpha: Threshold of the ratio rule, 0 to 1.
        rule: `ratio` or `logistic`, which of the two decides.
        logistic: (N,) True where the logistic rule says Deploy; None if it could not be fitted.

    Returns:
        Table FRAME_PREDICTIONS, N rows; the ratios are for people, the ratio rule decides by the counts.

    Raises:
        TableError: If the rule is logistic and could not be fitted.
    """
    if rule == LOGISTIC and logistic is None:
        raise TableError(
            "aggregate.rule is logistic, but the labelled validation frames do not have both decisions to fit it on; "
            "set aggregate.rule to ratio, or label more validation frames"
        )
    by_ratio = _names(decisions(counts.deploy_count, counts.n_patches, alpha))
    by_logistic = np.full(len(by_ratio), "", dtype=object) if logistic is None else _names(logistic)
    table = pd.DataFrame(
        {
            "frame_id": counts.frame_id,
            "split": counts.split,
            "n_patches": counts.n_patches,
            "deploy_count": counts.deploy_count,
            "coral_count": counts.coral_count,
            "deploy_ratio": counts.deploy_count / counts.n_patches,
            "coral_cover": counts.coral_count / counts.n_patches,
            "decision": by_logistic if rule == LOGISTIC else by_ratio,
            "gold": counts.gold,
            "alpha": float(alpha),
            "rule": rule,
            "familiarity": np.nan,
            "ask": "",
            "ratio_decision": by_ratio,
            "logistic_decision": by_logistic,
        }
    )
    return table[FRAME_PREDICTIONS.names]


def _names(deploys: NDArray[np.bool_]) -> NDArray[np.object_]:
    return np.where(deploys, DEPLOY, NO_DEPLOY).astype(object)


def _count(predictions: pd.DataFrame, name: str) -> NDArray[np.int64]:
    hits = (predictions["predicted"] == name).groupby(predictions["frame_id"], sort=True).sum()
    return np.asarray(hits, dtype=np.int64)


def _reference(frame_labels: pd.DataFrame, frame_id: NDArray[np.object_]) -> NDArray[np.object_]:
    gold = frame_labels[frame_labels["gold"] == 1]
    unknown = gold[~gold["label"].isin(DECISIONS)]
    if len(unknown):
        row = unknown.iloc[0]
        raise TableError(
            f"data/catalog/frame_labels.csv, {row['frame_id']}: label {row['label']!r} is neither decision; "
            f"allowed: {', '.join(DECISIONS)}"
        )
    twice = gold[gold.duplicated("frame_id")]
    if len(twice):
        raise TableError(
            f"data/catalog/frame_labels.csv, {twice.iloc[0]['frame_id']}: two reference decisions; "
            "name one annotator in catalog.annotator"
        )
    label_of = dict(zip(gold["frame_id"], gold["label"], strict=True))
    return np.asarray([label_of.get(name, "") for name in frame_id], dtype=object)
