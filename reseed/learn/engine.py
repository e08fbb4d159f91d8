"""What runs the network: torch, ONNX Runtime or OpenVINO, behind one interface.

Nothing here imports torch before it is needed: with a file of `python -m reseed export` and ONNX Runtime, a boat needs
no torch at all.
"""

from pathlib import Path
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from reseed.errors import ModelError
from reseed.learn.facts import ModelFacts

AUTO: Final = "auto"
TORCH: Final = "torch"
ONNX: Final = "onnx"
OPENVINO: Final = "openvino"
ENGINES: Final = (AUTO, TORCH, ONNX, OPENVINO)
CPU: Final = "cpu"
ONNX_SUFFIX: Final = ".onnx"


class Engine(Protocol):
    """Runs one network; several threads may call it at the same time."""

    @property
    def name(self) -> str:
        """`torch`, `onnx` or `openvino`."""

    @property
    def version(self) -> str:
        """Version of the library behind it."""

    @property
    def facts(self) -> ModelFacts:
        """What the model says of itself."""

    def logits(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """Return what the network says before softmax.

        Args:
            images: (N, S, S, 3) uint8, RGB, S = facts.input_size_px.

        Returns:
            (N, 3) float64.
        """

    def classify(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """Return probabilities, rounded as in the tables.

        Args:
            images: (N, S, S, 3) uint8, RGB, S = facts.input_size_px.

        Returns:
            (N, 3) float64, 0 to 1, in the order of facts.classes.

        Raises:
            ModelError: If an output is not a finite number.
        """


def open_engine(model: Path, engine: str, threads: int, device: str = CPU) -> Engine:
    """Open a model.

    Args:
        model: Folder with `model.pt` and `model.json`, or a `.onnx` file of `python -m reseed export`.
        engine: One of `ENGINES`; auto is ONNX Runtime on the CPU and for a `.onnx` file, else torch.
        threads: CPU threads of one call.
        device: `cpu`, or for torch also `cuda`, `mps` or `auto`.

    Raises:
        ModelError: If the model cannot be read, does not fit this code, or the engine cannot run it or is not there.
    """
    if engine not in ENGINES:
        raise ModelError(f"engine {engine!r} is unknown; allowed: {', '.join(ENGINES)}")
    if model.suffix == ONNX_SUFFIX:
        return _open_file(model, engine, threads, device)
    chosen = choose_engine(engine, device)
    if chosen == TORCH:
        from reseed.learn.torch_engine import TorchEngine  # noqa: PLC0415  # torch takes seconds to import

        return TorchEngine.open(model, threads, device)
    from reseed.learn.export import export_folder  # noqa: PLC0415  # torch takes seconds to import

    return _open_bytes(export_folder(model), str(model), chosen, threads)


def choose_engine(engine: str, device: str) -> str:
    """Return the engine that `engine` means on `device` for a model folder.

    Raises:
        ModelError: If the engine does not run there.
    """
    if engine == TORCH:
        return TORCH
    if device == AUTO:
        from reseed.learn.runtime import resolve_device  # noqa: PLC0415  # torch takes seconds to import

        device = resolve_device(device, "device").type if engine == AUTO else CPU
    if engine == AUTO:
        return ONNX if device == CPU else TORCH
    if device != CPU:
        raise ModelError(
            f"engine {engine} runs on the CPU only, but device is {device}; set device cpu or engine torch"
        )
    return engine


def _open_file(model: Path, engine: str, threads: int, device: str) -> Engine:
    if engine == TORCH or device not in {CPU, AUTO}:
        asked = f"engine {engine}" if engine == TORCH else f"device {device}"
        raise ModelError(
            f"{model}: {asked} cannot run an exported file; give the model's folder (model.pt, model.json), or use "
            "engine onnx or openvino on the CPU"
        )
    try:
        data = model.read_bytes()
    except OSError as error:
        raise ModelError(
            f"{model}: not readable ({error.strerror}); `python -m reseed export --out {model.name}` makes one"
        ) from error
    return _open_bytes(data, str(model), ONNX if engine == AUTO else engine, threads)


def _open_bytes(data: bytes, where: str, engine: str, threads: int) -> Engine:
    if engine == OPENVINO:
        from reseed.learn.openvino_engine import OpenvinoEngine  # noqa: PLC0415  # an optional extra

        return OpenvinoEngine.open(data, where, threads)
    from reseed.learn.onnx_engine import OnnxEngine  # noqa: PLC0415  # the other engines do not need it

    return OnnxEngine.open(data, where, threads)
