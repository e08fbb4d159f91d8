"""The fast frame path against exact patches, on real frames; `python -m benchmarks.fidelity` trains whole networks."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from benchmarks.fidelity import compare, fast_patches, real_frames
from reseed.base.classes import CLASSES
from reseed.network.model import Network, to_unit
from reseed.network.pretrained import find_weights
from reseed.network.runtime import reproducible

DATA, WEIGHTS = os.environ.get("RESEED_FIELD_DATA", ""), os.environ.get("RESEED_FIELD_WEIGHTS", "")
INPUT_SIZE_PX = 128
SEEDS = 3

pytestmark = [
    pytest.mark.field,
    pytest.mark.slow,
    pytest.mark.skipif(not DATA, reason="$RESEED_FIELD_DATA is not set"),
    pytest.mark.skipif(not WEIGHTS, reason="$RESEED_FIELD_WEIGHTS is not set"),
]


def _heads(features: Tensor, gold: Tensor) -> list[nn.Module]:
    """Train a head for each seed on fixed features: what a network learns of these frames, in seconds."""
    heads = []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        head = Network("mobilenet_v2").head.train()
        optimiser = torch.optim.Adam(head.parameters(), lr=1e-3)
        for _ in range(20):
            for rows in torch.randperm(len(gold)).split(64):
                optimiser.zero_grad()
                nn.functional.cross_entropy(head(features[rows]), gold[rows]).backward()
                optimiser.step()
        heads.append(head.eval())
    return heads


def test_answers_on_the_fast_path_are_those_on_exact_patches() -> None:
    frames = real_frames()
    fast = fast_patches(frames.paths, INPUT_SIZE_PX)
    network = Network("mobilenet_v2").eval()
    network.backbone.load_state_dict(
        find_weights("mobilenet_v2", str(Path(WEIGHTS) / "mobilenet_v2-b0353104.pth")).state
    )

    def features(patches: Tensor) -> Tensor:
        found: Tensor = network.backbone((patches - network.mean) / network.std)
        return found

    with reproducible(1, 0, torch.device("cpu")):  # tests run side by side
        with torch.inference_mode():
            seen = torch.cat([features(to_unit(batch)) for batch in torch.from_numpy(fast).split(112)])
        seen = seen.clone()  # outside of inference mode, so that heads may learn from it
        heads = _heads(seen, torch.from_numpy(frames.labels.ravel()))

        def answer(features: Tensor) -> Tensor:
            return torch.stack([head(features) for head in heads])

        answers = answer(seen).argmax(-1).numpy().reshape(SEEDS, *frames.labels.shape)
        every = range(len(frames.paths))
        found = compare(frames, answers, lambda patches: answer(features(patches)), every, INPUT_SIZE_PX)
    assert min(found.fast_f1_pct) > 80, found  # they did learn these frames
    assert len(set(found.fast_f1_pct)) == SEEDS
    assert frames.labels.shape == (34, 28)
    assert np.unique(frames.labels).tolist() == list(range(len(CLASSES)))
    assert found.holds, found
