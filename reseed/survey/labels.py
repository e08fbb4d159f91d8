"""What annotators said, and whether it holds together: rectangles on frames, and decisions for whole frames.

Rows that say the same twice are merged and counted. Rows that contradict each other are an error that lists them, or
all left out and counted (`catalog.on_conflict`).
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, Generic, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from reseed.artifacts.catalog import FRAME
from reseed.base.classes import CLASSES, match_class, parse_class
from reseed.base.csv import decode_text
from reseed.base.errors import TableError
from reseed.params.catalog import CatalogParams, OnConflict
from reseed.sources.inventory import Inventory


@dataclass(frozen=True)
class LabelMap:
    """What each code stands for.

    Args:
        classes: Class of each code, which is in Unicode form NFC; None: what has this code is left out.
        where: Where the map stands, for messages; empty if there is none and the labels must be the classes.
    """

    classes: dict[str, str | None]
    where: str

    def find(self, code: str) -> str | None:
        """Return the code as the map spells it, or None if the map lacks it.

        The spelling of the map comes first; else another case counts, if it leaves no doubt. An accent is the same
        letter in either Unicode form.
        """
        code = _composed(code)
        if code in self.classes:
            return code
        wanted = code.casefold()
        spelled = [known for known in self.classes if known.casefold() == wanted]
        return spelled[0] if len(spelled) == 1 else None

    def class_of(self, code: str, *, own: bool) -> tuple[bool, str | None]:
        """Return whether a code is known, and its class, None where what has this code is left out.

        Args:
            code: As the file has it.
            own: Whether a code that reads like a class is that class where the map lacks it.
        """
        found = self.find(code)
        if found is not None:
            return True, self.classes[found]
        name = match_class(code) if own or not self.where else None
        return name is not None, name

    def of_folder_name(self, name: str) -> str | None:
        """Return the class that a folder stands for, an empty text if it is left out, None if it is no class folder."""
        known, label = self.class_of(name, own=True)
        return (label or "") if known else None


def read_label_map(path: Path, where: str) -> LabelMap:
    """Read a YAML file of lines `code: class`, null for codes that are left out.

    Values are read by YAML 1.2 rules: an unquoted `Off` or `No` is a word.

    Raises:
        TableError: If it is no such file, a code appears twice or is no text, or a class is none of the three.
    """
    try:
        value = YAML(typ="safe", pure=True).load(decode_text(path.read_bytes(), where))
    except YAMLError as error:
        raise TableError(f"{where}: not readable as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(value, dict) or not value:
        raise TableError(f"{where}: a mapping of codes to classes is needed, such as `CCA: Deploy`")
    wrong = [code for code, name in value.items() if not isinstance(code, str) or not isinstance(name, str | None)]
    if wrong:
        raise TableError(f"{where}: code {wrong[0]!r} or its class is no text; put it in quotes")
    return label_map(value, where)


def label_map(codes: Mapping[str, str | None], where: str) -> LabelMap:
    """Return the map with every class as we spell it.

    Raises:
        TableError: If a class is none of the three; offers the nearest one.
    """
    classes: dict[str, str | None] = {}
    for code, name in codes.items():
        known = None if name is None else parse_class(name, f"{where}, code {code!r}")
        if classes.setdefault(_composed(code), known) != known:
            raise TableError(f"{where}: code {code!r} stands there twice, with different classes; keep one")
    return LabelMap(classes, where)


def no_label_map() -> LabelMap:
    """Return the map of labels that are mapped already: the classes themselves."""
    return LabelMap({name: name for name in CLASSES}, "")


class LabelMaps:
    """The label maps of one source: the one written out in the parameters, or files beside the labels.

    Args:
        inventory: The files of the source.
        params: Section `catalog`; `label_map` is used.
    """

    def __init__(self, inventory: Inventory, params: CatalogParams) -> None:
        self._inventory = inventory
        self._given = params.label_map
        self._others = frozenset(inventory.others)
        self._known: dict[str, LabelMap] = {}
        self.files: set[str] = set()

    def of_folder(self, folder: str) -> LabelMap:
        """Return the map that counts in a folder of the source: that in it, else in the nearest folder above.

        Raises:
            TableError: If it is broken.
        """
        if isinstance(self._given, dict):
            path = ""
        else:
            steps = (PurePosixPath(folder or "."), *PurePosixPath(folder or ".").parents)
            beside = [(step / self._given).as_posix() for step in steps]
            path = next((path for path in beside if path in self._others), "")
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def _read(self, path: str) -> LabelMap:
        if isinstance(self._given, dict):
            return label_map(self._given, "catalog.label_map")
        if not path:
            return no_label_map()
        self.files.add(path)
        return read_label_map(self._inventory.root / path, f"{self._inventory.source}/{path}")


def unmapped_error(unmapped: Mapping[str, int], wheres: Iterable[str], beside: str) -> TableError:
    """Return the error that lists codes which no map knows.

    Args:
        unmapped: How many labels have each code.
        wheres: The maps that lack them; empty texts where there is none.
        beside: How messages call the place where a map would be looked for.
    """
    ordered = sorted(unmapped.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{code} ({n})" for code, n in ordered[:_CODES_SHOWN])
    where = ", ".join(sorted(filter(None, wheres)))
    lacking = f"{where} lacks" if where else f"{beside}, and no class is"
    return TableError(
        f"{lacking} {len(unmapped)} of the codes: {listed}{' ...' if len(unmapped) > _CODES_SHOWN else ''}; map each "
        "to a class or to null (left out) in catalog.label_map, or set catalog.unmapped: drop to leave them all out"
    )


def _composed(code: str) -> str:
    return unicodedata.normalize("NFC", code.strip())


T = TypeVar("T")

_SHOWN: Final = 10
_CODES_SHOWN: Final = 30


@dataclass(frozen=True)
class Rectangle:
    """One labelled rectangle; x1 and y1 are exclusive, all in stored pixels.

    Args:
        path: POSIX path of the frame below its source.
        annotator: Who labelled it.
        x0: Left edge.
        y0: Top edge.
        x1: Right edge.
        y1: Bottom edge.
        label: One of the three classes.
        kind: `grid`, `rect`, `point`, `weak` or `machine`.
        source_label: The label as the file has it.
    """

    path: str
    annotator: str
    x0: int
    y0: int
    x1: int
    y1: int
    label: str
    kind: str
    source_label: str


@dataclass(frozen=True)
class FrameLabel:
    """One annotator's decision for a whole frame.

    Args:
        path: POSIX path of the frame below its source.
        annotator: Who decided.
        label: `Deploy` or `No-Deploy`.
        kind: `frame`, or `machine`: no person confirmed it.
    """

    path: str
    annotator: str
    label: str
    kind: str = FRAME


@dataclass(frozen=True)
class Labels:
    """What a set of tables says.

    Args:
        rectangles: Sorted, each key once.
        frame_labels: Sorted, each key once.
        counts: Rows read = kept + duplicates merged + those left out, by reason.
        remarks: What a reader should know, one line each.
        contradicted: Annotators of labels that were left out because others contradict them.
    """

    rectangles: tuple[Rectangle, ...]
    frame_labels: tuple[FrameLabel, ...]
    counts: dict[str, int]
    remarks: tuple[str, ...] = ()
    contradicted: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Said(Generic[T]):
    """One row that labels something.

    Args:
        where: File and line, for messages.
        label: What it says, in our words.
        item: What it becomes.
    """

    where: str
    label: str
    item: T


def settle(
    said: Mapping[tuple[Any, ...], list[Said[T]]], on_conflict: OnConflict, order: Callable[[T], Any]
) -> tuple[list[T], int, frozenset[str]]:
    """Merge rows that say the same of the same thing, and deal with those that contradict each other.

    Args:
        said: The rows about each thing, by its key: the frame, the annotator, and what else tells it apart.
        on_conflict: `error`, or `drop`: nothing is kept of what is contradicted.
        order: Which of several rows that agree is kept: the lowest, whatever their order.

    Returns:
        One item for each key, sorted by key; the number of rows left out because others contradict them, and their
        annotators.

    Raises:
        TableError: If `on_conflict` is `error` and rows contradict each other; lists them.
    """
    against = {key: rows for key, rows in said.items() if len({row.label for row in rows}) > 1}
    if against and on_conflict == "error":
        lines = sorted(" / ".join(sorted(f"{row.where}: {row.label}" for row in rows)) for rows in against.values())
        raise TableError(
            f"{len(against)} labels contradict another label of the same annotator for the same place: "
            f"{'; '.join(lines[:_SHOWN])}{' ...' if len(lines) > _SHOWN else ''}; correct the tables, or set "
            "catalog.on_conflict: drop to go on without them"
        )
    kept = [min((row.item for row in said[key]), key=order) for key in sorted(said) if key not in against]
    return kept, sum(len(rows) for rows in against.values()), frozenset(str(key[1]) for key in against)


def label_counts(rows: int, dropped: int, contradicting: int, kept: int) -> dict[str, int]:
    """Return what became of `rows` label rows: rows = kept + merged + left out."""
    return {
        "rows": rows,
        "kept": kept,
        "duplicates_merged": rows - dropped - contradicting - kept,
        "of_quarantined_frames_dropped": dropped,
        "contradictions_dropped": contradicting,
    }
