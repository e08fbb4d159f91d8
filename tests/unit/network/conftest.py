"""Small synthetic patches: three textures that a network tells apart within a few epochs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torchvision import models

from reseed.artifacts.patches import PATCH_INDEX, PATCH_LABELS, SPLITS_TABLE
from reseed.base.classes import CLASSES
from reseed.base.files import write_json, write_text
from reseed.params.train import TrainParams

TRAIN_VALUES: dict[str, Any] = {
    "backbone": "mobilenet_v3_small",
    "weights": "none",
    "checkpoint": "none",
    "loss": "focal",
    "gamma": 2.0,
    "label_smoothing": 0.0,
    "class_weights": "none",
    "sampler": "balanced",
    "allow_double_correction": False,
    "optimiser": "adam",
    "lr": 0.002,
    "head_lr": 1.0,
    "weight_decay": 0.0001,
    "schedule": "plateau",
    "warmup": 0.0,
    "lr_factor": 0.5,
    "lr_patience": 2,
    "batch_size": 16,
    "epochs": 2,
    "patience": 10,
    "ema": 0.0,
    "flip": 0.5,
    "red_shift": 0.1,
    "contrast": 0.2,
    "brightness": 0.2,
    "blur": 0.1,
    "bn_momentum": 0.1,
    "freeze": "none",
    "heads": 1,
    "refit": False,
    "numerics": "portable",
    "threads": 1,
    "precision": "float32",
    "device": "cpu",
    "seed": 0,
}
GEOMETRY = {"patch_size_px": 200, "input_size_px": 32, "resize": "a rule", "decode": "another rule"}


@dataclass(frozen=True)
class Reef:
    """Patches with their labels; the first `n_train` are for training."""

    images: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int64]
    train_rows: npt.NDArray[np.int64]
    val_rows: npt.NDArray[np.int64]


def draw_patches(labels: npt.NDArray[np.int64], px: int, seed: int) -> npt.NDArray[np.uint8]:
    """Class 0: fine noise; 1: stripes; 2: coarse blocks; each in a random colour cast."""
    rng = np.random.default_rng(seed)
    images = np.empty((len(labels), px, px, 3), np.uint8)
    for i, label in enumerate(labels):
        texture = rng.normal(0, 1, (px, px))
        if label == 1:
            texture = 1.5 * np.sin(np.arange(px) / 2)[None, :] + 0.5 * texture
        elif label == 2:
            texture = 1.5 * np.kron(rng.normal(0, 1, (px // 8, px // 8)), np.ones((8, 8))) + 0.5 * texture
        images[i] = np.clip(rng.uniform(60, 150, 3) + 30 * texture[..., None], 0, 255)
    return images


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Two threads that wait for each other are slow on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def reef() -> Reef:
    labels = np.tile(np.arange(3), 56).astype(np.int64)
    rows = np.arange(len(labels))
    return Reef(draw_patches(labels, 32, seed=0), labels, rows[:120], rows[120:])


@pytest.fixture(scope="session")
def weights_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What torchvision would give for mobilenet_v3_small, with random values."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "small.pth"
    torch.save(models.get_model("mobilenet_v3_small", weights=None).state_dict(), path)
    return path


@pytest.fixture
def train_params() -> Callable[..., TrainParams]:
    def make(**changes: object) -> TrainParams:
        return TrainParams.model_validate(TRAIN_VALUES | changes)

    return make


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with the outputs of split and extract: 8 frames of 2 x 5 patches, two annotators, gaps."""
    splits = ["train", "val", "test", "train", "none", "train", "val", "train"]
    index: list[dict[str, object]] = []
    labels: list[dict[str, object]] = []
    classes = np.arange(80) % 3
    for patch in range(80):
        frame_id = f"demo/s{patch // 10}/é {patch // 10}.jpg"
        row, col = patch % 10 // 5, patch % 5
        patch_id = f"{frame_id}#r{row:03d}c{col:03d}"
        corners = {"x0": 200 * col, "y0": 200 * row, "x1": 200 * col + 200, "y1": 200 * row + 200}
        index.append({"patch_id": patch_id, "frame_id": frame_id, "row": row, "col": col} | corners)
        name = "" if patch % 10 == 7 else CLASSES[classes[patch]]
        if patch % 10 != 9:
            labels.append(
                {"patch_id": patch_id, "annotator": "A", "label": name, "purity": 1.0, "kind": "grid", "gold": 1}
            )
        labels.append(
            {"patch_id": patch_id, "annotator": "B", "label": "Coral", "purity": 1.0, "kind": "grid", "gold": 0}
        )
    frames: list[dict[str, object]] = [
        {"frame_id": f"demo/s{i}/é {i}.jpg", "group": f"s{i}", "split": split} for i, split in enumerate(splits)
    ]
    PATCH_INDEX.write(PATCH_INDEX.frame(index), tmp_path / "data/patches/index.csv")
    PATCH_LABELS.write(PATCH_LABELS.frame(labels), tmp_path / "data/patches/labels.csv")
    SPLITS_TABLE.write(SPLITS_TABLE.frame(frames), tmp_path / "data/catalog/splits.csv")
    write_json(tmp_path / "data/patches/geometry.json", GEOMETRY)
    np.save(tmp_path / "data/patches/patches.npy", draw_patches(classes, 32, seed=1))
    train = "".join(f"  {key}: {str(value).lower()}\n" for key, value in TRAIN_VALUES.items())
    write_text(
        tmp_path / "params.yaml",
        f"train:\n{train}  repeats: 2\npredict:\n  batch_size: 32\n  engine: torch\n  threads: 1\n  device: cpu\n"
        "  flips: 1\n  numerics: portable\n  calibrate: none\n",
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path
