"""What the fast frame path costs in answers: it against full decoding and an exact resize of every patch.

`python -m benchmarks.fidelity [--input-size 256] [--epochs 8] [--seeds 3]` trains MobileNetV2 from its ImageNet weights
on the fast patches of two thirds of the real frames ($RESEED_FIELD_DATA/reefscan, $RESEED_FIELD_WEIGHTS), once for each
seed, and asks every network about all frames twice: as the fast path gives them, and as 28 crops of the fully decoded
frame, each resized by antialiased bicubic interpolation in floating point. Half an hour on two idle cores; exit
code 1 if a bound is missed. `tests/unit/network/test_fidelity.py` holds the same bounds for heads on fixed features.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor

from reseed.base.classes import CLASS_INDEX
from reseed.base.grid import grid_of, tile_boxes
from reseed.base.parallel import usable_cores
from reseed.network.model import Network, to_unit
from reseed.network.pretrained import find_weights
from reseed.network.runtime import reproducible
from reseed.network.training import fit
from reseed.params.train import TrainParams, load_train_params
from reseed.patches.resize import load_frame_patches
from reseed.score.confusion import confusion_counts, macro_f1
from reseed.survey.imagery import decode_rgb

LEAST_EQUAL_PCT = 97.5
MOST_LOST_F1_PCT = 0.5
PATCH_SIZE_PX = 800
MAX_PIXELS = 10**8
ALPHAS = (0.2, 0.3, 0.4, 0.5, 0.6)
ROOT = Path(__file__).parents[1]

# From (N, 3, S, S) float images, 0 to 1, to (seeds, N, 3) logits.
Ask = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Fidelity:
    """How the answers on the fast path differ from those on exact patches.

    Args:
        equal_pct: Share of equal patch classes, by seed.
        fast_f1_pct: Macro F1 of the patches against the labels, by seed.
        exact_f1_pct: The same on exact patches.
        flipped: Frame decisions that differ, over seeds and `ALPHAS`.
        unexplained: Those of them where neither count is within one patch of alpha.
        decisions: Frames x seeds x alphas.
    """

    equal_pct: tuple[float, ...]
    fast_f1_pct: tuple[float, ...]
    exact_f1_pct: tuple[float, ...]
    flipped: int
    unexplained: int
    decisions: int

    @property
    def lost_f1_pct(self) -> float:
        """Macro F1 lost to speed, mean of the seeds."""
        return float(np.mean(self.exact_f1_pct) - np.mean(self.fast_f1_pct))

    @property
    def holds(self) -> bool:
        """Whether every bound is kept, by the mean of the seeds."""
        equal = float(np.mean(self.equal_pct))
        return equal >= LEAST_EQUAL_PCT and self.lost_f1_pct <= MOST_LOST_F1_PCT and self.unexplained == 0

    def __str__(self) -> str:
        rows = [
            f"seed {seed}: {equal:6.2f} % of classes equal, macro F1 {fast:.2f} % fast, {exact:.2f} % exact"
            for seed, (equal, fast, exact) in enumerate(
                zip(self.equal_pct, self.fast_f1_pct, self.exact_f1_pct, strict=True)
            )
        ]
        mean = (
            f"mean: {np.mean(self.equal_pct):.2f} % equal (at least {LEAST_EQUAL_PCT}), {self.lost_f1_pct:+.2f} points "
            f"of macro F1 lost (at most {MOST_LOST_F1_PCT})"
        )
        decisions = (
            f"decisions: {self.flipped} of {self.decisions} differ, {self.unexplained} of them not within one patch of "
            "alpha (none allowed)"
        )
        return "\n".join([*rows, mean, decisions])


@dataclass(frozen=True)
class LabelledFrames:
    """Real frames with their labels by annotator A.

    Args:
        paths: N frames.
        labels: (N, 28) int64 class of each cell of the 4 x 7 grid, row by row.
    """

    paths: tuple[Path, ...]
    labels: npt.NDArray[np.int64]


def real_frames() -> LabelledFrames:
    """Return the frames of $RESEED_FIELD_DATA/reefscan and the labels of annotator A."""
    folder = Path(os.environ["RESEED_FIELD_DATA"]) / "reefscan"
    cells = pd.read_csv(folder / "annotations_A.csv").sort_values(["frame", "row", "col"])
    names = sorted(set(cells["frame"]))
    classes = np.array([CLASS_INDEX[label] for label in cells["label"]], dtype=np.int64)
    return LabelledFrames(tuple(folder / name for name in names), classes.reshape(len(names), -1))


def exact_patches(path: Path, input_size_px: int) -> Tensor:
    """Return the patches of a frame, decoded in full, cropped, and resized one by one in floating point.

    Returns:
        (28, 3, input_size, input_size) float32, 0 to 1.
    """
    frame = decode_rgb(path, MAX_PIXELS)
    height_px, width_px = frame.shape[:2]
    boxes = tile_boxes(width_px, height_px, grid_of(width_px, height_px, PATCH_SIZE_PX))
    resized = [
        torch.nn.functional.interpolate(
            to_unit(torch.from_numpy(frame[y0:y1, x0:x1].copy())[None]),
            size=(input_size_px, input_size_px),
            mode="bicubic",
            antialias=True,
        )
        for x0, y0, x1, y1 in boxes.tolist()
    ]
    return torch.cat(resized).clamp_(0, 1)


def fast_patches(paths: Sequence[Path], input_size_px: int) -> npt.NDArray[np.uint8]:
    """Return the patches of all frames by the path that training and `infer` use, (N * 28, S, S, 3) uint8."""
    return np.concatenate([load_frame_patches(path, PATCH_SIZE_PX, input_size_px, MAX_PIXELS).images for path in paths])


def compare(
    frames: LabelledFrames, fast: npt.NDArray[np.int64], ask: Ask, chosen: Sequence[int], input_size_px: int
) -> Fidelity:
    """Ask the networks about the exact patches of some frames and compare with their answers on the fast ones.

    Args:
        frames: What there is.
        fast: (seeds, N, 28) classes that the networks give the fast patches of all frames.
        ask: The networks, one for each seed.
        chosen: Frames to compare.
        input_size_px: Edge of a patch as the networks see it.
    """
    n_patches = frames.labels.shape[1]
    answers: list[npt.NDArray[np.int64]] = []
    for frame in chosen:
        with torch.inference_mode():
            exact = ask(exact_patches(frames.paths[frame], input_size_px)).argmax(-1).numpy()
        answers.append(np.stack([fast[:, frame], exact]))
    found = np.stack(answers, axis=2)  # (2, seeds, frames, patches)
    gold = frames.labels[list(chosen)]
    counts = (found == CLASS_INDEX["Deploy"]).sum(axis=3)[..., None]  # (2, seeds, frames, 1)
    limits = np.array(ALPHAS) * n_patches
    differs = (counts[0] > limits) != (counts[1] > limits)
    near = (np.abs(counts - limits) <= 1).any(axis=0)
    return Fidelity(
        equal_pct=tuple(float(value) for value in 100 * (found[0] == found[1]).mean(axis=(1, 2))),
        fast_f1_pct=tuple(_f1_pct(of_seed, gold) for of_seed in found[0]),
        exact_f1_pct=tuple(_f1_pct(of_seed, gold) for of_seed in found[1]),
        flipped=int(differs.sum()),
        unexplained=int((differs & ~near).sum()),
        decisions=differs.size,
    )


def _f1_pct(predicted: npt.NDArray[np.int64], gold: npt.NDArray[np.int64]) -> float:
    return 100 * float(macro_f1(confusion_counts(gold.ravel(), predicted.ravel(), 3)))


def main(argv: list[str]) -> int:
    """Train, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input-size", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=usable_cores())
    asked = parser.parse_args(argv)
    params = load_train_params(ROOT / "params/field-check.yaml", TrainParams)
    start = find_weights(params.backbone, params.weights).state
    frames = real_frames()
    fast = fast_patches(frames.paths, asked.input_size)
    rows = np.arange(frames.labels.size).reshape(frames.labels.shape)
    # Of three neighbouring frames two teach (every fifth of these chooses the epoch) and one is never shown.
    taught = [frame for frame in range(len(frames.paths)) if frame % 3 != 2]
    unseen = [frame for frame in range(len(frames.paths)) if frame % 3 == 2]
    networks: list[Network] = []
    for seed in range(asked.seeds):
        of_seed = params.model_copy(update={"seed": seed, "epochs": asked.epochs, "threads": asked.threads})
        result = fit(fast, frames.labels.ravel(), rows[taught].ravel(), rows[taught[::5]].ravel(), of_seed, start)
        networks.append(result.network)

    def ask(patches: Tensor) -> Tensor:
        return torch.stack([network(patches) for network in networks])

    holds = True
    with reproducible(asked.threads, 0, torch.device("cpu")):
        with torch.inference_mode():
            answers = [ask(to_unit(batch)).argmax(-1) for batch in torch.from_numpy(fast).split(112)]
        classes = torch.cat(answers, dim=1).numpy().reshape(len(networks), *frames.labels.shape)
        for name, chosen in (("all frames", sorted([*taught, *unseen])), ("frames never shown", unseen)):
            found = compare(frames, classes, ask, chosen, asked.input_size)
            print(f"{name} ({len(chosen)}), {asked.input_size} px, MobileNetV2 after {asked.epochs} epochs\n{found}")
            holds &= found.holds or chosen is unseen
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
