"""What a change did to the result: base and head side by side, how sure a difference is, and whether head holds."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reseed.artifacts.catalog import FRAMES, PIECES
from reseed.artifacts.patches import TEST
from reseed.audit.trusted import FAIL, Check
from reseed.base.classes import CLASSES
from reseed.base.errors import ReseedError
from reseed.compare.comparison import DIFFERENCES, beside_scores, changed_code, changed_params, compare
from reseed.figures.contact_sheet import MAX_COLUMNS, contact_sheet
from reseed.figures.style import counted
from reseed.history.repository import Repository, Revision
from reseed.history.run import CLASS_SCORES, METRICS, RAW, Run
from reseed.patches.resize import resize
from reseed.score.decisions import AUTO
from reseed.score.registry import FRAME, HEADLINE, NOT_AVAILABLE, PATCH, SCORES, TASKS, class_key
from reseed.sources.folder import copy_file
from reseed.survey.imagery import frame_pixels, pieces_of_frames

# Where digests alone are compared: what shapes the data a score is of, in the order it is made.
_INPUTS: Final = (
    "data/raw.json",
    "data/catalog/frames.csv",
    "data/catalog/annotations.csv",
    "data/catalog/frame_labels.csv",
    "data/catalog/splits.csv",
)


def pull_request(
    repository: Repository,
    base: Revision,
    head: Revision,
    checks: Mapping[str, Check],
    resamples: int,
    seed: int,
    base_checks: Mapping[str, Check] | None = None,
) -> dict[str, Any]:
    """Set head beside base.

    Args:
        repository: Of both.
        base: What head is compared with; it may hold no result yet.
        head: A commit, or the workspace.
        checks: The audit of head.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
        base_checks: What was audited of base: whether its result is that of its code and parameters.

    Returns:
        The report, ready for JSON: scores in percent, differences in percent points. `alone` says why base has no
        result; `not_compared` why nothing is tested, and `lacking` which sides lack their single answers.
        `same_test_set` is None where that cannot be known.

    Raises:
        ReseedError: If head has no result.
    """
    new = Run(repository, head).with_result()
    try:
        old, alone = Run(repository, base).with_result(), ""
    except ReseedError as error:
        old, alone = None, str(error)
    found, lacking = (None, {}) if old is None else _compared(repository, base, head, resamples, seed)
    same = None if old is None else _same_test_set(old, new, found)
    return {
        "base": asdict(base),
        "head": asdict(head),
        "synthetic": any(record.scores_synthetic for record in (old, new) if record),
        "label_notices": list(dict.fromkeys(text for record in (old, new) if record for text in record.label_notices)),
        "alone": alone,
        "not_compared": alone or "; ".join(dict.fromkeys(lacking.values())),
        "lacking": list(lacking),
        "same_test_set": same,
        "test_set": {
            "base": None if old is None else _test_set(old),
            "head": _test_set(new),
            "differences": {} if found is None else _counted(found["test_set_differences"]),
        },
        "trainings": None if found is None else {"base": found["trainings"]["a"], "head": found["trainings"]["b"]},
        "same_frames": same if found is None else found["same_frames"],
        "notes": [] if found is None else found["notes"],
        "scores": _scores(old, new, found, same=bool(same)),
        "verdicts": {side: beside_scores(record) for side, record in (("base", old), ("head", new))},
        "macro_f1": {
            side: None
            if record is None
            else {"f1": record.metrics["patch"]["macro_f1"], **_interval(record, "macro_f1")}
            for side, record in (("base", old), ("head", new))
        },
        "classes": [_class(old, new, name, same=bool(same)) for name in CLASSES],
        "sites": _sites(old, new, same=bool(same)),
        "operating_point": {"base": None if old is None else _operating(old), "head": _operating(new)},
        "flips": None if found is None else found["flips"],
        "mcnemar": None if found is None else found["mcnemar"],
        "params": [] if old is None else changed_params([old.params], [new.params]),
        "data": None if found is None else found["data"],
        "inputs": [] if old is None else _inputs(old, new),
        "code": changed_code(repository, base, head),
        "trend": _trend(new),
        "leakage": (new.details.get("leakage") or {}).get("in_words", ""),
        "passed": all(check.status != FAIL for check in checks.values()),
        "checks": [{"check": name, **asdict(check)} for name, check in checks.items()],
        "base_checks": [{"check": name, **asdict(check)} for name, check in (base_checks or {}).items()],
    }


# Scores of a row of the trend: the headline of patches with the ends of its interval, and that of frames.
TREND: Final = (f"{PATCH}_{HEADLINE}", f"{PATCH}_{HEADLINE}_low", f"{PATCH}_{HEADLINE}_high", f"{FRAME}_{HEADLINE}")
_MOST_COMMITS: Final = 20


def _trend(head: Run) -> list[dict[str, Any]]:
    """Return the scores of the last commits of head's history that have a result, the oldest first."""
    rows = []
    for revision, when, subject in head.repository.last_changes(head.revision, METRICS, _MOST_COMMITS):
        try:
            scores = Run(head.repository, revision).metrics
            known = {f"{task}_{key}": value for task in TASKS for key, value in scores[task].items()}
        except (ReseedError, KeyError, TypeError):
            continue  # no result, or one of another form
        values = {name: known.get(name, NOT_AVAILABLE) for name in TREND}
        rows.append(values | {"commit": revision.commit[:7], "committed": when, "subject": subject})
    return rows[::-1]


