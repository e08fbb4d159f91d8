"""What one frame did to the score: its answers, and the test scores without it."""

from collections import Counter
from typing import Any, Final

import pandas as pd

from reseed.artifacts.frames import FRAMES
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS
from reseed.artifacts.splits import TEST
from reseed.base.errors import ReseedError
from reseed.history.run import Run
from reseed.score.evidence import item_confusion, labelled
from reseed.score.percent import percent_if
from reseed.score.registry import SCORES, TASKS

_NEAREST: Final = 5


def frame_effect(run: Run, frame_id: str) -> dict[str, Any]:
    """Return place, answers and effect of a frame, ready for JSON; scores in percent.

    A frame outside the test split is not scored: its effect is empty, it had one through the training or alpha.

    Args:
        run: The run.
        frame_id: POSIX path below data/raw, or the end of one that no other frame shares.

    Raises:
        ReseedError: If there is no such frame, several, or a table is not stored here.
    """
    catalog = run.table("data/catalog/frames.csv", FRAMES)
    name = _full_name(list(catalog["frame_id"]), frame_id)
    patches = run.table("data/predictions/patches.csv", PATCH_PREDICTIONS)
    frames = run.table("data/predictions/frames.csv", FRAME_PREDICTIONS)
    place = catalog[catalog["frame_id"] == name].iloc[0]
    decided = frames[frames["frame_id"] == name]
    if decided.empty:
        raise ReseedError(f"{name} has no patches: it is smaller than one (data/patches/quarantine.csv)")
    own, row = patches[patches["frame_id"] == name], decided.iloc[0]
    answers = Counter(zip(own["gold"], own["predicted"], strict=True))
    return {
        "frame_id": name,
        "site": place["site"],
        "sequence": place["sequence"],
        "sha256": place["sha256"],
        "split": row["split"],
        "patches": [{"gold": gold, "predicted": said, "n": n} for (gold, said), n in sorted(answers.items())],
        "decision": row["decision"],
        "gold": row["gold"],
        "scores": _scores(patches, frames, name) if row["split"] == TEST else [],
    }


def _scores(patches: pd.DataFrame, frames: pd.DataFrame, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for task, table in zip(TASKS, (patches, frames), strict=True):
        scored = labelled(table, TEST)
        both = [item_confusion(task, items) for items in (scored, scored[scored["frame_id"] != name])]
        for key in ("macro_f1", "accuracy"):
            entry = SCORES[task][key]
            values = [percent_if(entry(counts), int(counts.sum())) for counts in both]
            rows.append({"score": entry.full_key, "with": values[0], "without": values[1]})
    return rows


def _full_name(names: list[str], wanted: str) -> str:
    found = [name for name in names if name == wanted] or [name for name in names if f"/{name}".endswith(f"/{wanted}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise ReseedError(f"--frame {wanted}: {len(found)} frames end like that: {', '.join(sorted(found)[:_NEAREST])}")
    raise ReseedError(f"--frame {wanted}: no such frame; there are {len(names)}, such as {min(names, default='none')}")
