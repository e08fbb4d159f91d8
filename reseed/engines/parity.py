"""Does an exported file say what the network says? Compared on the patches of a survey and on drawn ones."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from reseed.base.classes import CLASS_INDEX, CORAL, DEPLOY
from reseed.base.errors import ModelError
from reseed.base.probabilities import predicted_classes, softmax
from reseed.engines.export import FRAME_OUTPUTS, PATCH_OUTPUTS
from reseed.engines.onnx_engine import INPUT, OnnxEngine
from reseed.network.infer import predict_logits
from reseed.network.model import Network

TOLERANCE: Final = 1e-4  # of a probability
_DRAWN: Final = 28
_SEED: Final = 0


@dataclass(frozen=True)
class Parity:
    """How near an exported file is to its network.

    Args:
        n: Patches compared.
        largest: Largest difference of a probability.
    """

    n: int
    largest: float


def drawn_patches(edge_px: int) -> npt.NDArray[np.uint8]:
    """Return patches of any colour, brightness, contrast and grain, the same ones every time.

    Args:
        edge_px: Height and width.

    Returns:
        (28, edge_px, edge_px, 3) uint8; plain black and plain white among them.
    """
    rng = np.random.default_rng(_SEED)
    patches = np.empty((_DRAWN, edge_px, edge_px, 3), np.uint8)
    for patch in patches:
        grain = int(rng.integers(1, max(2, edge_px // 4)))
        cells = -(-edge_px // grain)
        levels = rng.uniform(0, 255, 3) + rng.uniform(0, 120) * rng.standard_normal((cells, cells, 3))
        patch[:] = np.kron(levels, np.ones((grain, grain, 1)))[:edge_px, :edge_px].clip(0, 255)
    patches[0], patches[1] = 0, 255
    return patches


def require_parity(data: bytes, network: Network, images: npt.NDArray[np.uint8], where: str) -> Parity:
    """Compare an exported file with the network it was made from, both output sets.

    Args:
        data: The file.
        network: On the CPU, in evaluation mode.
        images: (N, S, S, 3) uint8; also taken as the patches of one frame.
        where: Path the file will have, for messages.

    Raises:
        ModelError: If a probability differs by more than `TOLERANCE`, or any class or count.
    """
    engine = OnnxEngine.open(data, where, threads=1)
    expected = softmax(predict_logits(network, images, len(images), torch.device("cpu")))
    classes = predicted_classes(expected)
    outputs = [*PATCH_OUTPUTS, *(FRAME_OUTPUTS if engine.facts.alpha is not None else ())]
    said = dict(zip(outputs, engine.session.run(outputs, {INPUT: images}), strict=True))
    largest = max(_apart(said["probabilities"], expected), _apart(engine.classify(images), expected))
    if largest > TOLERANCE:
        raise ModelError(
            f"{where}: not written, the exported network gives other probabilities (by {largest:.2g}, allowed "
            f"{TOLERANCE}); keep model.pt and report this with the versions of torch and onnxruntime"
        )
    wrong = int((said["classes"] != classes).sum())
    counts = {
        "n_patches": len(images),
        "deploy_count": int((classes == CLASS_INDEX[DEPLOY]).sum()),
        "coral_count": int((classes == CLASS_INDEX[CORAL]).sum()),
    }
    if wrong or any(int(said[name]) != n for name, n in counts.items() if name in said):
        raise ModelError(
            f"{where}: not written, the exported network gives other classes to {wrong} of {len(images)} patches or "
            "counts them otherwise; keep model.pt and report this with the versions of torch and onnxruntime"
        )
    return Parity(len(images), largest)


def _apart(values: Any, expected: npt.NDArray[np.float64]) -> float:
    return float(np.abs(values - expected).max())
