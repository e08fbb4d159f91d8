"""One frame, from its file to its decision."""

import base64
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reseed.base.classes import CLASS_INDEX, CLASSES, CORAL, DEPLOY, NO_DEPLOY
from reseed.base.errors import ImageError
from reseed.base.grid import tile_boxes
from reseed.base.probabilities import predicted_classes, softmax
from reseed.engines.engine import Engine
from reseed.infer.frame_list import Frame
from reseed.infer.geotags import Exif, exif_in
from reseed.infer.map.page import thumbnail_jpeg
from reseed.infer.tables import fixed
from reseed.patches.resize import FramePatches, frame_patches
from reseed.score.alpha import decisions
from reseed.survey.geotag import Geotag
from reseed.survey.imagery import read_image_file

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
    """

    engine: Engine
    patch_size_px: int
    alpha: Fraction
    alpha_text: str


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
        thumbnail: JPEG.
        latency_ms: From opening the file to the decision.
    """

    frame: Frame
    exif: Exif
    patches: FramePatches
    probabilities: NDArray[np.float64]
    predicted: NDArray[np.int64]
    deploys: bool
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
        "decision": DEPLOY if decided.deploys else NO_DEPLOY,
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
