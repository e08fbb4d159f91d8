"""Check leakage: what train, val and test share by the tables, repeated test frames, alpha chosen on validation."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import pandas as pd

from reseed.artifacts.annotations import FRAME_LABELS
from reseed.artifacts.frames import FRAMES
from reseed.artifacts.leakage import leakage_sentence
from reseed.artifacts.patches import PATCH_INDEX
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS
from reseed.artifacts.splits import SPLITS, SPLITS_TABLE
from reseed.audit.checks import Check, judged
from reseed.audit.remarks import remarks
from reseed.history.run import Run
from reseed.patches.overlap import table_leaks
from reseed.score.decisions import AUTO, best_alpha, count_patches

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
        notes.append(f"alpha {float(used):g} was set by hand; the validation optimum is {float(best):g}")
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
