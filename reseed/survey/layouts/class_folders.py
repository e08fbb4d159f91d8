"""Folders named after classes, above patches or above whole frames: found by name and never by position.

Layout `frame-folders`: whole frames, in one folder for each decision.

`[.../](train|test|*TrainSplit|*TestSplit)/[Site/]<Deploy|No-Deploy>/<frame>`: the folder is the decision for the frame.
With `catalog.weak_labels` there may be a third folder, `Coral` (decision No-Deploy), and every patch inherits the class
of the folder, as a label of kind `weak` that every score made with it names.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from reseed.artifacts.catalog import WEAK
from reseed.artifacts.patches import TEST, TRAIN, VAL
from reseed.base.classes import CLASSES, CORAL, DEPLOY, NO_DEPLOY, fold_label
from reseed.base.errors import TableError
from reseed.params.catalog import CatalogParams
from reseed.sources.inventory import Inventory
from reseed.survey.identity import is_camera_folder, site_folders, spelling_key
from reseed.survey.images import ImageFacts, Images
from reseed.survey.labels import FrameLabel, LabelMaps, Labels, Rectangle, no_label_map
from reseed.survey.layouts.reading import Place, Reading

# Folders name no annotator; one name for all of them, so that several such sources have one annotator in common.
ANNOTATOR: Final = "folders"
MAPPED_TO_NULL: Final = "mapped_to_null"

_SPLIT_FOLDER = re.compile(r"(?:(train|training)|(test|testing)|(val|valid|validation))|.*(train|test|val)split")
_SPLITS: Final = {"tr": TRAIN, "te": TEST, "va": VAL}
_TIME = re.compile(r"(?<!\d)\d{8}_\d{6}(?!\d)")
_SHOWN: Final = 10


@dataclass(frozen=True)
class FolderLabel:
    """What the folders above one image say.

    Args:
        path: POSIX path of the image below the source.
        label: The class whose folder it lies in; empty if the label map leaves that folder out.
        source_label: Name of that folder.
        site: Site folder, empty if there is none.
        given_split: train, val or test, empty if there is no split folder.
        folder: Path of its folder without the class folder: what images of one frame have in common.
        camera: Folders of cameras above it: names repeat from one to the next.
    """

    path: str
    label: str
    source_label: str
    site: str
    given_split: str
    folder: str
    camera: str = ""

    @property
    def stem(self) -> str:
        """File name without its suffix."""
        return PurePosixPath(self.path).stem


def split_of_folder(name: str) -> str:
    """Return the split that a folder name speaks of, `train`, `Combined-TestSplit` and the like, or an empty text.

    >>> split_of_folder("Combined-TrainSplit")
    'train'
    """
    match = _SPLIT_FOLDER.fullmatch(fold_label(name))
    found = next((part for part in match.groups() if part), "") if match else ""
    return _SPLITS.get(found[:2], "")


def read_class_folders(source: str, paths: Iterable[str], maps: LabelMaps | None = None) -> list[FolderLabel]:
    """Read the folders above every image: `[.../](train|test|*TrainSplit|*TestSplit)/[Site/]<Class>/<image>`.

    Without a split folder only the folder right above the class is a site. Folders below the class count as site too;
    those of cameras do not.

    Args:
        source: Name of the source, for messages.
        paths: POSIX paths below the source.
        maps: The label maps of the source, where folders may be named by codes.

    Raises:
        TableError: If images lie in no class folder, in folders of two classes, or in folders of two splits; lists the
            folders, with the nearest class as a hint.
    """
    found, strays = [], Counter[str]()
    for path in paths:
        folders = PurePosixPath(path).parts[:-1]
        codes = no_label_map() if maps is None else maps.of_folder("/".join(folders))
        named = [codes.of_folder_name(name) for name in folders]
        classes = [at for at, name in enumerate(named) if name is not None]
        splits = [at for at, name in enumerate(folders) if split_of_folder(name)]
        if not classes:
            strays["/".join(folders)] += 1
            continue
        if len({named[at] for at in classes}) > 1 or len({split_of_folder(folders[at]) for at in splits}) > 1:
            raise TableError(f"{source}/{path}: its folders name two classes or two splits; it must be in one of each")
        label = named[classes[-1]] or ""
        found.append(_folder_label(path, folders, label, classes[-1], splits[-1] if splits else None))
    if strays:
        listed = "; ".join(f"{name or '.'} ({number}{_hint(name)})" for name, number in sorted(strays.items())[:_SHOWN])
        raise TableError(
            f"{source}: {strays.total()} images are in no class folder ({', '.join(CLASSES)}): {listed}; rename "
            "the folder, name it in catalog.label_map, or bring what is not labelled as a source of its own"
        )
    return found


def class_folders_of(path: str, maps: LabelMaps) -> list[str]:
    """Return the folders above an image that stand for a class, or that the label map leaves out."""
    folders = PurePosixPath(path).parts[:-1]
    codes = maps.of_folder("/".join(folders))
    return [name for name in folders if codes.of_folder_name(name) is not None]


def left_out(labelled: Iterable[FolderLabel]) -> dict[str, str]:
    """Return the images in folders that the label map sets to null, with the reason."""
    return {said.path: MAPPED_TO_NULL for said in labelled if not said.label}


def has_time(name: str) -> bool:
    """Whether a file name carries the time of the picture, so that it is the same frame wherever it turns up."""
    return _TIME.search(name) is not None


def in_several_splits(frames: Iterable[tuple[str, str, str]]) -> int:
    """Count the frames that the data itself puts into more than one split.

    Args:
        frames: Site, name and given split of each frame.
    """
    splits: dict[tuple[str, str], set[str]] = {}
    for site, name, split in frames:
        splits.setdefault((spelling_key(site), name), set()).add(split)
    return sum(len(found) > 1 for found in splits.values())


def _folder_label(path: str, folders: Sequence[str], label: str, class_at: int, split_at: int | None) -> FolderLabel:
    above = site_folders(folders[0 if split_at is None else split_at + 1 : class_at])
    above = above[-1:] if split_at is None else above
    below = site_folders(name for at, name in enumerate(folders) if at > class_at and at != split_at)
    return FolderLabel(
        path=path,
        label=label,
        source_label=folders[class_at],
        site="/".join(name.strip() for name in (*above, *below)),
        given_split="" if split_at is None else split_of_folder(folders[split_at]),
        folder="/".join(name for at, name in enumerate(folders) if at != class_at),
        camera="/".join(filter(is_camera_folder, folders)),
    )


def _hint(folder: str) -> str:
    by_folded = {fold_label(name): name for name in CLASSES}
    close = difflib.get_close_matches(fold_label(PurePosixPath(folder).name), by_folded, n=1)
    return f", did you mean {by_folded[close[0]]}?" if close else ""


DUPLICATE: Final = "duplicate_frame"


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
            f"{' ...' if len(against) > _SHOWN else ''}; keep one of each, or set "
            "catalog.on_conflict: drop to go on without their labels"
        )
    unsure = {group[0].path for group in against}
    kept = [group[0] for group in groups]
    return Reading(
        places={said.path: folder_place(inventory.source, said) for said in sorted(kept, key=lambda said: said.path)},
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


def folder_place(source: str, said: FolderLabel) -> Place:
    """Return where a frame belongs by the folders above it."""
    return Place(site=said.site or source, sequence="", given_split=said.given_split)
