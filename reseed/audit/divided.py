"""Check leakage: what train, val and test share by the tables, repeated test frames, alpha chosen on validation.

Remarks on test frames and scores stand here too. They are no failures, but a reader should look at them twice.
"""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pandas as pd

from reseed.artifacts.catalog import FRAME_LABELS, FRAMES
from reseed.artifacts.leakage import leakage_sentence
from reseed.artifacts.patches import PATCH_INDEX, SPLITS, SPLITS_TABLE, TEST
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS
from reseed.audit.trusted import Check, judged
from reseed.base.classes import CLASSES
from reseed.base.errors import ReseedError
from reseed.history.run import Run
from reseed.patches.leakage import copies
from reseed.patches.overlap import SmallView, small_view, table_leaks
from reseed.patches.store import open_patches
from reseed.score.decisions import AUTO, best_alpha, count_patches

_SHOWN: Final = 3
_PATCHES: Final = "data/patches/patches.npy"
# Fewer frames on a side say nothing about memorisation.
_FEWEST_FRAMES: Final = 5
_SURE: Final = 0.01
_LEAST_P: Final = 1e-6  # of a stored probability
_PROBABILITIES: Final = ["p_no_deploy", "p_coral", "p_deploy"]


def remarks(run: Run) -> list[str]:
    """Return one line for each; what cannot be looked at is left out, as another check says so."""
    frames = run.table("data/catalog/frames.csv", FRAMES)
    splits = run.table("data/catalog/splits.csv", SPLITS_TABLE)
    patches = run.table("data/predictions/patches.csv", PATCH_PREDICTIONS)
    test = set(splits.loc[splits["split"] == TEST, "frame_id"])
    equal = equal_frames(frames, test)
    lines = []
    if equal:
        n_frames = sum(map(len, equal))
        lines.append(
            f"repeated test frames: {n_frames} are {len(equal)} files of equal bytes, and each counts as often as it "
            f"repeats: {_named(equal[0])}"
        )
    known = {frozenset(pair) for names in equal for pair in ((a, b) for a in names for b in names)}
    near = [pair for pair in _near_copies(run, test) if frozenset(pair) not in known]
    if near:
        lines.append(f"repeated test frames: {len(near)} pairs are nearly equal pictures, such as {_named(near[0])}")
    return [*lines, *_too_good(run, patches), *memorised(patches, frames, splits)]


def equal_frames(frames: pd.DataFrame, test: set[str]) -> list[list[str]]:
    """Return the test frames of equal bytes, each such set sorted."""
    same: dict[str, list[str]] = defaultdict(list)
    for row in frames[["frame_id", "sha256"]].to_dict("records"):
        if row["frame_id"] in test:
            same[row["sha256"]].append(row["frame_id"])
    return sorted(sorted(names) for names in same.values() if len(names) > 1)


def memorised(patches: pd.DataFrame, frames: pd.DataFrame, splits: pd.DataFrame) -> Iterator[str]:
    """Yield whether the network is surer of test frames than of frames of the same groups that it never met.

    Frames of the same groups or sequences that lie in no split, such as guard frames, are as hard as the test frames.
    A network that learnt the test frames has the smaller loss on them. Compared are the mean losses of the frames
    (Mann-Whitney U, one-sided).

    Args:
        patches: Table PATCH_PREDICTIONS.
        frames: Table FRAMES.
        splits: Table SPLITS_TABLE.
    """
    labelled = patches[patches["gold"] != ""]
    gold = labelled["gold"].map(CLASSES.index).to_numpy()
    p = labelled[_PROBABILITIES].to_numpy()[np.arange(len(labelled)), gold]
    losses = pd.Series(-np.log(np.maximum(p, _LEAST_P))).groupby(labelled["frame_id"].to_numpy()).mean()
    placed = splits.merge(frames[["frame_id", "source", "site", "sequence"]], on="frame_id").set_index("frame_id")
    placed = placed.loc[placed.index.isin(losses.index)].copy()
    placed["place"] = placed["source"] + "/" + placed["site"] + "/" + placed["sequence"]
    test = placed[placed["split"] == TEST]
    fresh = placed[placed["split"] == "none"]
    fresh = fresh[fresh["group"].isin(set(test["group"])) | fresh["place"].isin(set(test["place"]))]
    if len(test) < _FEWEST_FRAMES or len(fresh) < _FEWEST_FRAMES:
        return
    sides = [losses.loc[side.index].to_numpy() for side in (test, fresh)]
    from scipy.stats import mannwhitneyu  # noqa: PLC0415  half a second, where there is something to compare

    found = float(mannwhitneyu(*sides, alternative="less").pvalue)
    means = f"mean loss {sides[0].mean():.3f} on {len(test)} test frames, {sides[1].mean():.3f} on {len(fresh)} frames "
    means += f"of the same groups that are in no split (p {found:.2g})"
    yield f"memorisation: {means}" + (
        ": the network may have learnt the test frames, which is not proven to be so or not" if found < _SURE else ""
    )


