"""What people say of a model, and the REFORMS checklist: what the record of a run answers, and what people must."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from jinja2 import Environment, StrictUndefined
from pydantic import ValidationError

from reseed.artifacts.patches import TEST
from reseed.base.errors import ReseedError
from reseed.history.run import METRICS, Run
from reseed.params.load import Section
from reseed.reports.page import interval_text
from reseed.score.registry import FRAME, HEADLINE, NOT_AVAILABLE, PATCH

WORDS: Final = "card.yaml"
NOT_STATED: Final = "not stated"
_MOST_RESULTS: Final = 200
_ITEMS: Final = Path(__file__).with_suffix(".yaml")


class People(Section):
    """`card.yaml`: what only people know."""

    owner: str
    contact: str
    version: str
    model_licence: str
    population: str
    population_reason: str
    learning_reason: str
    sampling: str
    collected: str
    labelling: str
    evaluation_reason: str
    backbone_reason: str
    inputs_reason: str
    elsewhere: str
    limits: str
    latency: str


def read_people(run: Run) -> People:
    """Return what people wrote down for a run; everything is not stated where it has no `card.yaml`.

    Raises:
        ReseedError: If the file lacks a key, has one too many, or a value is no text.
    """
    if not run.has(WORDS):
        return People(**dict.fromkeys(People.model_fields, NOT_STATED))
    try:
        return People.model_validate(run.mapping(WORDS))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise ReseedError(
            f"{WORDS} of {run.name}: {key}: {first['msg'].lower()}; allowed: each of {', '.join(People.model_fields)} "
            f"with a text, `{NOT_STATED}` where it is not known"
        ) from error


@dataclass(frozen=True)
class Item:
    """One item of the checklist.

    Args:
        key: Such as `3a`.
        module: What it belongs to.
        question: In our words.
        state: `record`, `people` or `open`.
        answer: What is known; what to write down where it is open.
    """

    key: str
    module: str
    question: str
    state: str
    answer: str


def results_on_this_test_set(run: Run) -> str:
    """Return how many different results, of commits and experiments, were scored on the test set of a run."""
    seen: set[str] = set()
    changes = run.repository.last_changes(run.revision, METRICS, _MOST_RESULTS, everywhere=True)
    for revision, _, _ in changes:
        other = Run(run.repository, revision)
        try:
            if other.same_test_set(run):
                seen.add(other.tracked[METRICS].blob)
        except (ReseedError, KeyError):
            continue
    more = f"; only the last {_MOST_RESULTS} changes were looked at" if len(changes) == _MOST_RESULTS else ""
    word = "result" if len(seen) == 1 else "different results"
    return f"{len(seen)} {word} in the commits and experiments of this clone{more}"


def checklist(run: Run, people: People, statement: Mapping[str, Any]) -> list[Item]:
    """Return the 32 items, each answered by the record, by people, or open.

    Args:
        run: With a result.
        people: See `read_people`.
        statement: The data statement of the audit; empty where it cannot be given.
    """
    environment, known = Environment(undefined=StrictUndefined, autoescape=False), _known(run, statement)  # noqa: S701
    items = []
    for row in yaml.safe_load(_ITEMS.read_text(encoding="utf-8")):
        recorded = [environment.from_string(row["record"]).render(known)] if "record" in row else []
        names = row.get("people", [])
        stated = [text for name in names if (text := getattr(people, name).strip()) != NOT_STATED]
        answer = " ".join([*recorded, *stated]) or f"write {' and '.join(names)} in {WORDS}"
        state = "record" if recorded else "people" if stated else "open"
        items.append(Item(str(row["key"]), row["module"], row["question"], state, answer))
    return items


def _known(run: Run, statement: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the texts of `reforms.yaml` speak of."""
    params, details = run.params, run.details
    data, patch, frame = details.get("data") or {}, details[PATCH][TEST], details[FRAME][TEST]
    intervals = patch.get("intervals")
    named = ("numerics", "backbone", "weights", "patch_size", "input_size", "group_by", "seed")
    absent = dict.fromkeys(named, NOT_AVAILABLE)
    left_out = statement.get("quarantined") or {}
    return {
        **{section: absent | (params.get(section) or {}) for section in ("train", "extract", "split")},
        "sources": data.get("sources") or [],
        "commit": run.commit,
        "annotator": statement.get("annotator"),
        "classes": patch.get("classes") or {},
        "frames": data.get("frames") or {},
        "patch": {"unlabelled": NOT_AVAILABLE, **patch},
        "frame": {"unlabelled": NOT_AVAILABLE, **frame},
        "left_out": ", ".join(f"{n} {kind} ({why})" for kind, found in left_out.items() for why, n in found.items()),
        "trainings": (details.get("trainings") or {}).get("n", 1),
        "results": results_on_this_test_set(run),
        "baselines": {PATCH: None, FRAME: None} | ((details.get("baselines") or {}).get("best") or {}),
        "best": lambda found: f"{found['name']} {found[HEADLINE]:.1f} %" if isinstance(found, dict) else NOT_AVAILABLE,
        "leakage": (details.get("leakage") or {}).get("in_words") or NOT_AVAILABLE,
        "interval": interval_text(intervals.get(HEADLINE)) if isinstance(intervals, dict) else str(intervals),
        "n_sites": len(run.sites),
    }
