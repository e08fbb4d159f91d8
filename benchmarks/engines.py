"""`python -m benchmarks.engines [MODEL]`: processor time of each engine for the patches of one frame, on one thread.

Processor time, not wall time, which depends on what else runs. Without MODEL, a network that nobody trained, at 256 px.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from reseed.base.errors import ModelError
from reseed.base.probabilities import softmax
from reseed.engines.engine import AUTO, ENGINES, Engine, open_engine
from reseed.engines.export import drawn_patches
from reseed.network.checkpoint import describe_model, save_model
from reseed.network.model import Network

PATCHES, RUNS = 28, 9
BACKBONE, EDGE_PX = "mobilenet_v3_small", 256


def untrained(folder: Path) -> Path:
    """Write a model folder with random weights."""
    torch.manual_seed(0)
    geometry = {"patch_size_px": 800, "input_size_px": EDGE_PX, "resize": "none", "decode": "none"}
    card = describe_model(BACKBONE, 0, 0, 1, "cpu", (EDGE_PX, EDGE_PX), geometry, {"weights": "none"})
    save_model(Network(BACKBONE).eval(), card, folder / "model.pt", folder / "model.json")
    return folder


def milliseconds(engine: Engine, images: np.ndarray) -> float:
    """Return the least processor time of several runs, after two to warm up."""
    times = []
    for _ in range(RUNS + 2):
        start = time.process_time()
        softmax(engine.logits(images))
        times.append(1000 * (time.process_time() - start))
    return min(times[2:])


def main() -> None:
    """Print one line for each engine that is there."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(sys.argv[1]) if len(sys.argv) > 1 else untrained(Path(folder))
        reference = open_engine(model, "torch", 1)
        images = drawn_patches(reference.facts.input_size_px)
        assert len(images) == PATCHES
        expected = softmax(reference.logits(images))
        print(f"{PATCHES} patches of {reference.facts.input_size_px} px, {reference.facts.backbone}, one thread")
        for name in ENGINES:
            if name == AUTO:
                continue
            try:
                start = time.process_time()
                engine = open_engine(model, name, 1)
                opened = time.process_time() - start
            except ModelError as error:
                print(f"{name:14} {error}")
                continue
            apart = float(np.abs(softmax(engine.logits(images)) - expected).max())
            took = milliseconds(engine, images)
            print(f"{name:14} {took:6.0f} ms  opened in {opened:.2f} s  probabilities within {apart:.1g}")


if __name__ == "__main__":
    main()
