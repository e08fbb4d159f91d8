"""Decisions of a run: one frame from its file to its decision, and the track and the map made of all of them."""

import base64
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reseed.base.appearance import NEAR_ALPHA, Familiar, frame_appearance
from reseed.base.classes import ASK, CLASS_INDEX, CLASSES, CORAL, DEPLOY, NO_DEPLOY
from reseed.base.errors import ImageError, ModelError, ReseedError
from reseed.base.grid import tile_boxes
from reseed.base.probabilities import predicted_classes, softmax
from reseed.engines.engine import Engine
from reseed.infer.geotags import Exif, exif_in, geojson, write_geojson
from reseed.infer.gold import GoldLabels
from reseed.infer.map_page import Story, write_map
from reseed.infer.run_folder import Frame
from reseed.infer.tables import (
    MAP_FILE,
    TRACK_FILE,
    FrameRow,
    count_skipped,
    fixed,
    read_classes,
    read_decisions,
    read_reasons,
)
from reseed.pages.parts import thumbnail_jpeg
from reseed.patches.resize import RESIZE_RULE, FramePatches, frame_patches
from reseed.score.alpha import decisions, exact, parse_alpha
from reseed.survey.geotag import Geotag
from reseed.survey.imagery import DECODE_RULE, read_image_file

SMALLER_THAN_PATCH: Final = "smaller_than_patch"
MAX_PIXELS: Final = 100_000_000  # as catalog.max_pixels in the profiles; a larger image is taken for a bomb


@dataclass(frozen=True)
class Rule:
    """How a frame is decided.

    Args:
        engine: Runs the network.
        patch_size_px: Target edge of a patch in stored pixels.
        alpha: Deploy where the share of Deploy patches is above it.
        alpha_text: Its decimal text, as everything records it.
        familiar: What familiar frames look like, to ask about others; None to ask about none.
        doubt_from: Alpha from which on a frame that is not deployed on is in doubt; None for no doubt.
    """

    engine: Engine
    patch_size_px: int
    alpha: Fraction
    alpha_text: str
    familiar: Familiar | None = None
    doubt_from: Fraction | None = None

    def ask(self, images: NDArray[np.uint8], deploy_count: int) -> str:
        """Return why a person should look at a frame instead, empty for most.

        Args:
            images: (n, S, S, 3) uint8, its patches.
            deploy_count: Of these, those that are Deploy.
        """
        if self.familiar is not None:
            statistics = frame_appearance(images)
            if self.familiar.asks(self.familiar.p_value(statistics)):
                return self.familiar.why(statistics)
        counts = np.array([deploy_count]), np.array([len(images)])
        if self.doubt_from is None or decisions(*counts, self.alpha)[0] or not decisions(*counts, self.doubt_from)[0]:
            return ""
        return NEAR_ALPHA


def rule_of(engine: Engine, model: Path, alpha: str | None, patch_size: int | None) -> Rule:
    """Return how frames are decided by a network.

    Args:
        engine: Runs it.
        model: Its path, for messages.
        alpha: As somebody gave it; None: as the model says.
        patch_size: In stored pixels, as somebody gave it; None: as the model says.

    Raises:
        ModelError: If this code cuts, resizes or decodes otherwise than the model was trained with.
        ReseedError: If there is no alpha, or it is no number, or the size is none.
    """
    facts = engine.facts
    for what, of_model, here in (("resize", facts.resize, RESIZE_RULE), ("decode", facts.decode, DECODE_RULE)):
        if of_model != here:
            raise ModelError(
                f"{model}: was trained on frames by the {what} rule {of_model!r}, but this code has {here!r}; "
                "train it again, or use the version of reseed that it was trained with"
            )
    text = facts.alpha if alpha is None else alpha
    if text is None:
        raise ReseedError(f"{model}: no alpha is recorded with this model; give --alpha, a number from 0 to 1")
    if patch_size is not None and patch_size < 1:
        raise ReseedError(f"--patch-size is {patch_size}; allowed: stored pixels, at least 1")
    patch_size_px = patch_size or facts.patch_size_px
    if patch_size_px != facts.patch_size_px:
        sys.stderr.write(
            f"note: patches of {patch_size_px} px, but the model was trained on {facts.patch_size_px} px; right "
            "only if a patch then shows as much seafloor as in training\n"
        )
    said = parse_alpha(text, f"alpha of {model}" if alpha is None else "--alpha")
    return Rule(engine, patch_size_px, exact(float(said)), said)


