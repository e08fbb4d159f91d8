"""`python -m reseed check`: is the parameter file sound, is what it names there, can every stage run on the data?

A pipeline does not see that a folder outside of it changed: this command looks. It reads the header of each picture and
every table, and says everything that is wrong at once.
"""

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from reseed.artifacts.raw import RawSource, read_raw
from reseed.audit.ready import look_at_data, look_at_machine
from reseed.base.errors import ParamsError, ReseedError, SourceError, TableError
from reseed.base.urls import require_no_secret
from reseed.params.aggregate import AggregateParams
from reseed.params.baselines import BaselinesParams
from reseed.params.catalog import CatalogParams
from reseed.params.demo import DemoParams
from reseed.params.evaluate import EvaluateParams
from reseed.params.extract import ExtractParams
from reseed.params.load import Section, join_problems, read_yaml, section_problems
from reseed.params.predict import PredictParams
from reseed.params.pull import PullParams, Source
from reseed.params.split import SplitParams
from reseed.params.train import RepeatedTrainParams
from reseed.sources.folder import resolve_uri
from reseed.sources.pull import delivered_sha256, require_pin
from reseed.survey.labels import label_map, read_label_map

SECTIONS: Final[dict[str, type[Section]]] = {
    "pull": PullParams,
    "demo": DemoParams,
    "catalog": CatalogParams,
    "split": SplitParams,
    "extract": ExtractParams,
    "train": RepeatedTrainParams,
    "predict": PredictParams,
    "baselines": BaselinesParams,
    "aggregate": AggregateParams,
    "evaluate": EvaluateParams,
}


def require_valid(path: Path) -> dict[str, Any]:
    """Check every section of the parameter file at `path` and return its values.

    Raises:
        ParamsError: Names every problem of every section, and every section that does not exist.
    """
    values = read_yaml(path)
    problems = [f"{name}: unknown section; allowed: {', '.join(SECTIONS)}" for name in values if name not in SECTIONS]
    for name, model in SECTIONS.items():
        problems += section_problems(values, name, model)
    if problems:
        raise ParamsError(join_problems(path, problems))
    return values


RAW_RECORD = Path("data/raw.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--params", type=Path, default=Path("params.yaml"), metavar="FILE", help="parameter file; default: params.yaml"
    )


def run(arguments: argparse.Namespace) -> int:
    """Say of every source whether it is as pinned and as pulled; 0 unless something stands in the way of a run."""
    values = require_valid(arguments.params)
    sys.stdout.write(f"{arguments.params}: all {len(SECTIONS)} sections valid\n")
    pulled = {entry.name: entry for entry in read_raw(RAW_RECORD)} if RAW_RECORD.is_file() else {}
    problems = []
    for source in PullParams.model_validate(values["pull"]).sources:
        try:
            sys.stdout.write(f"{source.name}: {_state(source, pulled.get(source.name))}\n")
        except SourceError as error:
            problems.append(str(error))
    problems += [*_files(values["train"]), *_label_map(values)]
    named = {key: values["train"][key] not in ("none", "imagenet") for key in ("weights", "checkpoint")}
    there = {
        key: names and not any(text.startswith(f"train.{key}:") for text in problems) for key, names in named.items()
    }
    problems += look_at_machine(values, weights_file=there["weights"], checkpoint_file=there["checkpoint"])
    problems += _look(values, pulled)
    if problems:
        listed = list(dict.fromkeys(problems))
        count = f"{len(listed)} problems" if len(listed) > 1 else "1 problem"
        raise ReseedError("\n".join([f"{arguments.params}: {count}", *(f"  {text}" for text in listed)]))
    return 0


def _look(values: dict[str, Any], pulled: dict[str, RawSource]) -> list[str]:
    """Look into the data that is at hand, print what is there, and return what is wrong with it."""
    sources, elsewhere = [], []
    for source in PullParams.model_validate(values["pull"]).sources:
        root = _folder_of(source, pulled.get(source.name))
        if root is None:
            elsewhere.append(source.name)
        else:
            sources.append((_as_pulled(source), root))
    if elsewhere:
        sys.stdout.write(f"{', '.join(elsewhere)}: not looked into; run `dvc repro pull`, then check again\n")
        return []
    found = look_at_data(sources, values)
    sys.stdout.writelines(f"{line}\n" for line in found.lines)
    return found.problems


