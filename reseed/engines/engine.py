"""What runs the network: torch, ONNX Runtime or OpenVINO, behind one interface.

Nothing here imports torch before it is needed: with a file of `python -m reseed export` and ONNX Runtime, a boat needs
no torch at all.

A model file of somebody else is first tried in a process of its own: a network can ask for any amount of memory and
time, and a broken file can end the process.
"""

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from reseed.base.errors import ModelError
from reseed.base.files import read_regular
from reseed.base.probabilities import softmax
from reseed.engines.facts import ModelFacts

if TYPE_CHECKING:
    from reseed.engines.onnx_engine import OnnxEngine, OpenvinoEngine

if TYPE_CHECKING:
    from reseed.network.model import Network

AUTO: Final = "auto"
TORCH: Final = "torch"
ONNX: Final = "onnx"
OPENVINO: Final = "openvino"
# OpenVINO in bfloat16, where the processor has it: faster again, but probabilities differ in the second decimal. For
# decisions at sea, not for scores, so section `predict` does not offer it.
OPENVINO_BF16: Final = "openvino-bf16"
ENGINES: Final = (AUTO, TORCH, ONNX, OPENVINO, OPENVINO_BF16)
CPU: Final = "cpu"
ONNX_SUFFIX: Final = ".onnx"
UNBOUNDED: Final = 1_000_000  # patches; of one frame all go through at once, unless the engine is faster in steps
_MOST_BYTES: Final = (1 << 31) - 1  # no ONNX file is larger


class Engine(Protocol):
    """Runs one network; several threads may call it at the same time."""

    @property
    def name(self) -> str:
        """One of `ENGINES`, but never auto."""

    @property
    def device(self) -> str:
        """`cpu`, `cuda` or `mps`."""

    @property
    def version(self) -> str:
        """Version of the library behind it."""

    @property
    def facts(self) -> ModelFacts:
        """What the model says of itself."""

    def logits(
        self, images: npt.NDArray[np.uint8], batch_size: int = UNBOUNDED, rows: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.float64]:
        """Return what the network gives before softmax; `reseed.base.probabilities.softmax` makes probabilities of it.

        Args:
            images: (N, S, S, 3) uint8, RGB, S = facts.input_size_px; may be mapped from disk.
            batch_size: Patches at a time, at most; bounds the memory used.
            rows: (M,) positions in `images`; None for all, in order.

        Returns:
            (M, 3) float64, in the order of facts.classes.
        """


def open_engine(model: Path, engine: str, threads: int, device: str = CPU, section: str = "") -> Engine:
    """Open a model.

    Args:
        model: Folder with `model.pt` and `model.json`, or a `.onnx` file of `python -m reseed export`.
        engine: One of `ENGINES`; auto is ONNX Runtime on the CPU and for a `.onnx` file, else torch.
        threads: CPU threads of one call.
        device: `cpu`, or for torch also `cuda`, `mps` or `auto`.
        section: What stands before `engine` and `device` where the user set them, such as `predict.`, for messages.

    Raises:
        ModelError: If the model cannot be read, does not fit this code, or the engine cannot run it or is not there.
        ParamsError: If this machine does not have the device.
    """
    if engine not in ENGINES:
        raise ModelError(f"{section}engine: got {engine!r}; allowed: {', '.join(ENGINES)}")
    if model.suffix == ONNX_SUFFIX:
        data = _read(model, engine, device, section)
        require_working(data, str(model))
        opened = _open_bytes(data, str(model), engine, threads)
        # Its metadata name the model.pt that it was made from: a claim, which another network can make too.
        return replace(opened, facts=replace(opened.facts, sha256=hashlib.sha256(data).hexdigest()))
    chosen = choose_engine(engine, device, section)
    from reseed.engines.predictions import load_folder  # noqa: PLC0415  # torch takes seconds to import

    return run_network(*load_folder(model), chosen, threads, device, section)


def run_network(
    network: "Network", facts: ModelFacts, engine: str, threads: int, device: str = CPU, section: str = ""
) -> Engine:
    """Return the engine that runs a network which is at hand; arguments and errors as `open_engine`.

    Args:
        network: On any device.
        facts: What is known of it.
        engine: One of `ENGINES`.
        threads: CPU threads of one call.
        device: Where it is to run.
        section: For messages.
    """
    chosen = choose_engine(engine, device, section)
    if chosen == TORCH:
        from reseed.engines.predictions import TorchEngine  # noqa: PLC0415  # torch takes seconds to import

        return TorchEngine.of(network, facts, threads, device, f"{section}device")
    from reseed.engines.export import export_network  # noqa: PLC0415  # torch takes seconds to import

    return _open_bytes(export_network(network.cpu().eval(), facts), facts.backbone, chosen, threads)


