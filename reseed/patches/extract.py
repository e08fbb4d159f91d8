"""Cutting planned patches out of frames."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.errors import ImageError, TableError
from reseed.field.imagery import decode_rgb
from reseed.field.parallel import ordered_map
from reseed.params.extract import ExtractParams
from reseed.patches.plan import FramePlan, plan_frame
from reseed.patches.resize import box_patches, grid_patches

SMALLER_THAN_PATCH = "smaller_than_patch"


@dataclass(frozen=True)
class ExtractPlan:
    """What will be cut.

    Args:
        frames: One plan per frame, by frame_id.
        quarantined: Rows of QUARANTINE: frames smaller than one patch.
    """

    frames: tuple[FramePlan, ...]
    quarantined: tuple[dict[str, object], ...]

    @property
    def n_patches(self) -> int:
        """Patches of all frames."""
        return sum(len(frame.boxes) for frame in self.frames)


def plan(frames: pd.DataFrame, annotations: pd.DataFrame, params: ExtractParams) -> ExtractPlan:
    """Plan every frame.

    Args:
        frames: FRAMES table.
        annotations: ANNOTATIONS table.
        params: Patch size, input size, purity.

    Raises:
        TableError: If no frame is as large as one patch.
    """
    of_frame = dict(iter(annotations.groupby("frame_id")))
    nothing = annotations.iloc[:0]
    plans: list[FramePlan] = []
    quarantined: list[dict[str, object]] = []
    for frame in frames.sort_values("frame_id").to_dict("records"):
        frame_id, width_px, height_px = frame["frame_id"], frame["width_px"], frame["height_px"]
        rows = of_frame.get(frame_id, nothing)
        planned = plan_frame(frame_id, width_px, height_px, rows, params.patch_size, params.min_purity)
        if planned is None:
            detail = f"{width_px} x {height_px} px, extract.patch_size {params.patch_size} px"
            quarantined.append({"path": frame_id, "reason": SMALLER_THAN_PATCH, "detail": detail})
        else:
            plans.append(planned)
    if not plans:
        raise TableError(
            f"all {len(quarantined)} frame(s) are smaller than one patch (extract.patch_size {params.patch_size} px; "
            f"first: {quarantined[0]['path']}, {quarantined[0]['detail']}): lower extract.patch_size"
        )
    return ExtractPlan(tuple(plans), tuple(quarantined))


def cut(planned: ExtractPlan, raw: Path, input_size_px: int) -> Iterator[NDArray[np.uint8]]:
    """Decode the frames in threads and yield the patches of each, in the order of the plan.

    Args:
        planned: What to cut.
        raw: Folder that frame ids are relative to.
        input_size_px: Edge of a patch as the network sees it.

    Yields:
        (n, input_size, input_size, 3) uint8.
    """

    def of_one(frame: FramePlan) -> NDArray[np.uint8]:
        image = _decode(raw / frame.frame_id, frame)
        if frame.grid is None:
            return box_patches(image, frame.boxes, input_size_px)
        return grid_patches(image, frame.grid, input_size_px)

    yield from ordered_map(of_one, planned.frames, total=len(planned.frames), unit="frame", what="extract")


def _decode(path: Path, frame: FramePlan) -> NDArray[np.uint8]:
    try:
        image = decode_rgb(path, max_pixels=frame.width_px * frame.height_px)
    except ImageError as error:
        raise TableError(f"{path}: {error}, but the catalog lists it as usable: `dvc repro -f catalog`") from error
    if image.shape[:2] != (frame.height_px, frame.width_px):
        raise TableError(
            f"{path}: {image.shape[1]} x {image.shape[0]} px, but the catalog says {frame.width_px} x "
            f"{frame.height_px}: `dvc repro -f catalog`"
        )
    return image


def mixed_footprint(planned: ExtractPlan, patch_size_px: int) -> str | None:
    """Return a remark if frames of different resolutions are mixed, so that a patch covers different areas."""
    shapes = sorted({(frame.width_px, frame.height_px) for frame in planned.frames})
    if len(shapes) < 2:
        return None
    listed = ", ".join(f"{width} x {height}" for width, height in shapes[:5])
    return (
        f"frames of {len(shapes)} resolutions ({listed} px): a patch of {patch_size_px} px shows a different piece of "
        "seafloor in each"
    )
