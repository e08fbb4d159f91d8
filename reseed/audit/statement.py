"""The data statement: what a score was computed from, read off the stored files.

For a single frame it shows the answers, and the test scores without that frame.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import pandas as pd

from reseed.artifacts.catalog import FRAME_LABELS, FRAMES, QUARANTINE
from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS, SPLITS, SPLITS_TABLE, TEST
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS
from reseed.base.csv import guard
from reseed.base.errors import ReseedError
from reseed.history.run import Run
from reseed.score.evidence import item_confusion, labelled
from reseed.score.registry import SCORES, TASKS, percent_if

UNLABELLED: Final = "unlabelled"
_CATALOG: Final = "data/catalog/"
_WEIGHTS: Final = "data/pretrained/weights.pt"
_SOURCE: Final = ("name", "kind", "uri", "licence", "citation", "sha256", "pinned", "synthetic", "files", "bytes")
# What names a state of published data, the surest first: a DOI, a record of a portal, a tag, a version.
_RELEASES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b10\.\d{4,9}/[^\s?#&\"<>]+",
        r"\brecords?/\d+",
        r"(?<=/releases/download/)[^/?#]+",
        r"\b[vV]\d+(?:\.\d+)*\b",
    )
)
# What training wrote of itself.
_TOLD: Final = frozenset(
    {"models/train.json", "models/training.csv", "plots/training.csv", "data/predictions/repeats.csv"}
)
_TRAINING: Final = ("device", "threads", "seed", "versions", "sha256")


def data_statement(run: Run) -> dict[str, Any]:
    """Return the statement, ready for JSON; counts leave guard frames out.

    Raises:
        ReseedError: If a file is not stored here.
    """
    used = _placed_frames(run)
    wanted = (run.params.get("pull") or {}).get("sources") or []
    rendered = {source["name"] for source in wanted if source["kind"] == "demo"}
    rendered |= set(used.loc[used["synthetic"] == 1, "source"])
    sources = [
        {key: entry.get(key) for key in _SOURCE}
        | {"release": release_of(entry), "synthetic": bool(entry.get("synthetic")) or entry["name"] in rendered}
        for entry in run.sources
    ]
    card = run.document("models/model.json")
    training = {key: card.get(key) for key in _TRAINING}
    catalog = run.params["catalog"]
    pretrained = run.document("data/pretrained/weights.json")
    return {
        "synthetic": bool(rendered) or any(source["synthetic"] for source in sources),
        "imported": _imported(card, pretrained, run),
        "sources": sources,
        "annotator": catalog["annotator"],
        "frames": _counts(used, _frame_classes(run)),
        "patches": _counts(*_patch_classes(run, used)),
        "quarantined": {
            "images": _reasons(run, f"{_CATALOG}quarantine.csv"),
            "frames": _reasons(run, "data/patches/quarantine.csv"),
        },
        "pretrained": pretrained,
        "training": training,
        "claims": _claims(card, run.document("data/predictions/engine.json"), run.outputs),
        "notes": _notes(sources, training),
    }


def _imported(card: Mapping[str, Any], pretrained: Mapping[str, Any], run: Run) -> list[dict[str, Any]]:
    """Return the files with weights that this run took from elsewhere, with name and digest.

    Whether there are any is known from the parameters: the files that describe the weights can be written by anybody.
    """
    found = []
    if converted := card.get("converted"):
        found.append({"what": "network", "file": converted["file"], "sha256": converted["sha256"]})
    if (weights := str(run.params["train"]["weights"])) != "none":
        digest = pretrained.get("sha256") or f"not recorded (md5 of the stored file {run.outputs[_WEIGHTS]['md5']})"
        found.append({"what": "start weights", "file": pretrained.get("file") or weights, "sha256": digest})
    return found


def _claims(card: Mapping[str, Any], engine: Mapping[str, Any], outputs: Iterable[str]) -> list[str]:
    """Return what the run says of its machines and of its training, which only a rerun can check."""
    versions = ", ".join(f"{name} {version}" for name, version in (card.get("versions") or {}).items())
    trained = f"trained on {card.get('device')}, {card.get('threads')} threads, seed {card.get('seed')}, {versions}"
    return [
        f"{trained} (models/model.json)",
        f"predicted by {' '.join(str(value) for value in engine.values())} (data/predictions/engine.json)",
        f"how the training went ({', '.join(path for path in outputs if path in _TOLD)})",
    ]


def release_of(source: Mapping[str, Any]) -> str:
    """Return which release of the data a source is, as its citation or uri names it: a DOI, a record, a version.

    Returns:
        `not named` where neither names one: the digest alone tells then.
    """
    places = [str(source.get(key) or "") for key in ("citation", "uri")]
    found = (pattern.search(place) for pattern in _RELEASES for place in places)
    return next((f"{match[0]}".rstrip(".,;)") for match in found if match), "not named")


def files_table(run: Run) -> pd.DataFrame:
    """Return split, frame_id, sha256, source, site, group of every frame of train, val and test; safe in a spreadsheet.

    Raises:
        ReseedError: If a table is not stored here.
    """
    used = _placed_frames(run)
    used = used[used["split"].isin(SPLITS)]
    used = used.assign(order=used["split"].map(SPLITS.index)).sort_values(["order", "frame_id"])
    return (
        used[["split", "frame_id", "sha256", "source", "site", "group"]].astype(str).map(guard).reset_index(drop=True)
    )


def _placed_frames(run: Run) -> pd.DataFrame:
    """Return every frame with its group and split."""
    frames = run.table(f"{_CATALOG}frames.csv", FRAMES)
    return run.table(f"{_CATALOG}splits.csv", SPLITS_TABLE).merge(frames, on="frame_id", validate="one_to_one")


def _frame_classes(run: Run) -> Mapping[str, str]:
    labels = run.table(f"{_CATALOG}frame_labels.csv", FRAME_LABELS)
    gold = labels[labels["gold"] == 1]
    return dict(zip(gold["frame_id"], gold["label"], strict=True))


def _patch_classes(run: Run, used: pd.DataFrame) -> tuple[pd.DataFrame, Mapping[str, str]]:
    """Return every patch with the split and site of its frame, and the reference class of each that has one."""
    index = run.table("data/patches/index.csv", PATCH_INDEX)
    labels = run.table("data/patches/labels.csv", PATCH_LABELS)
    placed = index[["patch_id", "frame_id"]].merge(used[["frame_id", "split", "site"]], on="frame_id")
    gold = labels[(labels["gold"] == 1) & (labels["label"] != "")]
    return placed.drop(columns="frame_id"), dict(zip(gold["patch_id"], gold["label"], strict=True))


def _counts(items: pd.DataFrame, class_of: Mapping[str, str]) -> list[dict[str, Any]]:
    """Count by split, site and class.

    Args:
        items: Columns split, site, and frame_id or patch_id.
        class_of: Id -> class.
    """
    key = "patch_id" if "patch_id" in items else "frame_id"
    classes = items[key].map(lambda name: class_of.get(name, UNLABELLED))
    rows = Counter(zip(items["split"], items["site"], classes, strict=True))
    return [
        {"split": split, "site": site, "class": label, "n": n}
        for wanted in SPLITS
        for (split, site, label), n in sorted(rows.items())
        if split == wanted
    ]


def _reasons(run: Run, path: str) -> dict[str, int]:
    counted = run.table(path, QUARANTINE)["reason"].value_counts()
    return {str(reason): int(n) for reason, n in sorted(counted.items())}


def _notes(sources: list[dict[str, Any]], training: Mapping[str, Any]) -> list[str]:
    notes = [
        f"source {source['name']} is synthetic: no score on it is a field score"
        for source in sources
        if source["synthetic"]
    ]
    notes += [
        f"source {source['name']} is not pinned: nothing holds it to this digest (`python -m reseed pin`)"
        for source in sources
        if not source["pinned"] and not source["synthetic"]
    ]
    if training["device"] != "cpu":
        notes.append(f"trained on {training['device']}: training again on another device gives other digits")
    here = {name: _installed(name) for name in training["versions"] or {}}
    notes += [
        f"trained with {name} {was}, here is {here[name]}"
        for name, was in (training["versions"] or {}).items()
        if was.split("+")[0] != here[name].split("+")[0]
    ]
    return notes


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


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
