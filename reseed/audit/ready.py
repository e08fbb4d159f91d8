"""Can every stage run on the data at hand? Everything that is known of it without decoding a picture, in one list."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from reseed.artifacts.patches import SPLITS, TEST, TRAIN, VAL
from reseed.artifacts.raw import RawSource
from reseed.base.classes import CLASSES, DECISIONS
from reseed.base.errors import ReseedError
from reseed.params.catalog import CatalogParams
from reseed.params.extract import ExtractParams
from reseed.params.split import SplitParams
from reseed.patches.extract import plan
from reseed.patches.splits import Division, divide, label_weights
from reseed.sources.inventory import take_inventory
from reseed.survey.catalog import Catalog, Part, annotators_of, join_parts, read_part
from reseed.survey.images import glance_at_images
from reseed.survey.layouts.detect import AUTO, recognise

T = TypeVar("T")


@dataclass
class Findings:
    """What was found.

    Args:
        lines: What there is, for people.
        problems: What keeps a stage from running, one text each.
    """

    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def tried(self, run: Callable[[], T]) -> T | None:
        """Return what `run` returns, or None where a user error says why it cannot; the error is noted."""
        try:
            return run()
        except ReseedError as error:
            self.problems.append(str(error))
            return None


def look_at_data(sources: Sequence[tuple[RawSource, Path]], values: Mapping[str, Any]) -> Findings:
    """Return what the stages from catalog to evaluate would find.

    Args:
        sources: Every source with the folder of its files.
        values: Every section of the parameter file, valid.
    """
    found = Findings()
    params = CatalogParams.model_validate(values["catalog"])
    parts = []
    for source, root in sources:
        part = found.tried(lambda source=source, root=root: read_part(source, root, params, glance_at_images))  # type: ignore[misc]
        if part is None:
            found.problems += _other_layout(source, root, params)
            continue
        parts.append(part)
        found.lines += _source_lines(part)
        if not annotators_of(part):
            found.problems += _other_layout(source, root, params)
    catalog = _joined(parts, params, found) if len(parts) == len(sources) else None
    if catalog is not None:
        found.lines += catalog.remarks
        _look_at_stages(catalog, values, found)
    return found


def _other_layout(source: RawSource, root: Path, params: CatalogParams) -> Iterator[str]:
    """Yield what `layout: auto` takes a source for, where that is something else."""
    if source.layout == AUTO:
        return
    try:
        seen = recognise(take_inventory(source.name, root), AUTO, params)
    except ReseedError:
        return
    if seen.layout != source.layout:
        yield f"pull.sources {source.name}: layout: {source.layout}, but it looks like {seen.layout} ({seen.why})"


def _source_lines(part: Part) -> list[str]:
    """Return what a source holds, in words."""
    labels, places = part.reading.labels, part.reading.places.values()
    unusable = len(part.images.quarantined)
    n_rectangles, n_decisions = len(labels.rectangles), len(labels.frame_labels)
    number = f"{len(places)} frames at {len({place.site for place in places})} sites, {unusable} unusable images"
    who = ", ".join(annotators_of(part)) or "nobody"
    return [
        f"{part.source.name}: read as {part.recognised.layout} ({part.recognised.why})",
        f"  {number}; {n_rectangles} labels on patches, {n_decisions} on frames, by {who}",
    ]


def _joined(parts: list[Part], params: CatalogParams, found: Findings) -> Catalog | None:
    """Return the catalog; where the annotator cannot be told, that of the first one, so that the rest is looked at."""
    catalog = found.tried(lambda: join_parts(parts, params))
    names = [name for part in parts for name in annotators_of(part)]
    if catalog is None:
        try:
            catalog = join_parts(parts, params.model_copy(update={"annotator": names[0] if names else AUTO}))
        except ReseedError:
            return None
    return catalog


def _look_at_stages(catalog: Catalog, values: Mapping[str, Any], found: Findings) -> None:
    weights = label_weights(catalog.annotations, catalog.frame_labels)
    division = found.tried(lambda: divide(catalog.frames, weights, SplitParams.model_validate(values["split"])))
    extract = ExtractParams.model_validate(values["extract"])
    planned = found.tried(lambda: plan(catalog.frames, catalog.annotations, extract, catalog.pieces))
    if planned is not None:
        rows = [row for frame in planned.frames for row in frame.labels if row["gold"] == 1 and row["label"]]
        patches = pd.DataFrame(rows, columns=["patch_id", "label"])
        patches["frame_id"] = [str(name).rpartition("#")[0] for name in patches["patch_id"]]
        found.problems += _of_patches(patches, division, values["train"])
        found.problems += _of_frames(catalog.frame_labels, patches, division, values["aggregate"])
        found.lines += _counted(patches, catalog.frame_labels, division)
    if division is not None:
        found.lines += [f"split: {remark}" for remark in division.remarks]


def _of_patches(patches: pd.DataFrame, division: Division | None, train: Mapping[str, Any]) -> Iterator[str]:
    """Yield what training lacks."""
    if patches.empty:
        yield (
            "no patch has a reference label, so that there is nothing to train on: bring labels of patches, "
            "points or rectangles (docs/layouts.md), or set catalog.weak_labels: true for folders of whole frames"
        )
        return
    absent = [name for name in CLASSES if name not in set(patches["label"])]
    if absent:
        yield f"no patch is labelled {' or '.join(absent)}; present: {', '.join(sorted(set(patches['label'])))}"
    if division is None or train["checkpoint"] != "none":
        return
    split_of = patches["frame_id"].map(division.splits)
    way_out = "change split.seed, split.group_by or the fractions, or label more frames"
    lost = [name for name in CLASSES if name not in {*absent, *patches["label"][split_of == TRAIN]}]
    if lost:
        yield f"no patch of the train split is labelled {' or '.join(lost)}; {way_out}"
    if train["schedule"] == "plateau" and not (split_of == VAL).any():
        yield f"no patch of the val split has a reference label; {way_out}"


def _of_frames(
    labels: pd.DataFrame, patches: pd.DataFrame, division: Division | None, aggregate: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what the choice of alpha and the scores lack."""
    gold = labels[labels["gold"] == 1]
    way_out = "set aggregate.alpha to a number from 0 to 1, or label frames"
    if division is None:
        if isinstance(aggregate["alpha"], str) and gold.empty:
            yield f"aggregate.alpha is {aggregate['alpha']}, but no frame has a frame label; {way_out}"
        return
    split_of = gold["frame_id"].map(division.splits)
    if isinstance(aggregate["alpha"], str) and not (split_of == VAL).any():
        n_val = sum(split == VAL for split in division.splits.values())
        yield (
            f"aggregate.alpha is {aggregate['alpha']}, but none of the {n_val} validation frames has a frame label; "
            f"{way_out}"
        )
    if aggregate["rule"] == "logistic" and len(set(gold["label"][split_of == VAL])) < len(DECISIONS):
        yield "aggregate.rule is logistic, which needs validation frames of both decisions; set it to ratio"
    if not (split_of == TEST).any() and not (patches["frame_id"].map(division.splits) == TEST).any():
        yield "nothing of the test split has a reference label, so that there is no score; change split.*"