@dataclass(frozen=True)
class Decided:
    """A frame that was decided.

    Args:
        frame: Which.
        exif: What its file says of it.
        patches: Size and grid; the images are left out.
        probabilities: (n, 3) float64.
        predicted: (n,) int64 class indices.
        deploys: The decision.
        ask_reason: Why a person should look instead; empty for most.
        thumbnail: JPEG.
        latency_ms: From opening the file to the decision.
    """

    frame: Frame
    exif: Exif
    patches: FramePatches
    probabilities: NDArray[np.float64]
    predicted: NDArray[np.int64]
    deploys: bool
    ask_reason: str
    thumbnail: bytes
    latency_ms: float

    def count(self, name: str) -> int:
        """Return how many patches are of class `name`."""
        return int((self.predicted == CLASS_INDEX[name]).sum())


@dataclass(frozen=True)
class Unusable:
    """A frame that cannot be decided.

    Args:
        frame: Which.
        error: Why; without the traceback, which would keep the picture in memory.
    """

    frame: Frame
    error: ImageError


def decide(frame: Frame, rule: Rule) -> Decided | Unusable:
    """Read, cut, classify and decide one frame; called from several threads.

    Raises:
        ModelError: If the network gives no finite numbers.
    """
    began = time.perf_counter()
    try:
        data = read_image_file(frame.path)
        patches = frame_patches(data, rule.patch_size_px, rule.engine.facts.input_size_px, MAX_PIXELS)
        _require_one_patch(patches, rule.patch_size_px)
        probabilities = softmax(rule.engine.logits(patches.images))
        predicted = predicted_classes(probabilities)
        deploy_count = int((predicted == CLASS_INDEX[DEPLOY]).sum())
        deploys = bool(decisions(np.array([deploy_count]), np.array([len(predicted)]), rule.alpha)[0])
        ask_reason = rule.ask(patches.images, deploy_count)
        latency_ms = 1000 * (time.perf_counter() - began)
    except ImageError as error:
        return Unusable(frame, ImageError(error.reason, error.detail))
    except MemoryError:
        return Unusable(frame, ImageError("unreadable", "needs more memory than is free"))
    return Decided(
        frame,
        exif_in(data),
        FramePatches(patches.width_px, patches.height_px, patches.grid, patches.images[:0]),
        probabilities,
        predicted,
        deploys,
        ask_reason,
        thumbnail_jpeg(patches.images, patches.grid),
        latency_ms,
    )


def decision_row(decided: Decided, geotag: Geotag, alpha_text: str) -> dict[str, object]:
    """Return the row of `decisions.csv`; the ratios are for people, the decision is by the counts."""
    grid = decided.patches.grid
    deploy_count, coral_count = decided.count(DEPLOY), decided.count(CORAL)
    return {
        "frame": decided.frame.name,
        "captured_at": geotag.captured_at,
        "latitude_deg": fixed(geotag.latitude_deg, 7),
        "longitude_deg": fixed(geotag.longitude_deg, 7),
        "water_depth_m": fixed(geotag.water_depth_m, 2),
        "altitude_m": fixed(geotag.altitude_m, 2),
        "rows": grid.rows,
        "cols": grid.cols,
        "n_patches": grid.n_patches,
        "deploy_count": deploy_count,
        "coral_count": coral_count,
        "deploy_ratio": fixed(deploy_count / grid.n_patches, 6),
        "coral_cover": fixed(coral_count / grid.n_patches, 6),
        "alpha": alpha_text,
        "decision": ASK if decided.ask_reason else DEPLOY if decided.deploys else NO_DEPLOY,
        "ask_reason": decided.ask_reason,
        "latency_ms": fixed(decided.latency_ms, 1),
        "synthetic": int(decided.exif.synthetic),
    }


