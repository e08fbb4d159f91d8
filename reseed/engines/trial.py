"""A model file of somebody else, tried in a process of its own before anything is decided with it.

A network can ask for any amount of memory and time, and a broken file can end the process that opens it.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

import numpy as np

from reseed.base.errors import ModelError
from reseed.base.probabilities import softmax

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
