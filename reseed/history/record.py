"""The result that a revision holds in git: scores, parameters and digests, readable without data or cache."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from reseed.artifacts.splits import TEST
from reseed.base.cells import unguard
from reseed.base.classes import CLASSES
from reseed.base.errors import ReseedError
from reseed.history.repository import Repository, Revision
from reseed.score.percent import class_key
from reseed.score.registry import FRAME, PATCH, SCORES, Task

TASKS: Final[tuple[Task, ...]] = (PATCH, FRAME)
# What decides which test items there are and what is right for each: equal digests, equal test sets.
_TEST_SET: Final = (
    "data/catalog/frames.csv",
    "data/catalog/splits.csv",
    "data/catalog/frame_labels.csv",
    "data/patches/index.csv",
    "data/patches/labels.csv",
)
# Of each class, in details.json.
CLASS_SCORES: Final = ("precision", "recall", "f1", "support")
_SITES: Final = "metrics/by_site.csv"


@dataclass(frozen=True)
class Record:
    """A committed result.

    Args:
        revision: Where it was read.
        metrics: `metrics/metrics.json`.
        details: `metrics/details.json`.
        sites: Test rows of `metrics/by_site.csv`, percent, NaN where there is no score.
        params: `params.yaml`.
        digests: md5 of each output in `dvc.lock`, by its path.
    """

    revision: Revision
    metrics: dict[str, Any]
    details: dict[str, Any]
    sites: pd.DataFrame
    params: dict[str, Any]
    digests: dict[str, str]

    @property
    def synthetic(self) -> bool:
        """Whether the frames were rendered: then no score here is a field score."""
        return bool(self.metrics["data"]["synthetic"])

    @property
    def weak(self) -> bool:
        """Whether test patches inherited the label of their frame."""
        return bool(self.details["patch"][TEST].get("labels") == "weak")

    def same_test_set(self, other: "Record") -> bool:
        """Whether the digests show that both have the same test items with the same reference; False if they do not."""
        own, others = ([record.digests.get(path) for path in _TEST_SET] for record in (self, other))
        return None not in own and own == others


def read_record(repository: Repository, revision: Revision) -> Record:
    """Read the result of a revision.

    Raises:
        ReseedError: If it has none, or one of another form than this version knows.
    """
    try:
        sites = pd.read_csv(io.BytesIO(repository.read(revision, _SITES)), dtype={"site": str}, keep_default_na=False)
        sites["site"] = sites["site"].map(unguard)
        scores = [name for name in sites.columns if name not in {"split", "site"}]
        sites[scores] = sites[scores].apply(pd.to_numeric, errors="coerce")
        record = Record(
            revision=revision,
            metrics=_json(repository, revision, "metrics/metrics.json"),
            details=_json(repository, revision, "metrics/details.json"),
            sites=sites[sites["split"] == TEST].reset_index(drop=True),
            params=_yaml(repository, revision, "params.yaml"),
            digests=_digests(_yaml(repository, revision, "dvc.lock")),
        )
        _require_known(record)
    except (ValueError, KeyError, TypeError, AttributeError, YAMLError) as error:
        raise ReseedError(
            f"the result of {revision} is not of the form that this version writes ({type(error).__name__}: "
            f"{' '.join(str(error).split())}); run `dvc repro` there and commit"
        ) from error
    return record


def _require_known(record: Record) -> None:
    """Look up what the report stands on, so that a file of another form fails here and is named by its revision."""
    found = [
        record.metrics["data"]["synthetic"],
        *(record.metrics[task][name] for task in TASKS for name in ("n", *SCORES[task])),
        *(record.details[task][TEST]["n"] for task in TASKS),
        *(
            record.details["patch"][TEST]["classes"][class_key(name)][score]
            for name in CLASSES
            for score in CLASS_SCORES
        ),
        record.sites[["site", "n_patches", "n_frames", "macro_f1", "frame_accuracy"]],
    ]
    if any(value is None for value in found):
        raise TypeError("a score is null")


def _json(repository: Repository, revision: Revision, path: str) -> dict[str, Any]:
    value = json.loads(repository.read(revision, path))
    if not isinstance(value, dict):
        raise TypeError(f"{path} holds {type(value).__name__}")
    return value


def _yaml(repository: Repository, revision: Revision, path: str) -> dict[str, Any]:
    value = YAML(typ="safe", pure=True).load(repository.read(revision, path).decode("utf-8"))
    if not isinstance(value, Mapping):
        raise TypeError(f"{path} holds {type(value).__name__}")
    return dict(value)


def _digests(lock: Mapping[str, Any]) -> dict[str, str]:
    stages = lock.get("stages") or {}
    return {str(out["path"]): str(out.get("md5")) for stage in stages.values() for out in stage.get("outs") or []}
