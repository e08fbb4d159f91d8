"""The tables of a run of infer, and taking them up again."""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reseed.base.classes import CLASS_INDEX
from reseed.infer.line_file import read_lines, recover
from reseed.survey.identity import capture_order

DECISIONS_FILE: Final = "decisions.csv"
PATCHES_FILE: Final = "patches.csv"
THUMBNAILS_FILE: Final = "thumbnails.csv"
BAD_FILE: Final = "bad_frames.csv"
SKIPPED_FILE: Final = "skipped.csv"
TRACK_FILE: Final = "track.geojson"
MAP_FILE: Final = "map.html"

DECISION_COLUMNS: Final = (
    *("frame", "captured_at", "latitude_deg", "longitude_deg", "water_depth_m", "altitude_m"),
    *("rows", "cols", "n_patches", "deploy_count", "coral_count", "deploy_ratio", "coral_cover"),
    *("alpha", "decision", "latency_ms", "synthetic"),
)
PATCH_COLUMNS: Final = (
    *("frame", "row", "col", "x0", "y0", "x1", "y1"),
    *("p_no_deploy", "p_coral", "p_deploy", "predicted"),
)
# Base64 keeps it a table of lines, and no search for frames ever takes a thumbnail for one.
THUMBNAIL_COLUMNS: Final = ("frame", "jpeg_base64")
BAD_COLUMNS: Final = ("frame", "reason", "detail")
SKIPPED_COLUMNS: Final = ("frame", "newer_frame")


@dataclass(frozen=True)
class FrameRow:
    """One row of `decisions.csv`.

    Args:
        frame: Name of the frame.
        captured_at: ISO 8601, UTC; empty if unknown.
        place: Latitude and longitude in degrees; None if unknown.
        water_depth_m: None if unknown.
        rows: Of the grid.
        cols: Of the grid.
        deploy_count: Patches predicted Deploy.
        coral_count: Patches predicted Coral.
        decision: Deploy or No-Deploy.
        latency_ms: From opening the file to the decision.
        synthetic: Whether the demo rendered the frame.
    """

    frame: str
    captured_at: str
    place: tuple[float, float] | None
    water_depth_m: float | None
    rows: int
    cols: int
    deploy_count: int
    coral_count: int
    decision: str
    latency_ms: float
    synthetic: bool

    @property
    def n_patches(self) -> int:
        """Patches of the frame."""
        return self.rows * self.cols


def take_up(out: Path) -> set[str]:
    """Mend the tables of a run that stopped anyhow, and return the frames it had decided.

    A frame counts as decided if its row and all its patches are there.

    Raises:
        TableError: If a table is damaged before its end.
    """
    recover(out / DECISIONS_FILE, DECISION_COLUMNS)
    recover(out / PATCHES_FILE, PATCH_COLUMNS)
    patches = Counter(row["frame"] for row in read_lines(out / PATCHES_FILE, PATCH_COLUMNS))
    recover(
        out / DECISIONS_FILE, DECISION_COLUMNS, keep=lambda row: str(patches.get(row["frame"], 0)) == row["n_patches"]
    )
    decided = {row["frame"] for row in read_lines(out / DECISIONS_FILE, DECISION_COLUMNS)}
    recover(out / PATCHES_FILE, PATCH_COLUMNS, keep=lambda row: row["frame"] in decided)
    recover(out / THUMBNAILS_FILE, THUMBNAIL_COLUMNS, keep=lambda row: row["frame"] in decided)
    return decided


def read_decisions(out: Path) -> list[FrameRow]:
    """Read `decisions.csv` in the order of capture."""
    rows = {row.frame: row for row in map(_frame_row, read_lines(out / DECISIONS_FILE, DECISION_COLUMNS))}
    return [rows[frame] for frame in capture_order((row.frame, row.captured_at) for row in rows.values())]


def read_classes(out: Path) -> dict[str, str]:
    """Return the predicted classes of each frame's patches, row by row, a digit each: the index of the class."""
    classes: dict[str, list[str]] = {}
    for cells in read_lines(out / PATCHES_FILE, PATCH_COLUMNS):
        classes.setdefault(cells["frame"], []).append(str(CLASS_INDEX[cells["predicted"]]))
    return {frame: "".join(digits) for frame, digits in classes.items()}


def read_reasons(out: Path) -> Counter[str]:
    """Return how many frames could not be used, by reason."""
    return Counter(row["reason"] for row in read_lines(out / BAD_FILE, BAD_COLUMNS))


def count_skipped(out: Path) -> int:
    """Return how many frames were passed over because newer ones waited."""
    return sum(1 for _ in read_lines(out / SKIPPED_FILE, SKIPPED_COLUMNS))


def fixed(value: float | None, decimals: int) -> str:
    """Return a number as the tables hold it; empty if unknown."""
    return "" if value is None or math.isnan(value) else f"{value + 0.0:.{decimals}f}"


def _frame_row(cells: dict[str, str]) -> FrameRow:
    latitude, longitude = _number(cells["latitude_deg"]), _number(cells["longitude_deg"])
    return FrameRow(
        frame=cells["frame"],
        captured_at=cells["captured_at"],
        place=None if latitude is None or longitude is None else (latitude, longitude),
        water_depth_m=_number(cells["water_depth_m"]),
        rows=int(cells["rows"]),
        cols=int(cells["cols"]),
        deploy_count=int(cells["deploy_count"]),
        coral_count=int(cells["coral_count"]),
        decision=cells["decision"],
        latency_ms=float(cells["latency_ms"]),
        synthetic=cells["synthetic"] == "1",
    )


def _number(text: str) -> float | None:
    return float(text) if text else None
