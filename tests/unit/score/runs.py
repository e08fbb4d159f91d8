"""A small finished run in the folder layout of the stages: 5 sites, 2 frames each, 4 patches per frame."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reseed.artifacts.catalog import FRAME_LABELS, FRAMES
from reseed.artifacts.leakage import LeakageRecord, write_leakage
from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS, SPLITS_TABLE
from reseed.artifacts.predictions import BASELINE_PREDICTIONS, CONDITIONS, PATCH_PREDICTIONS, REPEAT_PREDICTIONS
from reseed.artifacts.raw import RawSource, write_raw
from reseed.base.appearance import NAMES as APPEARANCE
from reseed.base.files import write_json, write_text

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


# Per baseline, what it says of the patches of a frame (by initial) and of the frame; a space: nothing.
ANSWERS = {"largest_class": ("NNNN", "No-Deploy"), "no_deploy": ("NNNN", "No-Deploy"), "mean_colour": ("DCNN", "")}
# Annotator B takes the first patch of each frame for Coral and agrees otherwise.
B_FIRST = "Coral"


def write_run(
    folder: Path,
    *,
    synthetic: bool = True,
    frame_labels: bool = True,
    alpha: str = "auto",
    rule: str = "ratio",
    kind: str = "grid",
    ask: str = "none",
    repeats: Sequence[str] = (),
) -> None:
    """Write everything that the stages aggregate and evaluate read.

    Each of `repeats` is a further training that calls every patch of val and test by this initial.
    """
    frames, labels, patches, index = [], [], [], []
    splits, patch_labels, answers, conditions = [], [], [], []
    for site, (split, shots) in SITES.items():
        for number, (decision, cells) in enumerate(shots):
            frame = f"demo/{site}/{site}_{number:04d}.jpg"
            frames.append(_frame(frame, site, synthetic=synthetic))
            if decision and frame_labels:
                labels.append({"frame_id": frame, "annotator": "A", "label": decision, "gold": 1})
            labels.append({"frame_id": frame, "annotator": "B", "label": "Deploy", "gold": 0})
            splits.append({"frame_id": frame, "group": site, "split": split})
            # Alike, but for Coil_0001.
            looks = {
                key: (len(conditions) % 3 + i) / 10 + 9 * (len(conditions) == 5) for i, key in enumerate(APPEARANCE)
            }
            conditions.append({"frame_id": frame, "contrast": len(conditions) / 100, "blue_red_ratio": "", **looks})
            if split in {"val", "test"}:
                answers += _answers(frame)
            for cell, pair in enumerate(cells.split()):
                patch = f"{frame}#r{cell // 2:03d}c{cell % 2:03d}"
                patches.append(_patch(patch, frame, split, pair))
                patch_labels += _labels(patch, NAMES[pair[0]], B_FIRST if cell == 0 else NAMES[pair[0]], kind)
                place = {"row": cell // 2, "col": cell % 2, "x0": 0, "y0": 0, "x1": 8, "y1": 8}
                index.append({"patch_id": patch, "frame_id": frame, **place})
    data = folder / "data"
    FRAMES.write(FRAMES.frame(frames), data / "catalog/frames.csv")
    FRAME_LABELS.write(FRAME_LABELS.frame(labels), data / "catalog/frame_labels.csv")
    PATCH_PREDICTIONS.write(PATCH_PREDICTIONS.frame(patches), data / "predictions/patches.csv")
    repeated = [
        {name: row[name] for name in ("patch_id", "p_no_deploy", "p_coral", "p_deploy")}
        | {"repeat": number, "predicted": NAMES[initial]}
        for number, initial in enumerate(repeats, 1)
        for row in patches
    ]
    REPEAT_PREDICTIONS.write(REPEAT_PREDICTIONS.frame(repeated), data / "predictions/repeats.csv")
    PATCH_INDEX.write(PATCH_INDEX.frame(index), data / "patches/index.csv")
    np.save(data / "patches/patches.npy", np.arange(len(index), dtype=np.uint8).repeat(8 * 8 * 3).reshape(-1, 8, 8, 3))
    SPLITS_TABLE.write(SPLITS_TABLE.frame(splits), data / "catalog/splits.csv")
    PATCH_LABELS.write(PATCH_LABELS.frame(patch_labels), data / "patches/labels.csv")
    BASELINE_PREDICTIONS.write(BASELINE_PREDICTIONS.frame(answers), data / "predictions/baselines.csv")
    CONDITIONS.write(CONDITIONS.frame(conditions), data / "predictions/conditions.csv")
    write_leakage(LeakageRecord(4, 3, 9, 0, 0, 0, 0, 0, ()), data / "catalog/leakage.json")
    write_json(data / "predictions/calibration.json", {"method": "none", "temperature": 1.0})
    origin = "demo" if synthetic else "folder"
    source = RawSource("demo", origin, "", "survey", "ab" * 32, 10, 8, "Apache-2.0", pinned=False, synthetic=synthetic)
    write_raw([source], data / "raw.json")
    write_text(
        folder / "models/training.csv",
        "epoch,lr,train_loss,val_loss,val_macro_f1,val_accuracy\n"
        "1,0.001,1.0,1.1,40.0,50.0\n2,0.001,0.5,0.7,80.0,81.0\n3,0.001,0.3,0.9,75.0,79.0\n",
    )
    write_text(
        folder / "params.yaml",
        f"aggregate: {{rule: {rule}, alpha: {alpha}, ask: {ask}}}\n"
        "evaluate: {mistakes: 2, resamples: 100, seed: 0, cost_false_deploy: 3.0, cost_missed_deploy: 1.0}\n",
    )


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


def _answers(frame: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for baseline, (cells, decision) in ANSWERS.items():
        for cell, initial in enumerate(cells):
            item = f"{frame}#r{cell // 2:03d}c{cell % 2:03d}"
            rows.append({"baseline": baseline, "kind": "patch", "item": item, "predicted": NAMES[initial]})
        if decision:
            rows.append({"baseline": baseline, "kind": "frame", "item": frame, "predicted": decision})
    return rows


def _labels(patch: str, gold: str, other: str, kind: str) -> list[dict[str, object]]:
    shared = {"patch_id": patch, "purity": 1.0, "kind": kind}
    return [
        shared | {"annotator": "A", "label": gold, "gold": 1},
        shared | {"annotator": "B", "label": other, "gold": 0},
    ]


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
