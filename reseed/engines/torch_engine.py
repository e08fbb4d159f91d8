"""The network in torch: on any device, without an export."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from reseed.base.errors import ModelError
from reseed.base.parallel import keep_freed_memory
from reseed.engines.engine import TORCH, UNBOUNDED
from reseed.engines.facts import ModelFacts, facts_of_geometry
from reseed.network.checkpoint import CARD_FILE, MODEL_FILE, load_model
from reseed.network.model import Network, network_logits
from reseed.network.runtime import resolve_device


def load_folder(folder: Path) -> tuple[Network, ModelFacts]:
    """Return the network in a model folder, on the CPU, and what one has to know of it.

    Raises:
        ModelError: As `load_model`, or if it is a file.
    """
    if folder.is_file():
        raise ModelError(
            f"{folder}: is a file; give the folder that holds {MODEL_FILE} and {CARD_FILE}, or an .onnx file of "
            "`python -m reseed export`"
        )
    network, card = load_model(folder / MODEL_FILE, folder / CARD_FILE, None)
    return network, facts_of_geometry(card.geometry, card.backbone, card.sha256, folder)


@dataclass(frozen=True)
class TorchEngine:
    """A network in torch.

    Args:
        network: On `place`.
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
    def of(cls, network: Network, facts: ModelFacts, threads: int, device: str, key: str) -> "TorchEngine":
        """Bring a network to its device.

        Args:
            network: On any device.
            facts: What is known of it.
            threads: CPU threads, for the whole process.
            device: As `resolve_device` takes it.
            key: Where the user set it, for the message.

        Raises:
            ParamsError: If this machine does not have the device.
        """
        where = resolve_device(device, key)
        torch.set_num_threads(threads)
        torch.backends.cudnn.deterministic = True
        keep_freed_memory()
        return cls(network.to(where), where, facts)

    def logits(
        self, images: npt.NDArray[np.uint8], batch_size: int = UNBOUNDED, rows: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.float64]:
        """Return what `Engine.logits` does."""
        return network_logits(self.network, images, batch_size, self.place, rows, self.facts.flips)
