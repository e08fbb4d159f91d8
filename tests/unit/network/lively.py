"""Networks that answer all three classes although nobody trained them, as model folders and research checkpoints."""

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torchvision import models

from reseed.network.checkpoint import describe_model, save_model
from reseed.network.model import HEAD_WIDTH, LAST_LAYER, Network, feature_width, to_unit
from tests.unit.network.conftest import GEOMETRY, draw_patches

PATCHES = draw_patches(np.arange(60) % 3, 32, seed=3)


def lively(backbone: str) -> Network:
    """Batch statistics of textured patches, and a last layer that spreads the answers over the classes."""
    torch.manual_seed(0)
    network = Network(backbone, bn_momentum=1.0)
    with torch.no_grad():
        network.train()(to_unit(torch.from_numpy(PATCHES)))
    spread(network.eval(), PATCHES)
    return network


def spread(network: Network, patches: npt.NDArray[np.uint8]) -> None:
    """Shift and stretch the last layer until the answers on `patches` differ."""
    last = network.head[3]
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        logits = network(to_unit(torch.from_numpy(patches)))
        scale = 0.5 / logits.std(dim=0)
        last.bias.sub_(logits.mean(dim=0)).mul_(scale)
        last.weight.mul_(scale[:, None])


def save(
    network: Network,
    backbone: str,
    folder: Path,
    alpha: str | None = "0.3",
    synthetic: bool = False,
    edge_px: int = 32,
) -> Path:
    """Write a model folder and, beside it, the metrics of its run."""
    geometry = GEOMETRY | {"input_size_px": edge_px}
    card = describe_model(backbone, 1, 0, 1, "cpu", (edge_px, edge_px), geometry, {"weights": "none"})
    save_model(network, card, folder / "models/model.pt", folder / "models/model.json")
    if alpha is not None:
        (folder / "metrics").mkdir()
        metrics = {"frame": {"alpha": float(alpha)}, "data": {"synthetic": synthetic}}
        (folder / "metrics/metrics.json").write_text(json.dumps(metrics))
    return folder / "models"


def research_state(backbone: str = "mobilenet_v3_small", order: tuple[int, ...] = (0, 1, 2)) -> dict[str, Tensor]:
    """The lively network as research code saves it: torchvision's names, the head in place of the last layer.

    `order[i]` is the class index of output i.
    """
    network = lively(backbone)
    theirs = models.get_model(backbone, weights=None)
    head = nn.Sequential(
        nn.Linear(feature_width(backbone), HEAD_WIDTH), nn.ReLU(), nn.Dropout(0.15), nn.Linear(HEAD_WIDTH, 3)
    )
    head.load_state_dict(network.head.state_dict())
    theirs.set_submodule(LAST_LAYER[backbone], head)
    state = theirs.state_dict()
    for name, value in network.backbone.state_dict().items():
        state[name] = value
    for name in (f"{LAST_LAYER[backbone]}.3.weight", f"{LAST_LAYER[backbone]}.3.bias"):
        state[name] = state[name][list(order)]
    return {name: value.clone() for name, value in state.items()}


def save_research(path: Path, state: dict[str, Tensor] | None = None) -> Path:
    torch.save(research_state() if state is None else state, path)
    return path
