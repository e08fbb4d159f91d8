"""What is made of the tables at the end of a run: the track and the map."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reseed.base.classes import DEPLOY, parse_decision
from reseed.base.csv import Row, read_text_table
from reseed.base.errors import TableError
from reseed.infer.geotags import geojson, write_geojson
from reseed.infer.map.page import Story, write_map
from reseed.infer.tables import (
    MAP_FILE,
    TRACK_FILE,
    FrameRow,
    count_skipped,
    read_classes,
    read_decisions,
    read_reasons,
)
from reseed.survey.identity import path_parts


class GoldLabels:
    """Reference decisions, by the path that the table gives each frame.

    Args:
        rows: Path as given, with row and decision.
    """

    def __init__(self, rows: Iterable[tuple[str, Row, str]]) -> None:
        self._labels: dict[tuple[str, ...], tuple[Row, str]] = {}
        for path, row, label in rows:
            parts = path_parts(path)
            said = self._labels.setdefault(parts, (row, label))
            if said[1] != label:
                raise TableError(
                    f"{row.where}: {path} is {label}, but {said[0].where} says {said[1]}; "
                    "give the table of one annotator"
                )

    def of_frames(self, frames: Iterable[str], root: Path) -> dict[str, str]:
        """Return the decision for each frame that has one.

        A row means the frame whose path ends with what the row says: `20230315_020635_000_0000.jpg` or
        `erub_drop_5/20230315_020635_000_0000.jpg`.

        Args:
            frames: Names of the frames.
            root: Folder that the names start from.

        Raises:
            TableError: If a row may mean several frames.
        """
        meant: dict[tuple[str, ...], str] = {}
        found: dict[str, str] = {}
        for frame in frames:
            parts = path_parts((root / frame).as_posix())
            for depth in range(len(parts), 0, -1):  # the most exact row counts
                key = parts[-depth:]
                if key in self._labels:
                    row, label = self._labels[key]
                    if key in meant:
                        raise TableError(
                            f"{row.where}: {'/'.join(key)} may be {meant[key]} or {frame}; "
                            "write the path with its folder"
                        )
                    meant[key], found[frame] = frame, label
                    break
        return found

    def __len__(self) -> int:
        return len(self._labels)


def read_gold(path: Path) -> GoldLabels:
    """Read a table with the columns `frame` and `label`, such as `frame_labels.csv`; others are ignored.

    Raises:
        TableError: If it is missing or broken, a label is no decision, or rows contradict each other.
    """
    try:
        table = read_text_table(path, str(path))
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror})") from error
    table.require(["frame", "label"])
    return GoldLabels(
        (row.cells["frame"], row, parse_decision(row.cells["label"], row.where))
        for row in table.rows
        if row.cells["label"]
    )


@dataclass(frozen=True)
class Agreement:
    """How the decisions and the reference decisions stand to each other; no score.

    Args:
        n_frames: Decided frames.
        known: Of these, those with a reference decision.
        same: Of these, those decided alike.
        unmatched: Rows of the table that mean no decided frame.
    """

    n_frames: int
    known: int
    same: int
    unmatched: int

    def lines(self) -> list[str]:
        """Return what a person has to know of it, a sentence a line."""
        rows = "1 row matches" if self.unmatched == 1 else f"{self.unmatched:,} rows match"
        said = [f"{self.known:,} of {frames_text(self.n_frames)} with a row; {rows} no decided frame"]
        if self.known:
            same = f"the same decision on {self.same:,} of {self.known:,}"
            said.append(f"{same} (no score: training frames may be among them)")
        return said


@dataclass(frozen=True)
class Outcome:
    """All that was decided, in this start and before.

    Args:
        n_frames: Decided frames.
        n_deploy: Of these, those to deploy on.
        unplaced: Of these, those without a position.
        unusable: Frames that cannot be used, by reason.
        thumbnails_every: n: every n-th frame has a thumbnail on the map.
        agreement: With the reference decisions, None without any.
    """

    n_frames: int
    n_deploy: int
    unplaced: int
    unusable: Counter[str]
    thumbnails_every: int
    agreement: Agreement | None


def write_outcome(
    out: Path, root: Path, gold: GoldLabels | None, *, title: str, alpha: str, model: str, trained_on_rendered: bool
) -> Outcome:
    """Write `track.geojson` and `map.html` from the tables of a run.

    Args:
        out: Folder of the run.
        root: Folder that the names of frames start from.
        gold: Reference decisions, if there are any.
        title: Of the map.
        alpha: Decimal text.
        model: One line about the network.
        trained_on_rendered: Whether the network is known to have been trained on rendered frames.

    Raises:
        TableError: If a table is damaged, a file cannot be written, or a row of gold may mean several frames.
    """
    rows, unusable, skipped = read_decisions(out), read_reasons(out), count_skipped(out)
    known = {} if gold is None else gold.of_frames([row.frame for row in rows], root)
    unplaced = sum(row.place is None for row in rows)
    write_geojson(out / TRACK_FILE, geojson(rows, root.name, alpha, known))
    remarks = []
    if unplaced:
        remarks.append(f"{frames_text(unplaced)} without a position: in the strips, not on the map.")
    if unusable:
        reasons = ", ".join(f"{reason} {number}" for reason, number in sorted(unusable.items()))
        remarks.append(f"{frames_text(unusable.total())} that cannot be used: {reasons}.")
    agreement = None if gold is None else _agreement(rows, known, gold)
    if rows and agreement is not None and agreement.unmatched:
        remarks.append(f"Gold: {agreement.lines()[0]}.")
    if skipped:
        remarks.append(f"{frames_text(skipped)} passed over for newer ones.")
    story = Story(title, root.name, alpha, model, tuple(remarks), trained_on_rendered)
    every = write_map(out, out / MAP_FILE, story, rows, read_classes(out), known)
    return Outcome(len(rows), sum(row.decision == DEPLOY for row in rows), unplaced, unusable, every, agreement)


def _agreement(rows: Sequence[FrameRow], known: Mapping[str, str], gold: GoldLabels) -> Agreement:
    same = sum(row.decision == known.get(row.frame) for row in rows)
    return Agreement(len(rows), len(known), same, unmatched=len(gold) - len(known))  # no row means two frames


def frames_text(number: int) -> str:
    """Return a number of frames in words: `1 frame`, `2,000 frames`."""
    return "1 frame" if number == 1 else f"{number:,} frames"
