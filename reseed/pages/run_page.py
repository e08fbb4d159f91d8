"""`report.html`: one file that shows a run: what was scored, how sure, every frame, and what it was made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.artifacts.catalog import FRAME_LABELS, FRAMES
from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS, TEST, VAL
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS, REPEAT_PREDICTIONS
from reseed.artifacts.raw import SYNTHETIC_NOTICE, label_notices
from reseed.artifacts.table import Table
from reseed.base.classes import CLASS_COLOURS, CLASSES, DECISIONS
from reseed.base.files import read_json
from reseed.pages.parts import read_leaflet
from reseed.pages.render import html_page, percent
from reseed.pages.run_data import Doubt, RunTables, doubts, frame_data, patch_pictures, pictures
from reseed.score.decisions import RATIO
from reseed.score.registry import FRAME, HEADLINE, NOT_AVAILABLE, PATCH, SCORES, TASKS, Task, class_key

REPORT: Final = "plots/report.html"
_SCRIPTS: Final = ("page", "scores", "chart", "grid", "frames", "frame", "map", "report")
_MOST_DOUBTS: Final = 24
# Tables behind the charts, as the run wrote them: the browser reads the same file that it offers for download.
_CSV: Final = {
    "alpha": "plots/alpha_curve.csv",
    "reliability": "plots/reliability.csv",
    "cover": "plots/coral_cover.csv",
    "training": "plots/training.csv",
    "sites": "metrics/by_site.csv",
    "conditions": "metrics/by_condition.csv",
}


class Stored(Protocol):
    """What holds the files of a run: the workspace, or a revision."""

    def read(self, path: str) -> bytes:
        """Return a file."""

    def document(self, path: str) -> Any:
        """Return what a JSON or YAML file holds."""

    def table(self, path: str, table: Table) -> pd.DataFrame:
        """Return a table."""


class Workspace:
    """The files of the run in the current folder."""

    def read(self, path: str) -> bytes:
        """Return a file."""
        return Path(path).read_bytes()

    def document(self, path: str) -> Any:
        """Return what a JSON file holds."""
        return read_json(Path(path))

    def table(self, path: str, table: Table) -> pd.DataFrame:
        """Return a table."""
        return table.read(Path(path))


@dataclass(frozen=True)
class Origin:
    """Where the run comes from.

    Args:
        name: The run for people, such as `main (1a2b3c4)`.
        audit: Verdict and checks of the audit, each a name, a status and a reason; None where none was made.
        facts: Further tables of what the number is made of: heading, column names, rows.
        commands: What to type to get it again.
    """

    name: str
    audit: tuple[str, Sequence[tuple[str, str, str]]] | None
    facts: Sequence[tuple[str, Sequence[str], Sequence[Sequence[str]]]]
    commands: Sequence[str]


def read_tables(stored: Stored, store: NDArray[np.uint8] | None) -> RunTables:
    """Read the tables that the page shows; `store` are the packed patches, None where they are not here."""
    return RunTables(
        patches=stored.table("data/predictions/patches.csv", PATCH_PREDICTIONS),
        frames=stored.table("data/predictions/frames.csv", FRAME_PREDICTIONS),
        catalog=stored.table("data/catalog/frames.csv", FRAMES),
        index=stored.table("data/patches/index.csv", PATCH_INDEX),
        patch_labels=stored.table("data/patches/labels.csv", PATCH_LABELS),
        frame_labels=stored.table("data/catalog/frame_labels.csv", FRAME_LABELS),
        repeats=stored.table("data/predictions/repeats.csv", REPEAT_PREDICTIONS),
        store=store,
    )


# Given the tables and some patches, the training patches that look most alike to the network, by their ids.
Alike = Callable[[RunTables, Sequence[str]], Sequence[Sequence[str]]]


def run_page(stored: Stored, store: NDArray[np.uint8] | None, origin: Origin, alike: Alike | None = None) -> str:
    """Return the page as HTML.

    Args:
        stored: Where the files of the run are.
        store: (N, S, S, 3) uint8, the packed patches, for the pictures.
        origin: What the page says of where the run comes from.
        alike: Finds training patches for the surest mistakes; None to show none.
    """
    metrics, details = stored.document("metrics/metrics.json"), stored.document("metrics/details.json")
    tables = read_tables(stored, store)
    data = frame_data(tables)
    shown = pictures(tables, data["frames"])
    surest, doubtful = doubts(tables, _MOST_DOUBTS)
    n_frames, rule = len(data["frames"]["id"]), str(details["rules"]["used"])
    data |= {
        "alpha": metrics[FRAME]["alpha"],
        "costs": [details["alpha"]["cost"][key] for key in ("false_deploy", "missed_deploy")]
        if isinstance(details["alpha"]["cost"], dict)
        else [1, 1],
        "ratioRule": rule == RATIO,
        "pictures": shown,
        "csv": {name: stored.read(path).decode("utf-8") for name, path in _CSV.items()},
        "surest": _with_alike(tables, surest, _doubt_rows(tables, surest, data["frames"]["id"]), alike),
        "doubtful": _doubt_rows(tables, doubtful, data["frames"]["id"]),
    }
    return html_page(
        "report.html.j2",
        _SCRIPTS,
        data,
        read_leaflet(),
        title=f"{origin.name}: patch macro F1 {percent(metrics[PATCH][HEADLINE])}",
        origin=origin,
        marks=_marks(metrics, details),
        tasks=[_task(task, metrics, details) for task in TASKS],
        classes=_class_rows(details),
        confusions=[_confusion(task, details) for task in TASKS],
        sources=details["data"]["sources"],
        frames=details["data"]["frames"],
        annotators=_annotators(tables),
        leakage=details["leakage"]["in_words"],
        calibration=details["calibration"],
        rule=rule,
        alpha=metrics[FRAME]["alpha"],
        best=details["alpha"]["best_on_validation"],
        coral=details["coral_cover"],
        ask=details["ask"] if isinstance(details.get("ask"), dict) else None,
        n_frames=n_frames,
        without_picture=n_frames - len(shown),
    )


def _marks(metrics: Mapping[str, Any], details: Mapping[str, Any]) -> list[str]:
    labels = [str(details[PATCH][split].get("labels")) for split in (VAL, TEST)]
    return [SYNTHETIC_NOTICE] * bool(metrics["data"]["synthetic"]) + label_notices(*labels)


def _task(task: Task, metrics: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the headline of a task: the score, how sure it is, and what it stands beside."""
    scores, test, trainings = metrics[task], details[task][TEST], details["trainings"]
    interval = test["intervals"][HEADLINE] if isinstance(test.get("intervals"), dict) else {"low": NOT_AVAILABLE}
    reason = test.get("intervals", "") if not isinstance(test.get("intervals"), dict) else interval.get("reason", "")
    best = details["baselines"]["best"][task]
    ceiling = details["human_ceiling"]
    people = ceiling[task] if isinstance(ceiling, dict) else []
    return {
        "task": task,
        "plural": "patches" if task == PATCH else "frame decisions",
        "n": scores["n"] if "n" in scores else test["n"],
        "value": scores[HEADLINE],
        "interval": interval,
        "reason": str(reason).removeprefix(f"{NOT_AVAILABLE}: "),
        "trainings": trainings["n"],
        "mean": scores[f"{HEADLINE}_mean"],
        "sd": scores[f"{HEADLINE}_sd"],
        "best": best if isinstance(best, dict) else None,
        "people": [(one["annotator"], one["human"][HEADLINE]) for one in people],
        "verdict": details["baselines"]["verdict"][task],
        "rows": [(entry.label, scores[key], entry.unit) for key, entry in SCORES[task].items() if key in scores],
        "validation": details[task][VAL].get(HEADLINE, NOT_AVAILABLE),
    }


