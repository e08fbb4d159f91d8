"""Predictions as the files of annotation tools: what a CoralNet export and a COCO file say of each patch.

Both name the machine as annotator, so that nobody takes them for labels by people, this project included: its
own reader gives the same table back with `catalog.machine_labels: keep`.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from reseed.base.classes import CLASS_INDEX, CLASSES
from reseed.base.csv import guard
from reseed.survey.layouts.export_places import clipped_box

ANNOTATOR: Final = "robot"  # CoralNet's own name for labels by a machine
_HEADER: Final = ("Name", "Row", "Column", "Label", "Annotator")


@dataclass(frozen=True)
class Predicted:
    """One patch.

    Args:
        frame: POSIX path of its frame below the source.
        box: x0, y0, x1, y1 inside the frame; one pixel where the patch was cut around a point.
        probabilities: Of each class, in the order of the classes.
        label: Class of the highest probability.
    """

    frame: str
    box: tuple[int, int, int, int]
    probabilities: tuple[float, float, float]
    label: str

    @property
    def suggestions(self) -> list[tuple[str, float]]:
        """Classes with their probabilities, the label first."""
        pairs = zip(CLASSES, self.probabilities, strict=True)
        return sorted(pairs, key=lambda pair: (pair[0] != self.label, -pair[1]))


def predicted_patches(predictions: pd.DataFrame, index: pd.DataFrame, frames: pd.DataFrame) -> Iterator[Predicted]:
    """Yield the patches of one source.

    Args:
        predictions: Table PATCH_PREDICTIONS.
        index: Table PATCH_INDEX.
        frames: Table FRAMES, of that source only.
    """
    sizes = {
        frame: (w, h) for frame, w, h in zip(frames["frame_id"], frames["width_px"], frames["height_px"], strict=True)
    }
    joined = predictions.merge(index.drop(columns="frame_id"), on="patch_id")
    for row in joined[joined["frame_id"].isin(sizes.keys())].to_dict("records"):
        edges = int(row["x0"]), int(row["y0"]), int(row["x1"]), int(row["y1"])
        if row["row"] < 0:
            x, y = (edges[0] + edges[2]) // 2, (edges[1] + edges[3]) // 2
            edges = x, y, x + 1, y + 1
        box = clipped_box(*edges, sizes[row["frame_id"]])
        assert box is not None, row["patch_id"]
        chances = float(row["p_no_deploy"]), float(row["p_coral"]), float(row["p_deploy"])
        yield Predicted(str(row["frame_id"]).partition("/")[2], box, chances, str(row["predicted"]))


def coralnet_csv(patches: Iterable[Predicted]) -> str:
    """Return a CSV in the columns of a CoralNet export: the centre of each patch, its label, and the suggestions."""
    numbered = [f"Machine {what} {n}" for n in range(1, len(CLASSES) + 1) for what in ("suggestion", "confidence")]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_HEADER, *numbered])
    for patch in patches:
        x0, y0, x1, y1 = patch.box
        suggested = [cell for name, chance in patch.suggestions for cell in (name, f"{100 * chance:.2f}")]
        writer.writerow([guard(patch.frame), (y0 + y1) // 2, (x0 + x1) // 2, patch.label, ANNOTATOR, *suggested])
    return text.getvalue()


def coco_object(patches: Iterable[Predicted], frames: pd.DataFrame) -> dict[str, Any]:
    """Return a COCO object: the rectangle of each patch with the probability of its label as score.

    Args:
        patches: From `predicted_patches`.
        frames: Table FRAMES, of that source only.
    """
    images = [
        {"id": number, "file_name": frame.partition("/")[2], "width": int(width), "height": int(height)}
        for number, (frame, width, height) in enumerate(
            zip(frames["frame_id"], frames["width_px"], frames["height_px"], strict=True), 1
        )
    ]
    number_of = {image["file_name"]: image["id"] for image in images}
    annotations = []
    for number, patch in enumerate(patches, 1):
        x0, y0, x1, y1 = patch.box
        annotations.append(
            {
                "id": number,
                "image_id": number_of[patch.frame],
                "category_id": CLASS_INDEX[patch.label] + 1,
                "bbox": [x0, y0, x1 - x0, y1 - y0],
                "area": (x1 - x0) * (y1 - y0),
                "iscrowd": 0,
                "score": round(patch.probabilities[CLASS_INDEX[patch.label]], 6),
                "attributes": {"annotator": ANNOTATOR},
            }
        )
    categories = [{"id": index + 1, "name": name} for name, index in CLASS_INDEX.items()]
    return {"images": images, "annotations": annotations, "categories": categories}
