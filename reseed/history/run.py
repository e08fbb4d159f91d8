"""A run at a revision, or in the workspace: its files, what dvc.lock recorded of them, its scores and its answers.

An older revision may have other columns beside those needed, so tables for comparing are read leniently.
"""

import io
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pandas as pd

from reseed.artifacts.patches import TEST
from reseed.artifacts.raw import label_notices
from reseed.artifacts.table import Table
from reseed.base.classes import CLASSES
from reseed.base.csv import unguard
from reseed.base.documents import parse_json, parse_yaml
from reseed.base.errors import ReseedError
from reseed.history.recorded import (
    read_answers,
    read_columns,
    read_lock,
    read_pipeline,
    read_trainings,
    require_inside,
    require_md5,
)
from reseed.history.repository import (
    HERE,
    MissingError,
    Repository,
    Revision,
    Tracked,
    bounded_bytes,
    md5_of,
    require_digest,
)
from reseed.score.registry import SCORES, TASKS, class_key

if TYPE_CHECKING:
    from reseed.score.paired import Answers

LOCK: Final = "dvc.lock"
RAW: Final = "data/raw"
METRICS: Final = "metrics/metrics.json"
DETAILS: Final = "metrics/details.json"
# Of each class, in details.json.
CLASS_SCORES: Final = ("precision", "recall", "f1", "support")
# What decides which test items there are and what is right for each: equal digests, equal test sets.
_TEST_SET: Final = (
    "data/catalog/frames.csv",
    "data/catalog/splits.csv",
    "data/catalog/frame_labels.csv",
    "data/patches/index.csv",
    "data/patches/labels.csv",
)
_REMEDY: Final = (
    "run `dvc push` where it was made and try again, or make it again: check the revision out and run `dvc repro`"
)


