"""From a trained network to one ONNX file that says how to use it.

Inside the graph: the channel order of stored images, normalisation, the network, softmax, and, where alpha is known,
the decision of the frame that the patches make up.
"""

import copy
import io
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnx
import torch
from torch import Tensor, nn

from reseed.base.classes import CLASS_INDEX, CORAL, DEPLOY
from reseed.base.errors import ModelError
from reseed.base.probabilities import PROBABILITY_DECIMALS, predicted_classes, softmax
from reseed.engines.facts import RENDERED, ModelFacts
from reseed.engines.onnx_engine import INPUT, LOGITS, OnnxEngine
from reseed.network.model import Network, mean_over_flips, network_logits

PATCH_OUTPUTS: Final = (LOGITS, "probabilities", "classes")
FRAME_OUTPUTS: Final = ("n_patches", "deploy_count", "coral_count", "deploy_ratio", "deploy")
_OPSET: Final = 17  # the oldest that has all operators used here: runtimes on boats are old


class Exported(nn.Module):
    """The network as it is exported.

    Args:
        network: In evaluation mode.
        alpha: Threshold, None to leave the decision out.
        flips: Mirror images that logits are the mean over.
    """

    mean_level: Tensor

    def __init__(self, network: Network, alpha: Fraction | None, flips: int) -> None:
        super().__init__()
        self.network = copy.deepcopy(network)
        self.alpha, self.flips = alpha, flips
        # The standard deviation goes into the first weights: one pass less over all pixels. The mean cannot: the border
        # that the first layer pads with zeros would change.
        first = next(module for module in self.network.backbone.modules() if isinstance(module, nn.Conv2d))
        with torch.no_grad():
            first.weight.div_(255 * network.std)
        self.register_buffer("mean_level", 255 * network.mean)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """Return `PATCH_OUTPUTS` of (N, S, S, 3) uint8 images and, with alpha, `FRAME_OUTPUTS` of the frame they make.

        The class is the one of the rounded probabilities, ties to the lower index, as everywhere. The decision compares
        integers, as `reseed.score.alpha` does.
        """
        shifted = images.permute(0, 3, 1, 2).to(torch.float32) - self.mean_level
        logits = mean_over_flips(lambda batch: self.network.head(self.network.backbone(batch)), shifted, self.flips)
        probabilities = torch.softmax(logits, dim=1)
        classes = torch.round(probabilities * 10**PROBABILITY_DECIMALS).argmax(dim=1)
        if self.alpha is None:
            return logits, probabilities, classes
        n_patches = torch.ones_like(classes).sum()
        deploy_count = (classes == CLASS_INDEX[DEPLOY]).sum()
        coral_count = (classes == CLASS_INDEX[CORAL]).sum()
        deploy = deploy_count * self.alpha.denominator > n_patches * self.alpha.numerator
        return logits, probabilities, classes, n_patches, deploy_count, coral_count, deploy_count / n_patches, deploy


def export_network(network: Network, facts: ModelFacts) -> bytes:
    """Return a network as the bytes of an ONNX file; the same network and facts give the same bytes.

    Args:
        network: On the CPU, in evaluation mode.
        facts: What its metadata will say.
    """
    alpha = None if facts.alpha is None else Fraction(facts.alpha)
    edge = facts.input_size_px
    outputs = PATCH_OUTPUTS if alpha is None else PATCH_OUTPUTS + FRAME_OUTPUTS
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # torch announces that its tracing exporter will go. The newer one takes 10 s of CPU for this network, this one
        # 0.3 s, and torch is pinned.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            Exported(network, alpha, facts.flips).eval(),
            (torch.zeros((2, edge, edge, 3), dtype=torch.uint8),),
            buffer,  # type: ignore[arg-type]  # the tracing exporter also takes a file object
            input_names=[INPUT],
            output_names=list(outputs),
            dynamic_axes={INPUT: {0: "patches"}, **{name: {0: "patches"} for name in PATCH_OUTPUTS}},
            opset_version=_OPSET,
            dynamo=False,
        )
    model = onnx.load_from_string(buffer.getvalue())
    for key, value in _metadata(facts).items():
        model.metadata_props.add(key=key, value=value)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def _metadata(facts: ModelFacts) -> dict[str, str]:
    edge = facts.input_size_px
    said = {
        "classes": ", ".join(facts.classes),
        "patch_size_px": str(facts.patch_size_px),
        "input_size_px": str(facts.input_size_px),
        "resize": facts.resize,
        "decode": facts.decode,
        "input": f"{INPUT}: uint8, (patches, {edge}, {edge}, 3), RGB as stored; normalisation is inside",
        "backbone": facts.backbone,
        "model_sha256": facts.sha256,
        "flips": str(facts.flips),
    }
    if facts.alpha is not None:
        said["alpha"] = facts.alpha
    if facts.calibration:
        said["calibration"] = facts.calibration
    if facts.familiar:
        said["familiar"] = facts.familiar
    if facts.trained_on_rendered:
        said["trained_on"] = RENDERED
    return said


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
    expected = softmax(network_logits(network, images, len(images), torch.device("cpu"), flips=engine.facts.flips))
    classes = predicted_classes(expected)
    outputs = [*PATCH_OUTPUTS, *(FRAME_OUTPUTS if engine.facts.alpha is not None else ())]
    said = dict(zip(outputs, engine.session.run(outputs, {INPUT: images}), strict=True))
    largest = max(_apart(said["probabilities"], expected), _apart(softmax(engine.logits(images)), expected))
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
