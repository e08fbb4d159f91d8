"""A small finished run in the folder layout of the stages: 5 sites, 2 frames each, 4 patches per frame."""

from pathlib import Path

import numpy as np

from reseed.artifacts.annotations import FRAME_LABELS
from reseed.artifacts.files import write_text
from reseed.artifacts.frames import FRAMES
from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS
from reseed.artifacts.predictions import PATCH_PREDICTIONS
from reseed.artifacts.raw import RawSource, write_raw

# Site: split, then for each frame its reference decision and (gold, predicted) of its patches by initial.
SITES = {
    "Aldgate": ("train", [("Deploy", "DD CC NN DD"), ("No-Deploy", "NN NN CC NN")]),
    "Brampton": ("val", [("Deploy", "DD DD NN CC"), ("No-Deploy", "ND NN CC CN")]),
    "Coil": ("test", [("Deploy", "DD DC NN .N"), ("No-Deploy", "NN CC CC ND")]),
    "Dory": ("test", [("", "NN NN CC CC"), ("No-Deploy", "DD DD NN CD")]),
    "Ewing": ("none", [("Deploy", "DD DD DD DD"), ("", "NN NN NN NN")]),
}
NAMES = {"N": "No-Deploy", "C": "Coral", "D": "Deploy", ".": ""}
SURE = {"CD": 0.95, "DC": 0.9, "ND": 0.8}


def write_run(
    folder: Path, *, synthetic: bool = True, frame_labels: bool = True, alpha: str = "auto", kind: str = "grid"
) -> None:
    """Write everything that the stages aggregate and evaluate read."""
    frames, labels, patches, index = [], [], [], []
    for site, (split, shots) in SITES.items():
        for number, (decision, cells) in enumerate(shots):
            frame = f"demo/{site}/{site}_{number:04d}.jpg"
            frames.append(_frame(frame, site, synthetic=synthetic))
            if decision and frame_labels:
                labels.append({"frame_id": frame, "annotator": "A", "label": decision, "gold": 1})
            labels.append({"frame_id": frame, "annotator": "B", "label": "Deploy", "gold": 0})
            for cell, pair in enumerate(cells.split()):
                patch = f"{frame}#r{cell // 2:03d}c{cell % 2:03d}"
                patches.append(_patch(patch, frame, split, pair))
                place = {"row": cell // 2, "col": cell % 2, "x0": 0, "y0": 0, "x1": 8, "y1": 8}
                index.append({"patch_id": patch, "frame_id": frame, **place})
    data = folder / "data"
    FRAMES.write(FRAMES.frame(frames), data / "catalog/frames.csv")
    FRAME_LABELS.write(FRAME_LABELS.frame(labels), data / "catalog/frame_labels.csv")
    PATCH_PREDICTIONS.write(PATCH_PREDICTIONS.frame(patches), data / "predictions/patches.csv")
    PATCH_INDEX.write(PATCH_INDEX.frame(index), data / "patches/index.csv")
    np.save(data / "patches/patches.npy", np.arange(len(index), dtype=np.uint8).repeat(8 * 8 * 3).reshape(-1, 8, 8, 3))
    said = [
        patch | {"annotator": "A", "label": patch["gold"], "purity": 1.0, "kind": kind, "gold": 1} for patch in patches
    ]
    PATCH_LABELS.write(PATCH_LABELS.frame([row for row in said if row["label"]]), data / "patches/labels.csv")
    source = RawSource(
        "demo",
        "demo" if synthetic else "folder",
        "",
        "survey",
        "ab" * 32,
        10,
        8,
        "Apache-2.0",
        pinned=False,
        synthetic=synthetic,
    )
    write_raw([source], data / "raw.json")
    write_text(
        folder / "plots/training.csv",
        "epoch,lr,train_loss,val_loss,val_macro_f1,val_accuracy\n"
        "1,0.001,1.0,1.1,40.0,50.0\n2,0.001,0.5,0.7,80.0,81.0\n3,0.001,0.3,0.9,75.0,79.0\n",
    )
    write_text(folder / "params.yaml", f"aggregate: {{alpha: {alpha}}}\nevaluate: {{mistakes: 2}}\n")


def _frame(frame: str, site: str, *, synthetic: bool) -> dict[str, object]:
    return {
        "frame_id": frame,
        "source": "demo",
        "site": site,
        "sequence": "Seq01",
        "width_px": 16,
        "height_px": 16,
        "captured_at": "",
        "latitude_deg": "",
        "longitude_deg": "",
        "water_depth_m": "",
        "altitude_m": "",
        "sha256": "0" * 64,
        "synthetic": int(synthetic),
        "given_split": "",
    }


def _patch(patch: str, frame: str, split: str, pair: str) -> dict[str, object]:
    sure = SURE.get(pair, 0.7)
    return {
        "patch_id": patch,
        "frame_id": frame,
        "split": split,
        "gold": NAMES[pair[0]],
        **{
            f"p_{key}": sure if name == pair[1] else (1 - sure) / 2
            for key, name in (("no_deploy", "N"), ("coral", "C"), ("deploy", "D"))
        },
        "predicted": NAMES[pair[1]],
    }