def _class_rows(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    classes = details[PATCH][TEST].get("classes", {})
    found = [{"name": name, **classes[class_key(name)]} for name in CLASSES if class_key(name) in classes]
    return [row | {"colour": CLASS_COLOURS[row["name"]]} for row in found]


def _confusion(task: Task, details: Mapping[str, Any]) -> dict[str, Any]:
    found = details[task][TEST].get("confusion")
    names = CLASSES if task == PATCH else DECISIONS
    counts = found["counts"] if found else []
    rows = [{"name": name, "counts": row, "n": sum(row)} for name, row in zip(names, counts, strict=bool(counts))]
    return {"task": task, "names": names, "rows": rows}


def _with_alike(
    tables: RunTables, found: Sequence[Doubt], rows: list[dict[str, Any]], alike: Alike | None
) -> list[dict[str, Any]]:
    """Add to each mistake the training patches that look most alike, with their pictures and reference classes."""
    if alike is None or tables.store is None or not found:
        return rows
    gold = dict(zip(tables.patches["patch_id"], tables.patches["gold"], strict=True))
    for row, names in zip(rows, alike(tables, [one.patch_id for one in found]), strict=True):
        shown = patch_pictures(tables, names)
        row["alike"] = [{"gold": gold[name], "jpeg": jpeg} for name, jpeg in zip(names, shown, strict=True)]
    return rows


def _annotators(tables: RunTables) -> list[tuple[str, int, int, str]]:
    """Return each annotator, how many patches and frames they labelled, and whether they are the reference."""
    patches = tables.patch_labels[tables.patch_labels["label"] != ""].groupby("annotator").size()
    frames = tables.frame_labels[tables.frame_labels["label"] != ""].groupby("annotator").size()
    gold = {*tables.patch_labels.loc[tables.patch_labels["gold"] == 1, "annotator"]}
    gold |= {*tables.frame_labels.loc[tables.frame_labels["gold"] == 1, "annotator"]}
    names = sorted({*map(str, patches.index), *map(str, frames.index)})
    return [(n, int(patches.get(n, 0)), int(frames.get(n, 0)), "yes" if n in gold else "no") for n in names]


def _doubt_rows(tables: RunTables, found: Sequence[Doubt], frames: Sequence[str]) -> list[dict[str, Any]]:
    number = {frame: place for place, frame in enumerate(frames)}
    shown = patch_pictures(tables, [one.patch_id for one in found])
    return [
        {
            "frame": number[one.frame_id],
            "place": one.place,
            "site": one.site,
            "gold": one.gold,
            "answer": one.predicted,
            "p": one.probability,
            "why": one.why,
            "jpeg": jpeg,
        }
        for one, jpeg in zip(found, shown, strict=True)
    ]
