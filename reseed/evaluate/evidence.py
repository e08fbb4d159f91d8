"""Everything the scores of one run are computed from, joined and checked once."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.annotations import WEAK
from reseed.artifacts.raw import RawSource
from reseed.artifacts.splits import TEST, TRAIN, VAL
from reseed.classes import CLASSES, DECISIONS
from reseed.errors import TableError
from reseed.evaluate.alpha_curve import AlphaCurve, alpha_curve
from reseed.evaluate.confusion import Counts, confusion_counts
from reseed.evaluate.metrics import class_indices, decision_indices

SCORED = (VAL, TEST)
_PLACE = ["site", "sequence", "synthetic"]


@dataclass(frozen=True)
class Evidence:
    """Predictions with their references, place and origin.

    Args:
        patches: Table PATCH_PREDICTIONS with site, sequence, synthetic and kind (of the reference label, empty if there
            is none), one row per patch.
        frames: Table FRAME_PREDICTIONS with site, sequence and synthetic, one row per frame.
        alphas: A thresholds, ascending.
        deploys: (A, frames) True where that frame is decided Deploy at that threshold.
        sources: What was pulled.
    """

    patches: pd.DataFrame
    frames: pd.DataFrame
    alphas: tuple[Fraction, ...]
    deploys: NDArray[np.bool_]
    sources: tuple[RawSource, ...]

    @property
    def alpha(self) -> float:
        """The threshold that was used."""
        return float(self.frames["alpha"].iloc[0])

    @property
    def synthetic(self) -> bool:
        """Whether any frame that is scored (val or test) was rendered: then no score here is a field score."""
        return bool(self.frames.loc[self.frames["split"].isin(SCORED), "synthetic"].any())

    @property
    def weak(self) -> bool:
        """Whether any patch that is scored (val or test) only inherited the label of its frame."""
        return any((self.labelled_patches(split)["kind"] == WEAK).any() for split in SCORED)

    def labelled_patches(self, split: str) -> pd.DataFrame:
        """Return the patches of `split` that have a reference class."""
        return self.patches[(self.patches["split"] == split) & (self.patches["gold"] != "")]

    def labelled_frames(self, split: str) -> pd.DataFrame:
        """Return the frames of `split` that have a reference decision."""
        return self.frames[self._frame_mask(split)]

    def curve(self, split: str) -> AlphaCurve:
        """Score the labelled frames of `split` at every threshold."""
        mask = self._frame_mask(split)
        gold = decision_indices(self.frames.loc[mask, "gold"], "reference decisions")
        return alpha_curve(split, self.alphas, self.deploys[:, mask], gold)

    def _frame_mask(self, split: str) -> NDArray[np.bool_]:
        return ((self.frames["split"] == split) & (self.frames["gold"] != "")).to_numpy(dtype=np.bool_)


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


def patch_confusion(patches: pd.DataFrame) -> Counts:
    """Return the (3, 3) confusion counts of labelled patches, rows gold, columns predicted."""
    return confusion_counts(
        class_indices(patches["gold"], "gold"), class_indices(patches["predicted"], "predicted"), len(CLASSES)
    )


def frame_confusion(frames: pd.DataFrame) -> Counts:
    """Return the (2, 2) confusion counts of labelled frames, rows gold, columns decision."""
    return confusion_counts(
        decision_indices(frames["gold"], "reference decisions"),
        decision_indices(frames["decision"], "decisions"),
        len(DECISIONS),
    )


def gather(
    patches: pd.DataFrame,
    frames: pd.DataFrame,
    catalog: pd.DataFrame,
    sources: Sequence[RawSource],
    alphas: Sequence[Fraction],
    deploys: NDArray[np.bool_],
) -> Evidence:
    """Join predictions with the catalog and check that they belong together.

    Args:
        patches: Table PATCH_PREDICTIONS with the column `kind` of `with_kinds`.
        frames: Table FRAME_PREDICTIONS.
        catalog: Table FRAMES.
        sources: What was pulled, `data/raw.json`.
        alphas: A thresholds, ascending.
        deploys: (A, frames) decisions at each of them, in the row order of `frames`.

    Raises:
        TableError: If there is nothing to score, the two prediction tables are of different frames, a frame is not in
            the catalog, several thresholds were used, or no test patch has a reference class.
    """
    if patches.empty or frames.empty:
        raise TableError("no predictions to score; run `dvc repro predict aggregate`")
    _same(set(patches["frame_id"]), set(frames["frame_id"]), "data/predictions/frames.csv")
    _known(set(frames["frame_id"]), set(catalog["frame_id"]))
    if len(set(frames["alpha"])) != 1:
        raise TableError(
            f"data/predictions/frames.csv: {len(set(frames['alpha']))} values of alpha; run `dvc repro aggregate`"
        )
    place = catalog.set_index("frame_id")[_PLACE]
    evidence = Evidence(
        patches.join(place, on="frame_id"),
        frames.join(place, on="frame_id"),
        tuple(alphas),
        np.asarray(deploys, dtype=np.bool_),
        tuple(sources),
    )
    if evidence.labelled_patches(TEST).empty:
        n = int((patches["split"] == TEST).sum())
        raise TableError(
            f"none of the {n} test patches has a reference class, so there is no score; "
            "label frames of the test split, or change split.* or extract.min_purity"
        )
    return evidence


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
