"""Layout `frame-folders`: whole frames, in one folder for each decision.

`[.../](train|test|*TrainSplit|*TestSplit)/[Site/]<Deploy|No-Deploy>/<frame>`: the folder is the decision for the frame.
With `catalog.weak_labels` there may be a third folder, `Coral` (decision No-Deploy), and every patch inherits the class
of the folder, as a label of kind `weak` that every score made with it speaks of.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from reseed.artifacts.annotations import WEAK
from reseed.base.classes import CORAL, DEPLOY, NO_DEPLOY
from reseed.base.errors import TableError
from reseed.params.catalog import CatalogParams
from reseed.sources.inventory import Inventory
from reseed.survey.images import ImageFacts, Images
from reseed.survey.labels import FrameLabel, LabelMaps, Labels, Rectangle
from reseed.survey.layouts.class_folders import (
    ANNOTATOR,
    FolderLabel,
    has_time,
    in_several_splits,
    left_out,
    read_class_folders,
)
from reseed.survey.layouts.reading import Place, Reading

DUPLICATE: Final = "duplicate_frame"

_SHOWN: Final = 10


def read_frame_folders(inventory: Inventory, images: Images, params: CatalogParams) -> Reading:
    """Understand a source of layout `frame-folders`.

    Args:
        inventory: The files of the source.
        images: Its images, examined.
        params: Section `catalog`; `weak_labels`, `label_map` and `on_conflict` are used.

    Raises:
        TableError: If an image lies in no folder of a decision, in a folder `Coral` without `weak_labels`, or in
            folders of both decisions.
    """
    maps = LabelMaps(inventory, params)
    everything = read_class_folders(inventory.source, inventory.images, maps)
    null = left_out(said for said in everything if said.path in images.usable)
    coral = [said for said in everything if said.label == CORAL]
    if coral and not params.weak_labels:
        raise TableError(
            f"{inventory.source}: {len(coral)} frames are in a folder {coral[0].source_label!r}, first: "
            f"{coral[0].path}; a frame's decision is {DEPLOY} or {NO_DEPLOY}. If every patch shall inherit the class "
            "of its frame, as a weak label, set catalog.weak_labels: true; if these are patches, the layout is "
            "patch-folders"
        )
    labelled = [said for said in everything if said.label and said.path in images.usable]
    groups = _same_frames(labelled, images.usable)
    against = [group for group in groups if len({said.label for said in group}) > 1]
    if against and params.on_conflict == "error":
        lines = [" / ".join(said.path for said in group) for group in against[:_SHOWN]]
        raise TableError(
            f"{inventory.source}: {len(against)} frames are in folders of different classes: {'; '.join(lines)}"
            f"{' ...' if len(against) > _SHOWN else ''}; keep one of each, or set catalog.on_conflict: drop to go on "
            "without their labels"
        )
    unsure = {group[0].path for group in against}
    kept = [group[0] for group in groups]
    return Reading(
        places={said.path: _place(inventory.source, said) for said in sorted(kept, key=lambda said: said.path)},
        labels=_labels(
            [said for said in kept if said.path not in unsure],
            images.usable,
            {"frame_label_rows": len(labelled), "frame_label_contradictions_dropped": sum(map(len, against))},
            weak=params.weak_labels,
        ),
        tables=tuple(sorted(maps.files)),
        counts={
            "frames_in_several_splits": in_several_splits(
                (said.site, said.stem, said.given_split) for said in kept if has_time(said.stem)
            )
        },
        ignored=null | {said.path: DUPLICATE for group in groups for said in group[1:]},
    )


def _same_frames(labelled: Sequence[FolderLabel], usable: Mapping[str, ImageFacts]) -> list[list[FolderLabel]]:
    """Group images of one split that show the same frame: the same bytes, or a name with the same time at one site."""
    group_of: dict[tuple[str, ...], list[FolderLabel]] = {}
    groups: list[list[FolderLabel]] = []
    for said in sorted(labelled, key=lambda said: said.path):
        keys = [("content", said.given_split, usable[said.path].sha256)]
        if has_time(said.stem):
            # The folder keeps cameras apart: they take pictures at the same time.
            keys.append(("name", said.given_split, PurePosixPath(said.folder, said.stem).as_posix()))
        group = next((group_of[key] for key in keys if key in group_of), None)
        if group is None:
            group = []
            groups.append(group)
        group.append(said)
        group_of |= dict.fromkeys(keys, group)
    return groups


def _labels(
    labelled: Sequence[FolderLabel], usable: Mapping[str, ImageFacts], counts: dict[str, int], *, weak: bool
) -> Labels:
    decisions = [FrameLabel(said.path, ANNOTATOR, DEPLOY if said.label == DEPLOY else NO_DEPLOY) for said in labelled]
    rectangles = [
        Rectangle(
            said.path,
            ANNOTATOR,
            *(0, 0, usable[said.path].width_px, usable[said.path].height_px),
            said.label,
            WEAK,
            said.source_label,
        )
        for said in labelled
        if weak
    ]
    kept = {"frame_label_kept": len(decisions), "annotation_weak": len(rectangles)}
    return Labels(
        tuple(sorted(rectangles, key=lambda r: r.path)), tuple(sorted(decisions, key=lambda d: d.path)), counts | kept
    )


def _place(source: str, said: FolderLabel) -> Place:
    return Place(site=said.site or source, sequence="", given_split=said.given_split)