def _compared(
    repository: Repository, base: Revision, head: Revision, resamples: int, seed: int
) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """Return the comparison by single answers, or none and why each side that lacks them does."""
    runs, lacking = [], {}
    for side, revision in (("base", base), ("head", head)):
        try:
            runs.append(Run(repository, revision, remote="read").with_answers())
        except ReseedError as error:
            lacking[side] = str(error)
    return None if lacking else compare(repository, runs[:1], runs[1:], resamples, seed), lacking


def _same_test_set(old: Run, new: Run, found: Mapping[str, Any] | None) -> bool | None:
    if found is not None:
        return bool(found["same_test_set"])
    return True if old.same_test_set(new) else None


def _test_set(record: Run) -> dict[str, int]:
    return {"patches": int(record.metrics["patch"]["n"]), "frames": int(record.metrics["frame"]["n"])}


def _counted(differences: Mapping[str, Sequence[Any]]) -> dict[str, int]:
    """Return how many items differ in each way, by what it is called."""
    return {DIFFERENCES[name].format(a="base", b="head"): len(items) for name, items in differences.items() if items}


def _scores(old: Run | None, new: Run, found: Mapping[str, Any] | None, *, same: bool) -> list[dict[str, Any]]:
    """Return one row for each score of either task; computed again from the answers where these are stored."""
    if found is not None:
        return [
            {key: value for key, value in row.items() if key not in {"a", "b"}}
            | {"base": row["a"]["mean"], "head": row["b"]["mean"]}
            | {"base_sd": row["a"].get("sd", NOT_AVAILABLE), "head_sd": row["b"].get("sd", NOT_AVAILABLE)}
            for row in found["scores"]
        ]
    rows = []
    for task in TASKS:
        for name in SCORES[task]:
            a = None if old is None else old.metrics[task].get(name, NOT_AVAILABLE)
            b = new.metrics[task][name]
            row = {"score": f"{task}.{name}", "base": a, "head": b, "difference": _difference(a, b, same=same)}
            rows.append(row | {"base_sd": NOT_AVAILABLE, "head_sd": NOT_AVAILABLE})
    return rows


def _difference(a: Any, b: Any, *, same: bool) -> float | str:
    """Return second minus first, percent points; `n/a` where one is no score or they are not of the same items."""
    if not same or not isinstance(a, (int, float)) or not isinstance(b, (int, float)) or a != a or b != b:  # noqa: PLR0124
        return NOT_AVAILABLE
    return round(float(b) - float(a), 4)


def _class(old: Run | None, new: Run, name: str, *, same: bool) -> dict[str, Any]:
    key = class_key(name)
    a, b = (None if record is None else _class_scores(record, key) for record in (old, new))
    return {
        "class": name,
        "base": a,
        "head": b,
        "difference": _difference(a and a["f1"], b and b["f1"], same=same),
    }


def _class_scores(record: Run, key: str) -> dict[str, Any]:
    found = record.details["patch"][TEST]["classes"][key]
    return {score: found[score] for score in CLASS_SCORES} | _interval(record, f"{key}_f1")


def _interval(record: Run, score: str) -> dict[str, float | str]:
    """Return the 95 % interval of a patch score, `n/a` where there is none."""
    intervals = record.details["patch"][TEST].get("intervals")
    found = intervals.get(score) if isinstance(intervals, dict) else None
    known = isinstance(found, dict) and "reason" not in found
    return {end: found[end] if known and found else NOT_AVAILABLE for end in ("low", "high")}