def patch_rows(decided: Decided) -> list[dict[str, object]]:
    """Return the rows of `patches.csv` of one frame, row by row."""
    patches = decided.patches
    boxes = tile_boxes(patches.width_px, patches.height_px, patches.grid).tolist()
    return [
        {
            "frame": decided.frame.name,
            "row": number // patches.grid.cols,
            "col": number % patches.grid.cols,
            **dict(zip(("x0", "y0", "x1", "y1"), box, strict=True)),
            **_probabilities(probabilities),
            "predicted": CLASSES[best],
        }
        for number, (box, probabilities, best) in enumerate(
            zip(boxes, decided.probabilities.tolist(), decided.predicted.tolist(), strict=True)
        )
    ]


def thumbnail_row(decided: Decided) -> dict[str, object]:
    """Return the row of `thumbnails.csv`."""
    return {"frame": decided.frame.name, "jpeg_base64": base64.b64encode(decided.thumbnail).decode("ascii")}


def _probabilities(row: Sequence[float]) -> dict[str, object]:
    return {name: fixed(value, 6) for name, value in zip(("p_no_deploy", "p_coral", "p_deploy"), row, strict=True)}


def _require_one_patch(patches: FramePatches, patch_size_px: int) -> None:
    if min(patches.width_px, patches.height_px) < patch_size_px:
        raise ImageError(
            SMALLER_THAN_PATCH, f"{patches.width_px} x {patches.height_px} px, a patch is {patch_size_px} px"
        )


@dataclass(frozen=True)
class Agreement:
    """How the decisions and the reference decisions stand to each other; no score.

    Args:
        n_frames: Decided frames.
        known: Of these, those with a reference decision that nobody is asked about.
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
        asked: Of these, those that a person should look at, by reason.
        unplaced: Of these, those without a position.
        unusable: Frames that cannot be used, by reason.
        thumbnails_every: n: every n-th frame has a thumbnail on the map.
        agreement: With the reference decisions, None without any.
    """

    n_frames: int
    n_deploy: int
    asked: Counter[str]
    unplaced: int
    unusable: Counter[str]
    thumbnails_every: int
    agreement: Agreement | None


def write_outcome(
    out: Path,
    root: Path,
    gold: GoldLabels | None,
    *,
    title: str,
    alpha: str,
    model: str,
    trained_on_rendered: bool,
    promise: str = "",
    reload_s: int = 0,
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
        promise: What alpha promises of these frames, in words; empty for nothing.
        reload_s: A browser loads the map again after so many seconds; 0: never.

    Raises:
        TableError: If a table is damaged, a file cannot be written, or a row of gold may mean several frames.
    """
    rows, unusable, skipped = read_decisions(out), read_reasons(out), count_skipped(out)
    known = {} if gold is None else gold.of_frames([row.frame for row in rows], root)
    unplaced = sum(row.place is None for row in rows)
    write_geojson(out / TRACK_FILE, geojson(rows, root.name, alpha, known, promise))
    asked = Counter(row.ask_reason for row in rows if row.ask_reason)
    remarks = [promise] * bool(promise)
    if asked:
        remarks.append(f"A person should look at {frames_text(asked.total())}: {asked_text(asked)}.")
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
    story = Story(title, root.name, alpha, model, tuple(remarks), trained_on_rendered, reload_s)
    every = write_map(out, out / MAP_FILE, story, rows, read_classes(out), known)
    n_deploy = sum(row.decision == DEPLOY for row in rows)
    return Outcome(len(rows), n_deploy, asked, unplaced, unusable, every, agreement)


def _agreement(rows: Sequence[FrameRow], known: Mapping[str, str], gold: GoldLabels) -> Agreement:
    compared = [row for row in rows if row.frame in known and row.decision != ASK]
    same = sum(row.decision == known[row.frame] for row in compared)
    return Agreement(len(rows), len(compared), same, unmatched=len(gold) - len(known))  # no row means two frames


def asked_text(asked: Counter[str]) -> str:
    """Return why a person should look, the most frequent reason first: `2 unlike the training frames: darker`."""
    return "; ".join(f"{number:,} {reason}" for reason, number in asked.most_common())


def frames_text(number: int) -> str:
    """Return a number of frames in words: `1 frame`, `2,000 frames`."""
    return "1 frame" if number == 1 else f"{number:,} frames"