def choose_engine(engine: str, device: str, section: str = "") -> str:
    """Return the engine that `engine` means on `device` for a model folder; arguments as `open_engine`.

    Raises:
        ModelError: If the engine does not run there.
        ParamsError: If this machine does not have the device.
    """
    if engine == TORCH:
        return TORCH
    if engine == AUTO and device != CPU:
        from reseed.network.runtime import resolve_device  # noqa: PLC0415  # torch takes seconds to import

        return ONNX if resolve_device(device, f"{section}device").type == CPU else TORCH
    if device not in {CPU, AUTO}:
        raise ModelError(
            f"{section}engine {engine} runs on the CPU only, but {section}device is {device}; set {section}device "
            f"to cpu or {section}engine to torch"
        )
    return ONNX if engine == AUTO else engine


def _read(model: Path, engine: str, device: str, section: str) -> bytes:
    if engine == TORCH or device not in {CPU, AUTO}:
        asked = f"{section}engine {engine}" if engine == TORCH else f"{section}device {device}"
        raise ModelError(
            f"{model}: {asked} cannot run an exported file; give the model's folder (model.pt, model.json), or use "
            "engine onnx or openvino on the CPU"
        )
    try:
        return read_regular(model, _MOST_BYTES)
    except OSError as error:
        raise ModelError(
            f"{model}: not readable ({error.strerror}); `python -m reseed export --out {model.name}` makes one"
        ) from error


def _open_bytes(data: bytes, where: str, engine: str, threads: int) -> "OnnxEngine | OpenvinoEngine":
    if engine in {OPENVINO, OPENVINO_BF16}:
        from reseed.engines.onnx_engine import OpenvinoEngine  # noqa: PLC0415  # an optional extra

        return OpenvinoEngine.open(data, where, threads, engine)
    from reseed.engines.onnx_engine import OnnxEngine  # noqa: PLC0415  # the other engines do not need it

    return OnnxEngine.open(data, where, threads)


# A network for patches takes a tenth of each.
_PROCESSOR_S: Final = 6
_MEMORY_BYTES: Final = 4 << 30
_WAIT_S: Final = 12.0
_REFUSED: Final = 2
_FILE: Final = "the file"
_BATCHES: Final = (1, 2)
_REMEDY: Final = "export the model again, with `python -m reseed export`"


def require_working(data: bytes, where: str, wait_s: float = _WAIT_S) -> None:
    """Open a file of `python -m reseed export` and classify a few patches with it, in bounded time and memory.

    Args:
        data: The file.
        where: Its path, for messages.
        wait_s: Seconds to wait for it.

    Raises:
        ModelError: If it cannot be opened, does not give three finite logits for each patch, or needs more than a
            network for patches does.
    """
    command = [sys.executable, "-m", __name__]
    try:
        done = subprocess.run(
            command, input=data, cwd=Path(__file__).parents[2], capture_output=True, timeout=wait_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ModelError(
            f"{where}: does not classify {_BATCHES[-1]} patches within {wait_s:g} s; {_REMEDY}, or try it again when "
            "the machine is less busy"
        ) from error
    if done.returncode == _REFUSED:
        raise ModelError(f"{where}: {done.stdout.decode('utf-8', 'replace').strip()}")
    if done.returncode:
        raise ModelError(
            f"{where}: ends the process that tries it; it may be damaged, or need more than {_PROCESSOR_S} s of a "
            f"processor or {_MEMORY_BYTES >> 30} GiB of memory for {_BATCHES[-1]} patches; {_REMEDY}"
        )


def _limit() -> None:
    if sys.platform == "win32":  # no such limits there
        return
    import resource  # noqa: PLC0415 - exists on POSIX systems only

    for what, most in (
        (resource.RLIMIT_AS, _MEMORY_BYTES),
        (resource.RLIMIT_CPU, _PROCESSOR_S),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def classify_some(data: bytes, where: str) -> None:
    """Open a file of `python -m reseed export` and classify one patch, then two.

    Raises:
        ModelError: If it cannot be opened, or does not give three finite logits for each patch.
    """
    from reseed.engines.onnx_engine import OnnxEngine  # noqa: PLC0415 - after the limits

    engine = OnnxEngine.open(data, where, threads=1)
    edge_px = engine.facts.input_size_px
    for number in _BATCHES:
        # From black to white, so that a network whose weights are not finite shows it.
        patches = np.linspace(0, 255, number * edge_px * edge_px * 3).astype(np.uint8)
        try:
            softmax(engine.logits(patches.reshape(number, edge_px, edge_px, 3)))
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from error


def main() -> None:
    """Try the file that comes through standard input; say in one line on standard output why it cannot be used."""
    _limit()
    try:
        classify_some(sys.stdin.buffer.read(), _FILE)
    except (ModelError, MemoryError) as error:
        said = str(error).removeprefix(f"{_FILE}: ") or "needs more memory than a network for patches does"
        sys.stdout.buffer.write(said.encode("utf-8", "backslashreplace"))
        sys.exit(_REFUSED)


if __name__ == "__main__":
    main()
