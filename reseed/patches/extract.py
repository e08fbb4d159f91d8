"""Cutting planned patches out of frames."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.base.errors import ImageError, TableError
from reseed.base.parallel import ordered_map
from reseed.params.extract import ExtractParams
from reseed.patches.plan import FramePlan, plan_frame
from reseed.patches.resize import box_patches, load_frame_patches, resize
from reseed.survey.frame_pixels import pieces_of_frames
from reseed.survey.imagery import decode_rgb

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


def plan(
    frames: pd.DataFrame, annotations: pd.DataFrame, params: ExtractParams, pieces: pd.DataFrame | None = None
) -> ExtractPlan:
    """Plan every frame.

    Args:
        frames: FRAMES table.
        annotations: ANNOTATIONS table.
        params: Patch size, input size, purity.
        pieces: PIECES table; None if every frame is one image.

    Raises:
        TableError: If no frame is as large as one patch.
    """
    of_frame = dict(iter(annotations.groupby("frame_id")))
    pieces_of = {} if pieces is None else pieces_of_frames(pieces)
    nothing = annotations.iloc[:0]
    plans: list[FramePlan] = []
    quarantined: list[dict[str, object]] = []
    for frame in frames.sort_values("frame_id").to_dict("records"):
        frame_id, width_px, height_px = frame["frame_id"], frame["width_px"], frame["height_px"]
        rows = of_frame.get(frame_id, nothing)
        planned = plan_frame(
            frame_id, width_px, height_px, rows, params.patch_size, params.min_purity, pieces_of.get(frame_id)
        )
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


def cut(planned: ExtractPlan, raw: Path, patch_size_px: int, input_size_px: int) -> Iterator[NDArray[np.uint8]]:
    """Decode the frames in threads and yield the patches of each, in the order of the plan.

    Args:
        planned: What to cut.
        raw: Folder that frame ids are relative to.
        patch_size_px: Target edge of a patch in stored pixels, as planned.
        input_size_px: Edge of a patch as the network sees it.

    Yields:
        (n, input_size, input_size, 3) uint8.
    """

    def of_one(frame: FramePlan) -> NDArray[np.uint8]:
        if frame.files:
            return np.stack(
                [_piece(raw / path, box, input_size_px) for path, box in zip(frame.files, frame.boxes, strict=True)]
            )
        path, width_px, height_px = raw / frame.frame_id, frame.width_px, frame.height_px
        if frame.grid is None:
            return box_patches(_decode(path, width_px, height_px), frame.boxes, input_size_px)
        with _usable(path):
            found = load_frame_patches(path, patch_size_px, input_size_px, max_pixels=width_px * height_px)
        _require_dimensions(path, (found.width_px, found.height_px), (width_px, height_px))
        return found.images

    yield from ordered_map(of_one, planned.frames, total=len(planned.frames), unit="frame", what="extract")


def _piece(path: Path, box: NDArray[np.int64], input_size_px: int) -> NDArray[np.uint8]:
    x0, y0, x1, y1 = box.tolist()
    return resize(_decode(path, x1 - x0, y1 - y0), input_size_px, input_size_px)


def _decode(path: Path, width_px: int, height_px: int) -> NDArray[np.uint8]:
    with _usable(path):
        image = decode_rgb(path, max_pixels=width_px * height_px)
    _require_dimensions(path, (image.shape[1], image.shape[0]), (width_px, height_px))
    return image


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    try:
        yield
    except ImageError as error:
        raise TableError(f"{path}: {error}, but the catalog lists it as usable: `dvc repro -f catalog`") from error


def _require_dimensions(path: Path, found_px: tuple[int, int], catalog_px: tuple[int, int]) -> None:
    if found_px != catalog_px:
        raise TableError(
            f"{path}: {found_px[0]} x {found_px[1]} px, but the catalog has {catalog_px[0]} x {catalog_px[1]}: "
            "`dvc repro -f catalog`"
        )


def mixed_footprint(planned: ExtractPlan, patch_size_px: int) -> str | None:
    """Return a remark if frames of different resolutions are mixed, so that a patch covers different areas."""
    shapes = sorted({(frame.width_px, frame.height_px) for frame in planned.frames if not frame.files})
    if len(shapes) < 2:
        return None
    listed = ", ".join(f"{width} x {height}" for width, height in shapes[:5])
    return (
        f"frames of {len(shapes)} resolutions ({listed} px): a patch of {patch_size_px} px shows a different piece of "
        "seafloor in each"
    )


def coarser_labels(planned: ExtractPlan, annotations: pd.DataFrame, patch_size_px: int) -> str | None:
    """Return a remark if patches lie in annotated grid cells at least twice as large: they inherit a coarser label.

    A cell's label says what most of the cell is, not what a part of it is; a rectangle that somebody drew around one
    class says so of every part.

    Args:
        planned: What will be cut.
        annotations: Table ANNOTATIONS.
        patch_size_px: extract.patch_size.
    """
    cells_of = dict(iter(annotations[(annotations["gold"] == 1) & (annotations["kind"] == "grid")].groupby("frame_id")))
    labelled = {
        str(row["patch_id"]) for frame in planned.frames for row in frame.labels if row["gold"] and row["label"]
    }
    n_coarse, width_px, height_px = 0, 0, 0
    for frame in planned.frames:
        if frame.grid is None or frame.frame_id not in cells_of:
            continue
        cells = cells_of[frame.frame_id][["x0", "y0", "x1", "y1"]].to_numpy(np.int64)
        sides_px = cells[:, 2:] - cells[:, :2]
        coarse = sides_px.prod(axis=1) >= 2 * frame.width_px * frame.height_px / frame.grid.n_patches
        centres = (frame.boxes[:, None, :2] + frame.boxes[:, None, 2:]) / 2
        within = np.concatenate([centres >= cells[coarse, :2], centres < cells[coarse, 2:]], axis=2)
        inside = np.any(np.all(within, axis=2), axis=1)
        n_coarse += len(labelled & set(np.array(frame.patch_ids)[inside].tolist()))
        width_px, height_px = np.maximum(sides_px[coarse].max(axis=0, initial=0), (width_px, height_px)).tolist()
    if not n_coarse:
        return None
    return (
        f"{n_coarse:,} of {len(labelled):,} labelled patches are in annotated cells that span several patches (up to "
        f"{width_px} x {height_px} px, extract.patch_size {patch_size_px} px): they inherit a coarser label, which "
        f"counts several times; extract.patch_size {max(width_px, height_px)} fits these cells"
    )


def cut_beforehand(planned: ExtractPlan, patch_size_px: int) -> str | None:
    """Return a remark if frames came as patches, which no parameter cuts anew."""
    edges = [box[2:] - box[:2] for frame in planned.frames if frame.files for box in frame.boxes]
    if not edges:
        return None
    low, high = int(np.min(edges)), int(np.max(edges))
    return (
        f"{len(edges)} patches were cut before they came here, with edges of {low} to {high} px: "
        f"extract.patch_size {patch_size_px} does not apply to them"
    )
