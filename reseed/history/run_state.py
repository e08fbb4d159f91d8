"""What one revision holds of a run, read leniently: an older revision may have other columns beside those needed."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from reseed.artifacts.splits import TEST
from reseed.base.cells import unguard
from reseed.base.errors import ReseedError, TableError
from reseed.history.repository import Repository, Revision
from reseed.score.paired import Answers

_PARAMS: Final = "params.yaml"
_PATCHES: Final = "data/predictions/patches.csv"
_FRAMES: Final = "data/predictions/frames.csv"
_CATALOG: Final = "data/catalog/frames.csv"
_SPLITS: Final = "data/catalog/splits.csv"
_ANNOTATIONS: Final = "data/catalog/annotations.csv"
_FRAME_LABELS: Final = "data/catalog/frame_labels.csv"
_SOURCES: Final = "data/raw.json"


@dataclass(frozen=True)
class RunState:
    """One run as its revision holds it.

    Args:
        revision: Where it was read.
        params: `params.yaml`.
        answers: Predictions on the test split.
        sources: `data/raw.json`.
        catalog: frame_id, sha256, synthetic of every frame.
        splits: frame_id, split.
        annotations: frame_id, x0, y0, x1, y1, label of every gold rectangle.
        frame_labels: frame_id, label of every gold frame label.
    """

    revision: Revision
    params: dict[str, Any]
    answers: Answers
    sources: tuple[dict[str, Any], ...]
    catalog: pd.DataFrame
    splits: pd.DataFrame
    annotations: pd.DataFrame
    frame_labels: pd.DataFrame

    @property
    def synthetic(self) -> bool:
        """Whether a test frame was rendered: then no score here is a field score."""
        rendered = self.catalog.loc[self.catalog["synthetic"] == "1", "frame_id"]
        return bool(self.answers.frames["frame_id"].isin(rendered).any())


def read_run(repository: Repository, revision: Revision) -> RunState:
    """Read a run.

    Raises:
        ReseedError: If the revision lacks a file, or an object is neither in the cache nor in the remote.
        TableError: If a table lacks a column that is needed.
    """

    def table(path: str, columns: Sequence[str]) -> pd.DataFrame:
        return read_columns(repository.read(revision, path), columns, f"{path} of {revision}")

    catalog = table(_CATALOG, ["frame_id", "sha256", "synthetic"])
    splits = table(_SPLITS, ["frame_id", "group", "split"])
    patches = table(_PATCHES, ["patch_id", "frame_id", "split", "gold", "predicted"])
    frames = table(_FRAMES, ["frame_id", "split", "gold", "decision"])
    return RunState(
        revision=revision,
        params=_params(repository.read(revision, _PARAMS), revision),
        answers=_answers(str(revision), patches, frames, splits, catalog),
        sources=_sources(repository.read(revision, _SOURCES), revision),
        catalog=catalog,
        splits=splits,
        annotations=_gold(table(_ANNOTATIONS, ["frame_id", "x0", "y0", "x1", "y1", "label", "gold"])),
        frame_labels=_gold(table(_FRAME_LABELS, ["frame_id", "label", "gold"])),
    )


def read_columns(content: bytes, columns: Sequence[str], where: str) -> pd.DataFrame:
    """Return the columns of a table as text, rows in file order.

    Raises:
        TableError: If it is no table or lacks one of them.
    """
    try:
        df = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False, encoding="utf-8")
    except (ValueError, pd.errors.ParserError) as error:
        raise TableError(f"{where}: {error}") from error
    missing = [name for name in columns if name not in df.columns]
    if missing:
        raise TableError(f"{where}: no column {', '.join(missing)}; found: {', '.join(df.columns)}")
    return df[list(columns)].map(unguard)


def _answers(
    name: str, patches: pd.DataFrame, frames: pd.DataFrame, splits: pd.DataFrame, catalog: pd.DataFrame
) -> Answers:
    labelled = patches[(patches["split"] == TEST) & (patches["gold"] != "")].sort_values("patch_id")
    test = frames[frames["split"] == TEST].sort_values("frame_id")
    test = test.merge(splits[["frame_id", "group"]], how="left", on="frame_id", validate="one_to_one")
    test = test.merge(catalog[["frame_id", "sha256"]], how="left", on="frame_id", validate="one_to_one")
    lost = test.loc[test[["group", "sha256"]].isna().any(axis=1), "frame_id"]
    if len(lost):
        raise TableError(
            f"{name}: {len(lost)} predicted test frames are not in the catalog, first: {lost.iloc[0]}; its files are "
            "of different runs: run `dvc repro` there"
        )
    if labelled.empty:
        raise TableError(f"{name}: no test patch has a reference class, so there is nothing to compare")
    return Answers(
        name,
        labelled[["patch_id", "frame_id", "gold", "predicted"]].reset_index(drop=True),
        test[["frame_id", "group", "gold", "decision", "sha256"]].reset_index(drop=True),
    )


def _gold(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["gold"] == "1"].drop(columns="gold").reset_index(drop=True)


def _params(content: bytes, revision: Revision) -> dict[str, Any]:
    try:
        values = YAML(typ="safe", pure=True).load(content.decode("utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        raise ReseedError(f"{_PARAMS} of {revision}: not readable as YAML: {' '.join(str(error).split())}") from error
    return dict(values) if isinstance(values, dict) else {}


def _sources(content: bytes, revision: Revision) -> tuple[dict[str, Any], ...]:
    entries = json.loads(content)
    if not isinstance(entries, list) or any(
        not isinstance(e, dict) or not {"name", "sha256"} <= set(e) for e in entries
    ):
        raise ReseedError(f"{_SOURCES} of {revision}: no list of sources with name and sha256")
    return tuple(entries)
