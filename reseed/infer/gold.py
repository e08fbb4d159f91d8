"""Reference decisions that somebody gives for frames of a run, shown beside its own; no score."""

from collections.abc import Iterable
from pathlib import Path

from reseed.base.classes import parse_decision
from reseed.base.csv import Row, read_text_table
from reseed.base.errors import TableError
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
