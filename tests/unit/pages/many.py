"""A run of many frames, made up from numbers: what the page of a large survey is measured with."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reseed.base.classes import CLASSES
from reseed.pages.run_data import RunTables

ROWS, COLS = 4, 7
SITES = 40


class Pictures:
    """Stands for packed patches: 96 px each, one of 64 of textured noise."""

    def __init__(self) -> None:
        coarse = np.random.default_rng(0).integers(60, 200, (64, 12, 12, 3), dtype=np.uint8)
        self._kinds = coarse.repeat(8, axis=1).repeat(8, axis=2)

    def __getitem__(self, rows: Any) -> NDArray[np.uint8]:
        return self._kinds[np.asarray(rows) % 64]


def many(n_frames: int, name: str = "survey/site_{site:02d}/frame_{number:05d}.jpg") -> RunTables:
    """Return the tables of a run of frames of 4 x 7 patches at 40 sites, a fifth of them validation, a fifth test."""
    rng, n = np.random.default_rng(1), ROWS * COLS
    site = np.arange(n_frames) % SITES
    frame_id = np.array([name.format(site=s, number=i) for i, s in enumerate(site)], dtype=object)
    split = np.array(["train", "train", "train", "val", "test"], dtype=object)[site % 5]
    p = rng.dirichlet((0.6, 0.5, 0.4), (n_frames, n)).round(6)
    answer = p.argmax(axis=2)
    gold = np.where(rng.random((n_frames, n)) < 0.8, answer, rng.integers(0, 3, (n_frames, n)))
    names = np.array(CLASSES, dtype=object)
    of_patch = np.repeat(frame_id, n)
    row, col = np.tile(np.repeat(np.arange(ROWS), COLS), n_frames), np.tile(np.tile(np.arange(COLS), ROWS), n_frames)
    patch_id = np.array([f"{f}#r{r:03d}c{c:03d}" for f, r, c in zip(of_patch, row, col, strict=True)], dtype=object)
    labels = names[gold.ravel()]
    patches = pd.DataFrame(
        {"patch_id": patch_id, "frame_id": of_patch, "split": np.repeat(split, n), "gold": labels}
        | {f"p_{key}": p[..., i].ravel() for i, key in enumerate(("no_deploy", "coral", "deploy"))}
        | {"predicted": names[answer.ravel()]}
    )
    index = pd.DataFrame({"patch_id": patch_id, "frame_id": of_patch, "row": row, "col": col})
    index = index.assign(x0=0, y0=0, x1=8, y1=8)
    deploy = (answer == 2).sum(axis=1)
    decided, truth = deploy / n > 0.3, (gold == 2).mean(axis=1) > 0.3
    word = np.array(["No-Deploy", "Deploy"], dtype=object)
    frames = pd.DataFrame(
        {"frame_id": frame_id, "split": split, "n_patches": n, "deploy_count": deploy}
        | {"coral_count": (answer == 1).sum(axis=1), "decision": word[decided.astype(int)], "alpha": 0.3}
        | {"gold": word[truth.astype(int)], "ask": ""}
    )
    catalog = pd.DataFrame(
        {"frame_id": frame_id, "site": [f"Site {s:02d}" for s in site], "sequence": [f"tow {s}" for s in site]}
        | {"captured_at": "2024-03-04T22:32:32Z", "latitude_deg": -18 - site / 50 - rng.random(n_frames) / 500}
        | {"longitude_deg": 147 + site / 40 + rng.random(n_frames) / 500, "water_depth_m": 5.0}
        | {"width_px": 5312, "height_px": 3040}
    )
    patch_labels = pd.DataFrame({"patch_id": patch_id, "annotator": "A", "label": labels, "gold": 1})
    frame_labels = pd.DataFrame({"frame_id": frame_id, "annotator": "A", "label": frames["gold"], "gold": 1})
    repeats = pd.DataFrame({"repeat": [], "patch_id": [], "predicted": []})
    store: Any = Pictures()
    return RunTables(patches, frames, catalog, index, patch_labels, frame_labels, repeats, store)