def _sites(old: Run | None, new: Run, *, same: bool) -> list[dict[str, Any]]:
    """Return one row for each test site of either side, the deepest fall of macro F1 first."""
    columns = ["site", "n_patches", "n_frames", "macro_f1", "frame_accuracy"]
    after = new.sites[columns]
    before = after.iloc[:0] if old is None else old.sites[columns]
    both = before.merge(after, how="outer", on="site", suffixes=("_base", "_head"))
    rows = []
    for row in both.to_dict("records"):
        sides = {
            side: {name: _plain(row[f"{name}_{side}"]) for name in columns if name != "site"}
            for side in ("base", "head")
        }
        fall = _difference(row["macro_f1_base"], row["macro_f1_head"], same=same)
        rows.append({"site": str(row["site"]), **sides, "difference": fall})
    return sorted(rows, key=lambda row: (row["difference"] if isinstance(row["difference"], float) else 0, row["site"]))


def _plain(value: Any) -> float | str:
    return NOT_AVAILABLE if pd.isna(value) else float(value)


def _operating(record: Run) -> dict[str, Any]:
    """Return how frames are decided and what that gives on test frames."""
    frame, test = record.metrics["frame"], record.details["frame"][TEST]
    alpha = record.details.get("alpha") or {}
    counts = (test.get("confusion") or {}).get("counts")
    found: dict[str, Any] = {
        "rule": (record.details.get("rules") or {}).get("used", "ratio"),
        "alpha": frame["alpha"],
        "auto": (record.params.get("aggregate") or {}).get("alpha") == AUTO,
        "best_on_validation": (alpha.get("best_on_validation") or {}).get("alpha")
        if isinstance(alpha.get("best_on_validation"), dict)
        else None,
        "n": frame["n"],
        **{name: frame[name] for name in ("accuracy", "macro_f1", "deploy_precision", "deploy_recall")},
        "cost_per_frame": (alpha.get("cost") or {}).get("test_cost_per_frame_as_decided", NOT_AVAILABLE),
    }
    if counts is not None:
        found |= {"deployed": counts[0][1] + counts[1][1], "false_deploy": counts[0][1], "missed_deploy": counts[1][0]}
    return found


def _inputs(old: Run, new: Run) -> list[str]:
    """Return the tables that shape the data and whose digests differ."""
    return [path for path in _INPUTS if old.digests.get(path) != new.digests.get(path)]


_WIDTH_PX: Final = 320


def flipped_figure(state: Run, rows: Mapping[str, Sequence[str]], *, synthetic: bool) -> Figure:
    """Draw the first frames of each row.

    Args:
        state: Stores catalog and images.
        rows: What happened, such as "now wrong", and the frames it happened to; no row is empty.
        synthetic: Whether the frames are rendered.

    Raises:
        ReseedError: If an image is not stored here.
    """
    shown = [(row, frame) for row, frames in rows.items() for frame in frames[:MAX_COLUMNS]]
    total = sum(map(len, rows.values()))
    return contact_sheet(
        _thumbnails(state, [frame for _, frame in shown]),
        [row for row, _ in shown],
        f"{counted(total, 'frame')} decided differently by head",
        details=[counted(len(rows[row]), "frame") for row, _ in shown],
        subtitle=f"The first {MAX_COLUMNS} of each row." if len(shown) < total else "All of them.",
        synthetic=synthetic,
    )


def _thumbnails(state: Run, frame_ids: Sequence[str]) -> list[NDArray[np.uint8]]:
    catalog = state.table("data/catalog/frames.csv", FRAMES).set_index("frame_id")
    pieces_of = pieces_of_frames(state.table("data/catalog/pieces.csv", PIECES))
    digest_of = dict(state.members(RAW))
    images = []
    with tempfile.TemporaryDirectory(prefix="reseed-frames-") as folder:
        raw = Path(folder)
        for frame_id in frame_ids:
            pieces = pieces_of.get(frame_id)
            for path in [frame_id] if pieces is None else [str(path) for path in pieces["path"]]:
                _lay_out(state, digest_of, path, raw)
            row: Any = catalog.loc[frame_id]
            image = frame_pixels(raw, frame_id, pieces, int(row["width_px"]), int(row["height_px"]))
            images.append(resize(image, _WIDTH_PX, max(1, round(_WIDTH_PX * image.shape[0] / image.shape[1]))))
    return images


def _lay_out(state: Run, digest_of: Mapping[str, str], path: str, raw: Path) -> None:
    digest = digest_of.get(f"{RAW}/{path}")
    stored = None if digest is None else state.object(digest)
    if stored is None:
        raise ReseedError(f"{RAW}/{path} of {state.name}: its object is not here; `dvc pull` gets it")
    (raw / path).parent.mkdir(parents=True, exist_ok=True)
    copy_file(stored, raw / path)
