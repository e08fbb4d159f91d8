"""A network that looks at colours only, and a folder of frames whose decisions are known by construction."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from reseed.base.classes import CLASSES
from reseed.engines.facts import ModelFacts
from reseed.infer import tables
from reseed.patches.resize import RESIZE_RULE
from reseed.survey.imagery import DECODE_RULE
from tests.unit.survey.surveys import encoded, reefscan_exif

PATCH = 40
ROWS, COLS = 2, 4
Infer = Callable[..., int]  # runs the command, see fixture `boat`
COLOURS = {"n": (120, 120, 120), "c": (220, 60, 60), "d": (60, 60, 220)}


class ColourEngine:
    """Calls red patches Coral, blue ones Deploy and gray ones No-Deploy."""

    name = "colours"
    version = "1"

    def __init__(
        self, alpha: str | None = "0.5", sha256: str = "a" * 64, *, rendered: bool = False, familiar: str = ""
    ) -> None:
        facts = ModelFacts(CLASSES, PATCH, 16, RESIZE_RULE, DECODE_RULE, alpha, sha256, "none", rendered)
        self.facts = replace(facts, familiar=familiar)

    def logits(self, images: NDArray[np.uint8]) -> NDArray[np.float64]:
        return np.log(self.classify(images) + 1e-9)

    def classify(self, images: NDArray[np.uint8]) -> NDArray[np.float64]:
        red, _, blue = images.astype(np.float64).mean(axis=(1, 2)).T
        probabilities = np.full((len(images), 3), 0.1)
        probabilities[np.arange(len(images)), np.select([red > blue + 50, blue > red + 50], [1, 2], 0)] = 0.8
        return probabilities


def frame_image(patches: str) -> Image.Image:
    """A frame of 4 x 2 patches of 40 px, in the colours of their letters."""
    tiles = np.array([COLOURS[letter] for letter in patches], np.uint8).reshape(ROWS, COLS, 3)
    return Image.fromarray(tiles.repeat(PATCH, axis=0).repeat(PATCH, axis=1))


def frame_jpeg(patches: str, latitude: float | None = -9.5, longitude: float = 143.75, second: int = 0) -> bytes:
    if latitude is None:
        return encoded(frame_image(patches), "JPEG", quality=95)
    exif = reefscan_exif(latitude, longitude, f"2023:03:15 02:06:{second:02d}")
    return encoded(frame_image(patches), "JPEG", quality=95, exif=exif)


def write_tow(folder: Path, frames: list[str], latitude: float | None = -9.5, longitude: float = 143.75) -> list[Path]:
    """Write a sequence of frames that follow each other to the north, a second and about a metre apart."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, patches in enumerate(frames):
        path = folder / f"20230315_0206{number:02d}_000_{number:04d}.jpg"
        place = None if latitude is None else latitude + number * 1e-5
        path.write_bytes(frame_jpeg(patches, place, longitude, number))
        paths.append(path)
    return paths


def rows(out: Path, name: str = tables.DECISIONS_FILE) -> list[dict[str, str]]:
    with (out / name).open(encoding="utf-8", newline="") as reader:
        return list(csv.DictReader(reader))


def decided(out: Path) -> dict[str, str]:
    return {Path(row["frame"]).stem[-4:]: row["decision"] for row in rows(out)}