def _folder_of(source: Source, pulled: RawSource | None) -> Path | None:
    """Return the folder in which the files of a source lie now: its own, else where it was pulled to."""
    if source.kind == "folder":
        with contextlib.suppress(SourceError):
            if (folder := resolve_uri(source.uri)).is_dir():
                return folder
    copy = RAW_RECORD.parent / "raw" / source.name
    known = pulled is not None and (pulled.kind, pulled.uri) == (source.kind, source.uri)
    return copy if known and copy.is_dir() else None


def _as_pulled(source: Source) -> RawSource:
    kept = source.model_dump(include={"name", "kind", "uri", "layout", "licence", "citation", "split"})
    synthetic = source.kind == "demo"
    return RawSource(**kept, sha256=source.sha256 or "", bytes=0, files=0, pinned=False, synthetic=synthetic)


def _files(train: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with `train.weights` and `train.checkpoint` if they name files."""
    for key, words in (("weights", ("none", "imagenet")), ("checkpoint", ("none",))):
        if train[key] in words:
            continue
        try:
            path = resolve_uri(train[key])
        except SourceError as error:
            yield f"train.{key}: {error}"
            continue
        if not path.is_file():
            yield (
                f"train.{key}: {path}: no such file; give the path of a state_dict (relative paths start at the "
                f"repository root), {' or '.join(words)}"
            )


def _label_map(values: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with `catalog.label_map`: written out, or a file in the folder of a source."""
    given = values["catalog"]["label_map"]
    try:
        if isinstance(given, dict):
            label_map(given, "catalog.label_map")
            return
        for folder in _folders(PullParams.model_validate(values["pull"]).sources):
            if (folder / given).is_file():
                read_label_map(folder / given, f"catalog.label_map {folder / given}")
    except TableError as error:
        yield str(error)


def _folders(sources: list[Source]) -> Iterator[Path]:
    for source in sources:
        with contextlib.suppress(SourceError):  # said above
            if source.kind == "folder":
                yield resolve_uri(source.uri)


def _state(source: Source, pulled: RawSource | None) -> str:
    """Return the state of one source in words.

    Raises:
        SourceError: If it is pinned and differs, or if it is neither here nor pulled.
    """
    if source.kind == "demo":
        return "rendered by the pipeline, synthetic"
    comparable = pulled if pulled is not None and (pulled.kind, pulled.uri) == (source.kind, source.uri) else None
    if source.kind == "url":
        require_no_secret(source.uri)
        return _state_of_url(source, comparable)
    try:
        sha256 = delivered_sha256(source)
    except SourceError as error:
        if comparable is None:
            raise SourceError(f"pull.sources {source.name}: {error}") from error
        # A clone that got data/raw from a DVC remote works without the source.
        return f"cannot be compared ({error}); as pulled before, sha256 {comparable.sha256}"
    require_pin(source, sha256)
    pin = "pinned, ok" if source.sha256 is not None else "unpinned"
    if comparable is None:
        return f"{pin}, not pulled yet, sha256 {sha256}"
    if comparable.sha256 == sha256:
        return f"{pin}, unchanged since it was pulled, sha256 {sha256}"
    return (
        f"{pin}, CHANGED since it was pulled: run `dvc repro -f pull` to take it in\n"
        f"  pulled  {comparable.sha256}\n  found   {sha256}"
    )


def _state_of_url(source: Source, pulled: RawSource | None) -> str:
    """Return the state of a download; it is not fetched again only to be compared."""
    if pulled is None:
        return f"{'pinned' if source.sha256 else 'unpinned'}, not pulled yet; compared when it is downloaded"
    require_pin(source, pulled.sha256)
    return (
        f"{'pinned, ok' if source.sha256 else 'unpinned'}, as pulled before, sha256 {pulled.sha256}; "
        "`dvc repro -f pull` downloads it again"
    )