def _near_copies(run: Run, test: set[str]) -> list[tuple[str, str]]:
    """Return the pairs of test frames whose patches, put together again, make nearly the same picture."""
    try:
        stored = run.object(str(run.outputs[_PATCHES]["md5"])) if _PATCHES in run.outputs else None
    except ReseedError:
        stored = None
    if stored is None:
        return []
    packed, index = open_patches(stored), run.table("data/patches/index.csv", PATCH_INDEX)
    if len(packed) != len(index):
        return []
    views: dict[str, SmallView] = {}
    for frame_id, rows in index[index["frame_id"].isin(test) & (index["row"] >= 0)].groupby("frame_id"):
        n_rows, n_cols = int(rows["row"].max()) + 1, int(rows["col"].max()) + 1
        if len(rows) == n_rows * n_cols:
            ordered = rows.sort_values(["row", "col"]).index
            _, height, width, channels = packed.shape
            grid = packed[ordered].reshape(n_rows, n_cols, height, width, channels)
            picture = grid.transpose(0, 2, 1, 3, 4).reshape(n_rows * height, n_cols * width, channels)
            views[str(frame_id)] = small_view(np.ascontiguousarray(picture))
    return copies(views)


def _too_good(run: Run, patches: pd.DataFrame) -> Iterator[str]:
    """Yield where scores are as good as hardly any network is."""
    test = patches[(patches["split"] == TEST) & (patches["gold"] != "")]
    if len(test) and bool((test["gold"] == test["predicted"]).all()):
        yield f"all {len(test)} test patches are predicted as their reference says, to the last one: how is not proven"
    ceiling: Any = run.details.get("human_ceiling")
    for task, people in ceiling.items() if isinstance(ceiling, dict) else ():
        own = run.metrics.get(task, {}).get("macro_f1")
        for person in people if isinstance(people, list) else ():
            other = (person.get("human") or {}).get("macro_f1")
            if isinstance(own, (int, float)) and isinstance(other, (int, float)) and own > other:
                name = person.get("annotator")
                yield f"{task} macro F1 {own} is above that of annotator {name}, {other}: look how labels were made"


def _named(names: Any) -> str:
    more = ", ..." if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


_LEAKAGE: Final = "data/catalog/leakage.json"


def check_leakage(run: Run) -> Check:
    """Look for frames, patches and equal files in two splits, and find the validation optimum of alpha again."""
    frames, splits = run.table("data/catalog/frames.csv", FRAMES), run.table("data/catalog/splits.csv", SPLITS_TABLE)
    labels = run.table("data/catalog/frame_labels.csv", FRAME_LABELS)
    index = run.table("data/patches/index.csv", PATCH_INDEX)
    patches = run.table("data/predictions/patches.csv", PATCH_PREDICTIONS)
    decided = run.table("data/predictions/frames.csv", FRAME_PREDICTIONS)
    params = run.params
    split_of = dict(zip(splits["frame_id"], splits["split"], strict=True))
    leaks = table_leaks(frames, split_of, int(params["split"]["guard_frames"]))
    failures = [
        f"equal files in different splits: {first} ({split_of[first]}) and {second} ({split_of[second]})"
        for first, second in leaks.copies
    ]
    failures += [*_groups(splits), *_torn(split_of, index, patches, decided)]
    notes = remarks(run)
    if _LEAKAGE in run.outputs or run.has(_LEAKAGE):
        notes.append(leakage_sentence(run.mapping(_LEAKAGE)))
    if leaks.neighbours:
        notes.append(f"{len(leaks.neighbours)} pairs of neighbours of one sequence in different splits")
    best, used = best_alpha(count_patches(patches, labels)), Fraction(repr(float(decided["alpha"].iloc[0])))
    if best is None:
        notes.append("no validation frame has a label, so no alpha is the best on them")
    elif best != used and params["aggregate"]["alpha"] == AUTO:
        failures.append(
            f"aggregate.alpha is auto, {float(used):g} was used, but {float(best):g} is the validation optimum"
        )
    elif best != used:
        how = "keeps a promise" if isinstance(params["aggregate"]["alpha"], str) else "was set by hand"
        notes.append(f"alpha {float(used):g} {how}; the validation optimum is {float(best):g}")
    return judged(failures, [], "no frame, patch or equal file in two splits", notes)


def _groups(splits: pd.DataFrame) -> Iterator[str]:
    """Yield the groups that are divided; guard frames in no split do not count."""
    used = splits[splits["split"].isin(SPLITS)]
    for group, names in used.groupby("group", sort=True)["split"].unique().items():
        if len(names) > 1:
            yield f"group {group} is divided: {', '.join(sorted(names))}"


def _torn(split_of: dict[str, str], index: pd.DataFrame, patches: pd.DataFrame, decided: pd.DataFrame) -> Iterator[str]:
    """Yield the patches and frames that were used in another split than that of their frame."""
    frame_of = dict(zip(index["patch_id"], index["frame_id"], strict=True))
    for row in patches[["patch_id", "frame_id", "split"]].to_dict("records"):
        if frame_of.get(row["patch_id"]) != row["frame_id"]:
            yield f"patch {row['patch_id']} was predicted as of {row['frame_id']}, the index says otherwise"
        elif split_of.get(row["frame_id"]) != row["split"]:
            yield f"patch {row['patch_id']} was predicted as {row['split']}, splits.csv says otherwise"
    for row in decided[["frame_id", "split"]].to_dict("records"):
        if split_of.get(row["frame_id"]) != row["split"]:
            yield f"frame {row['frame_id']} was decided as {row['split']}, splits.csv says otherwise"
