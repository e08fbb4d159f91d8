"""The network in torch: on any device, without an export."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from reseed.base.probabilities import Probabilities, softmax
from reseed.engines.engine import TORCH
from reseed.engines.facts import ModelFacts
from reseed.engines.model_folder import facts_of_card, load_folder
from reseed.network.model import Network, to_unit
from reseed.network.runtime import resolve_device


@dataclass(frozen=True)
class TorchEngine:
    """A network in torch.

    Args:
        network: In evaluation mode, on `place`.
        place: Where it runs.
        facts: What its description says.
        version: Of torch.
    """

    network: Network
    place: torch.device
    facts: ModelFacts
    version: str = torch.__version__
    name: str = TORCH

    @property
    def device(self) -> str:
        """`cpu`, `cuda` or `mps`."""
        return self.place.type

    @classmethod
    def open(cls, folder: Path, threads: int, device: str, key: str) -> "TorchEngine":
        """Open a model folder.

        Args:
            folder: With `model.pt` and `model.json`.
            threads: CPU threads, for the whole process.
            device: As `resolve_device` takes it.
            key: Where the user set it, for the message.

        Raises:
            ModelError: If the files are missing, broken or do not fit this code.
            ParamsError: If this machine does not have the device.
        """
        where = resolve_device(device, key)
        network, card = load_folder(folder)
        torch.set_num_threads(threads)
        return cls(network.to(where), where, facts_of_card(card, folder))

    def logits(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """Return (N, 3) float64 logits of (N, S, S, 3) uint8 images."""
        with torch.inference_mode():
            batch = torch.from_numpy(np.array(images)).to(self.place)
            out: npt.NDArray[np.float64] = self.network(to_unit(batch)).cpu().double().numpy()
        return out

    def classify(self, images: npt.NDArray[np.uint8]) -> Probabilities:
        """Return (N, 3) probabilities of (N, S, S, 3) uint8 images."""
        return softmax(self.logits(images))