class Run:
    """A run, read when it is looked at: every property may raise a ReseedError.

    Args:
        repository: That it belongs to.
        revision: A commit, or the workspace.
        remote: Whether objects that the cache lacks come from the default remote: `never`, `read` or `keep`, which puts
            them into the cache.
    """

    def __init__(
        self, repository: Repository, revision: Revision = HERE, remote: Literal["never", "read", "keep"] = "never"
    ) -> None:
        self.repository = repository
        self.revision = revision
        self.remote = remote

    @property
    def name(self) -> str:
        """The revision for people."""
        return str(self.revision)

    @property
    def commit(self) -> str:
        """40 hex digits; empty for the workspace."""
        return self.revision.commit

    @cached_property
    def tracked(self) -> dict[str, Tracked]:
        """Every path that git tracks at this state, links and submodules too."""
        return self.repository.tracked(self.revision)

    def has(self, path: str) -> bool:
        """Whether git tracks a file of this path; a link is none."""
        return path in self.tracked and self.tracked[path].kind == "file"

    def source(self, path: str) -> bytes:
        """Return a file that git tracks.

        Raises:
            ReseedError: If there is none, or it is a link.
        """
        if path not in self.tracked:
            raise ReseedError(f"{self.name} has no {path}: it is no run of this project")
        return self._small[path] if path in self._small else self.repository.content(path, self.tracked[path])

    def read(self, path: str) -> bytes:
        """Return a file that git tracks, else the object of an output.

        Raises:
            MissingError: If its object is not stored here.
            ReseedError: If the run has no such file, or its object is damaged.
        """
        if path in self.tracked:
            return self.source(path)
        here = self.repository.root / path
        if path not in self.outputs:
            if not self.commit and here.is_file() and not here.is_symlink():
                return bounded_bytes(here, path)
            raise ReseedError(
                f"{self.name} has no {path}: neither git nor its {LOCK} knows it; run `dvc repro` there and commit "
                f"{LOCK}"
            )
        digest = str(self.outputs[path]["md5"])
        cached = self.repository.cached(digest)
        if not cached.is_file():
            lies_here = not self.commit and here.is_file() and not here.is_symlink()
            content = bounded_bytes(here, path) if lies_here else b""
            return content if md5_of(content) == digest else self._from_remote(path, digest)
        content = bounded_bytes(cached, path)
        if md5_of(content) != digest.removesuffix(".dir"):
            raise ReseedError(
                f"{cached}: damaged, it is not the {path} (md5 {digest}) of {self.name}; remove it and fetch"
            )
        return content

    def object(self, digest: str) -> Path | None:
        """Return the cached object of a md5, not compared with it; None if it is not here and cannot be fetched.

        Raises:
            ReseedError: If what was fetched does not hash to its name.
        """
        cached = self.repository.cached(digest)
        if not cached.is_file() and self.remote == "keep":
            try:
                self.repository.fetch(digest, f"object {digest}")
            except MissingError:
                return None
        return cached if cached.is_file() and not cached.is_symlink() else None

    def members(self, path: str) -> list[tuple[str, str]]:
        """Return path and md5 of every file of an output, itself if it is a file.

        Raises:
            MissingError: If it is a folder and the list of its files is not stored here.
            ReseedError: If the list is damaged or names a path outside.
        """
        digest = str(self.outputs[path]["md5"])
        if not digest.endswith(".dir"):
            return [(path, digest)]
        listing = self.object(digest)
        if listing is None:
            raise MissingError(f"{path}: no object {digest}")
        content = bounded_bytes(listing, f"the list of the files of {path}")
        require_digest(content, digest, f"the list of the files of {path}")
        entries = parse_json(content, f"the list of the files of {path}")
        if not isinstance(entries, list) or not all(
            isinstance(e, dict) and {"relpath", "md5"} <= set(e) for e in entries
        ):
            raise ReseedError(f"{path}: the list of its files is not of the known form; remove {listing} and fetch")
        found = [(f"{path}/{entry['relpath']}", str(entry["md5"])) for entry in entries]
        for member, md5 in found:
            require_inside(member.removeprefix(f"{path}/"), f"the list of the files of {path}")
            require_md5(md5, member)
        return found

    def mapping(self, path: str) -> dict[str, Any]:
        """Return the mapping that a YAML or JSON file of this run holds.

        Raises:
            ReseedError: If it is missing, damaged, beyond the limits of `parse_yaml`, or holds something else.
        """
        value = self.document(path)
        if not isinstance(value, dict):
            raise ReseedError(f"{path} of {self.name}: holds {type(value).__name__}, expected a mapping")
        return value

    def document(self, path: str) -> Any:
        """Return what a YAML or JSON file of this run holds.

        Raises:
            ReseedError: See `mapping`.
        """
        parse = parse_json if path.endswith(".json") else parse_yaml
        return parse(self.read(path), f"{path} of {self.name}")

    def table(self, path: str, table: Table) -> pd.DataFrame:
        """Read a table of this run.

        Raises:
            MissingError: If its object is not here.
            TableError: If it has another form.
        """
        return table.parse(self.read(path), f"{path} of {self.name}")

    @cached_property
    def lock(self) -> dict[str, dict[str, Any]]:
        """What dvc.lock says of each stage; empty without one.

        Raises:
            ReseedError: See `read_lock`.
        """
        return read_lock(self.mapping(LOCK), f"{LOCK} of {self.name}") if LOCK in self.tracked else {}

    @cached_property
    def pipeline(self) -> dict[str, dict[str, Any]]:
        """The stages of dvc.yaml.

        Raises:
            ReseedError: See `read_pipeline`.
        """
        return read_pipeline(self.mapping("dvc.yaml"), f"dvc.yaml of {self.name}")

    @cached_property
    def outputs(self) -> dict[str, dict[str, Any]]:
        """The entry in dvc.lock of each output, by its path."""
        return {out["path"]: out for stage in self.lock.values() for out in stage.get("outs") or []}

    @property
    def digests(self) -> dict[str, str]:
        """The md5 of each output, by its path."""
        return {path: str(out["md5"]) for path, out in self.outputs.items()}

    @cached_property
    def params(self) -> dict[str, Any]:
        """`params.yaml`."""
        return self.mapping("params.yaml")

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """`metrics/metrics.json`."""
        return self.mapping(METRICS)

    @cached_property
    def details(self) -> dict[str, Any]:
        """`metrics/details.json`."""
        return self.mapping(DETAILS)

    @cached_property
    def sites(self) -> pd.DataFrame:
        """Test rows of `metrics/by_site.csv`, percent, NaN where there is no score."""
        content = self.read("metrics/by_site.csv")
        sites = pd.read_csv(io.BytesIO(content), dtype={"site": str}, keep_default_na=False)
        sites["site"] = sites["site"].map(unguard)
        scores = [name for name in sites.columns if name not in {"split", "site"}]
        sites[scores] = sites[scores].apply(pd.to_numeric, errors="coerce")
        return sites[sites["split"] == TEST].reset_index(drop=True)

    @property
    def label_notices(self) -> list[str]:
        """What every score must say of the labels: those of test patches are inherited, or some are of a machine."""
        return label_notices(self.details["patch"][TEST].get("labels"))

    @property
    def scores_synthetic(self) -> bool:
        """Whether the scores are marked as those of rendered frames: then none is a field score."""
        return bool(self.metrics["data"]["synthetic"])

    def same_test_set(self, other: "Run") -> bool:
        """Whether the digests show that both have the same test items with the same reference; False if they do not."""
        own, others = ([run.digests.get(path) for path in _TEST_SET] for run in (self, other))
        return None not in own and own == others

    @cached_property
    def catalog(self) -> pd.DataFrame:
        """frame_id, sha256, synthetic of every frame."""
        return self.columns("data/catalog/frames.csv", ["frame_id", "sha256", "synthetic"])

    @cached_property
    def splits(self) -> pd.DataFrame:
        """frame_id, group, split of every frame."""
        return self.columns("data/catalog/splits.csv", ["frame_id", "group", "split"])

    @cached_property
    def annotations(self) -> pd.DataFrame:
        """frame_id, x0, y0, x1, y1, label of every gold rectangle."""
        return self._gold("data/catalog/annotations.csv", ["frame_id", "x0", "y0", "x1", "y1", "label"])

    @cached_property
    def frame_labels(self) -> pd.DataFrame:
        """frame_id, label of every gold frame label."""
        return self._gold("data/catalog/frame_labels.csv", ["frame_id", "label"])

    @cached_property
    def sources(self) -> tuple[dict[str, Any], ...]:
        """`data/raw.json`."""
        entries = self.document("data/raw.json")
        if not isinstance(entries, list) or any(
            not isinstance(e, dict) or not {"name", "sha256"} <= set(e) for e in entries
        ):
            raise ReseedError(f"data/raw.json of {self.name}: no list of sources with name and sha256")
        return tuple(entries)

    @cached_property
    def answers(self) -> "Answers":
        """Predictions on the test split.

        Raises:
            TableError: If tables are of different runs, or no test patch has a reference class.
        """
        return read_answers(self)

    @cached_property
    def trainings(self) -> "tuple[Answers, ...]":
        """The answers of every training of the recipe, the first first; one where the run has no repeats.

        Raises:
            TableError: If a training does not answer every test item.
        """
        return read_trainings(self)

    @property
    def synthetic(self) -> bool:
        """Whether a test frame was rendered: then no score here is a field score."""
        rendered = self.catalog.loc[self.catalog["synthetic"] == "1", "frame_id"]
        return bool(self.answers.frames["frame_id"].isin(rendered).any())

    def with_result(self) -> "Run":
        """Return this run, its committed result looked through, so that a file of another form is named here.

        Raises:
            ReseedError: If there is no result, or one of another form than this version knows.
        """
        try:
            found = [
                self.sites[["site", "n_patches", "n_frames", "macro_f1", "frame_accuracy"]],
                self.scores_synthetic,
                *(self.metrics[task][name] for task in TASKS for name in ("n", *SCORES[task])),
                *(self.details[task][TEST]["n"] for task in TASKS),
                *(
                    self.details["patch"][TEST]["classes"][class_key(name)][score]
                    for name in CLASSES
                    for score in CLASS_SCORES
                ),
                self.params,
                self.outputs,
            ]
            _require_known(found)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ReseedError(
                f"the result of {self.name} is not of the form that this version writes ({type(error).__name__}: "
                f"{' '.join(str(error).split())}); run `dvc repro` there and commit"
            ) from error
        return self

    def with_answers(self) -> "Run":
        """Return this run, every single answer read, so that what is missing is named here.

        Raises:
            ReseedError: If a file is missing, or an object is neither in the cache nor in the remote.
        """
        _ = (self.catalog, self.splits, self.params, self.trainings, self.sources, self.annotations, self.frame_labels)
        return self

    @cached_property
    def _small(self) -> dict[str, bytes]:
        return self.repository.small_files(self.tracked)

    def _from_remote(self, path: str, digest: str) -> bytes:
        what = f"{path} of {self.name} (md5 {digest})"
        if self.remote == "never":
            raise MissingError(f"{what}: its object is not here; `--fetch` or `dvc pull` gets it")
        try:
            with tempfile.TemporaryDirectory(prefix="reseed-") as folder:
                goal = None if self.remote == "keep" else Path(folder, digest)
                return bounded_bytes(self.repository.fetch(digest, what, goal), what)
        except MissingError as error:
            raise MissingError(f"{error}; {_REMEDY}") from error

    def columns(self, path: str, columns: Sequence[str]) -> pd.DataFrame:
        """Return columns of a table as text, rows in file order.

        Raises:
            TableError: If it is no table or lacks one of them.
        """
        return read_columns(self.read(path), columns, f"{path} of {self.name}")

    def _gold(self, path: str, columns: Sequence[str]) -> pd.DataFrame:
        table = self.columns(path, [*columns, "gold"])
        return table[table["gold"] == "1"].drop(columns="gold").reset_index(drop=True)


def _require_known(found: Sequence[Any]) -> None:
    if any(value is None for value in found):
        raise TypeError("a score is null")
