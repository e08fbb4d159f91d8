"""The model card: what `templates/card.md.j2` shows."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reseed.artifacts.patches import TEST, TRAIN, VAL
from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.base.classes import CLASSES, DEPLOY
from reseed.base.errors import ReseedError
from reseed.history.run import Run
from reseed.reports.page import confusion_rows, interval_text, render
from reseed.reports.reforms import Item, People, results_on_this_test_set
from reseed.reports.scores import trainings_text
from reseed.score.decisions import AUTO
from reseed.score.registry import ENTRIES, FRAME, HEADLINE, NAMES, NOT_AVAILABLE, TASKS, Task


@dataclass(frozen=True)
class Card:
    """What a card is made of.

    Args:
        record: The result.
        model: `models/model.json`; empty where it is not stored here.
        statement: The data statement; empty where it cannot be given.
        missing: Why it cannot; empty if it can.
        stale: Why the scores are not those of the parameters and sources as they are now.
        people: What people say of it, `card.yaml`.
        items: The REFORMS checklist.
    """

    record: Run
    model: Mapping[str, Any]
    statement: Mapping[str, Any]
    missing: str
    stale: Sequence[str]
    people: People
    items: Sequence[Item]


def card_page(card: Card) -> str:
    """Return the card as Markdown; the same result gives the same bytes."""
    record, model, statement = card.record, card.model, card.statement
    params = {section: record.params.get(section) or {} for section in ("train", "extract", "aggregate")}
    cut, notes = model.get("geometry") or {}, statement.get("notes") or []
    ceiling = record.details.get("human_ceiling")
    return render(
        "card.md.j2",
        "markdown",
        revision=str(record.revision) if record.revision.commit else "",
        commit=record.revision.commit,
        synthetic=record.synthetic,
        stale=card.stale,
        label_notices=record.label_notices,
        synthetic_notice=SYNTHETIC_NOTICE,
        model=model,
        train=params["train"],
        input_px=model.get("input_px") or (NOT_AVAILABLE, NOT_AVAILABLE),
        patch={
            "size_px": cut.get("patch_size_px", params["extract"].get("patch_size", NOT_AVAILABLE)),
            "input_px": cut.get("input_size_px", params["extract"].get("input_size", NOT_AVAILABLE)),
            "resize": cut.get("resize", NOT_AVAILABLE),
            "decode": cut.get("decode", NOT_AVAILABLE),
        },
        weights=(model.get("pretrained") or params["train"]).get("weights"),
        versions=", ".join(f"{name} {version}" for name, version in (model.get("versions") or {}).items()),
        alpha=record.metrics[FRAME].get("alpha", NOT_AVAILABLE),
        alpha_auto=params["aggregate"].get("alpha") == AUTO,
        statement=statement,
        missing=card.missing,
        class_names=CLASSES,
        evaluation_rows=_counts(statement, [TEST]),
        training_rows=_counts(statement, [TRAIN, VAL]),
        left_out=_left_out(statement.get("quarantined") or {}),
        scores=[_score(record, entry.task, entry.key, entry.full_label) for entry in ENTRIES],
        trainings=[
            f"{task.capitalize()} macro F1 over trainings: {text}"
            for task in TASKS
            if (text := trainings_text(record.details, task))
        ],
        verdicts=list(((record.details.get("baselines") or {}).get("verdict") or {}).values()),
        sites=[row | {"name": row["site"]} for row in record.sites.to_dict("records")],
        people=[
            {
                "annotator": entry["annotator"],
                "n": entry["n"],
                "of": "patches" if task != FRAME else "frames",
                "score": entry["human"][HEADLINE],
            }
            for task in TASKS
            for entry in (ceiling.get(task, []) if isinstance(ceiling, dict) else [])
        ],
        without_interval=[
            {"task": task, "reason": found.removeprefix(f"{NOT_AVAILABLE}: ")}
            for task in TASKS
            if isinstance(found := record.details[task][TEST].get("intervals"), str)
        ],
        leakage=(record.details.get("leakage") or {}).get("in_words", ""),
        frames_scored=record.metrics[FRAME]["n"] > 0,
        notes=[str(note) for note in notes],
        people_say=card.people.model_dump(),
        items=card.items,
        confusions=[_confusion(record, task) for task in TASKS],
        calibration=(record.details.get("calibration") or {}).get(TEST),
        conditions=_conditions(record),
        split=record.params.get("split") or {},
        results=results_on_this_test_set(record),
        model_bytes=record.outputs.get("models/model.pt", {}).get("size"),
        unknown=_unknown(record),
        ask=record.details.get("ask") if isinstance(record.details.get("ask"), dict) else None,
    )


def _score(record: Run, task: str, key: str, label: str) -> dict[str, Any]:
    found = record.details[task][TEST].get("intervals")
    interval = found.get(key) if isinstance(found, dict) else None
    return {
        "label": label,
        "value": record.metrics[task][key],
        "interval": interval_text(interval) or NOT_AVAILABLE,
        "n": record.metrics[task]["n"],
    }


def _confusion(record: Run, task: Task) -> dict[str, Any]:
    found = record.details[task][TEST].get("confusion") or {}
    return {"task": task, "names": NAMES[task], "rows": confusion_rows(NAMES[task], found.get("counts") or [])}


def _conditions(record: Run) -> list[list[str]]:
    """Return the quarters of the test frames by each condition with their patch macro F1."""
    try:
        rows = list(csv.DictReader(io.StringIO(record.read("metrics/by_condition.csv").decode("utf-8"))))
        return [
            [row["condition"].replace("_", " "), f"{row['from']} to {row['to']}", row["frames"], row[HEADLINE]]
            for row in rows
        ]
    except (ReseedError, KeyError, ValueError):
        return []


def _unknown(record: Run) -> dict[str, str]:
    """Return the share of frames without position, depth or time; nothing where the catalog is not stored here."""
    names = {"position": "latitude_deg", "water depth": "water_depth_m", "capture time": "captured_at"}
    try:
        frames = record.columns("data/catalog/frames.csv", list(names.values()))
    except ReseedError:
        return {}
    return (
        {name: f"{100 * (frames[column] == '').mean():.0f} %" for name, column in names.items()} if len(frames) else {}
    )


def _left_out(quarantined: Mapping[str, Mapping[str, int]]) -> str:
    reasons = Counter(
        {f"{n:,} {kind} ({reason})": n for kind, found in quarantined.items() for reason, n in found.items()}
    )
    return ", ".join(sorted(reasons))


def _counts(statement: Mapping[str, Any], splits: Iterable[str]) -> list[dict[str, Any]]:
    """Return how many frames, Deploy frames, patches of each class and unlabelled patches the splits have, by site."""
    if not statement:
        return []
    rows = []
    for split in splits:
        patches, frames = ([row for row in statement[k] if row["split"] == split] for k in ("patches", "frames"))
        for site in sorted({row["site"] for row in (*patches, *frames)}):
            by_class = {row["class"]: row["n"] for row in patches if row["site"] == site}
            decided = {row["class"]: row["n"] for row in frames if row["site"] == site}
            labelled = [by_class.get(name, 0) for name in CLASSES]
            unlabelled = sum(by_class.values()) - sum(labelled)
            counts = [sum(decided.values()), decided.get(DEPLOY, 0), *labelled, unlabelled]
            rows.append({"split": split, "site": site, "counts": counts})
    return rows