def _counted(patches: pd.DataFrame, labels: pd.DataFrame, division: Division | None) -> list[str]:
    classes = ", ".join(f"{name} {int((patches['label'] == name).sum())}" for name in CLASSES)
    gold = labels[labels["gold"] == 1]
    decided = ", ".join(f"{name} {int((gold['label'] == name).sum())}" for name in DECISIONS)
    lines = [f"labelled patches: {classes}; labelled frames: {decided}"]
    if division is not None:
        for split in SPLITS:
            frames = [frame for frame, of in division.splits.items() if of == split]
            groups = {division.groups[frame] for frame in frames}
            lines.append(f"split {split}: {len(frames)} frames of {len(groups)} groups")
    return lines


def look_at_machine(values: Mapping[str, Any], *, weights_file: bool, checkpoint_file: bool) -> list[str]:
    """Return what is wrong with devices, start weights and checkpoint; torch is loaded only where one is named.

    Args:
        values: Every section of the parameter file, valid.
        weights_file: Whether `train.weights` names a file that is there.
        checkpoint_file: Whether `train.checkpoint` does.
    """
    train, predict = values["train"], values["predict"]
    devices = {"train.device": train["device"], "predict.device": predict["device"]}
    named = {key: device for key, device in devices.items() if device not in ("auto", "cpu")}
    found = Findings()
    if named:
        from reseed.network.runtime import resolve_device  # noqa: PLC0415 - torch takes seconds to load

        for key, device in named.items():
            found.tried(lambda device=device, key=key: resolve_device(device, key))  # type: ignore[misc]
    if weights_file:
        from reseed.network.pretrained import find_weights  # noqa: PLC0415 - likewise

        found.tried(lambda: find_weights(train["backbone"], train["weights"]))
    if checkpoint_file:
        from reseed.network.pretrained import expand_path, read_checkpoint  # noqa: PLC0415 - likewise

        path = expand_path(train["checkpoint"])
        found.tried(lambda: read_checkpoint(path, train["backbone"], CLASSES, "train.backbone"))
    return found.problems
