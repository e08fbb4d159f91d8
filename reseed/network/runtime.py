"""Where and how the network runs: device, precision, threads, and the same result every time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch
from torch.utils import deterministic as memory

from reseed.base.errors import ParamsError
from reseed.base.parallel import keep_freed_memory

PORTABLE: Final = "portable"
_PORTABLE: Final = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "COMPATIBLE"}


def resolve_device(asked: str, key: str) -> torch.device:
    """Return the device that `asked` means on this machine.

    Args:
        asked: `auto` (cuda, else mps, else cpu), `cpu`, `cuda` or `mps`.
        key: Dotted key of the parameter, for the message.

    Raises:
        ParamsError: If this machine does not have the device.
    """
    present = [name for name, there in (("cuda", torch.cuda.is_available()), ("mps", _mps())) if there] + ["cpu"]
    if asked == "auto":
        return torch.device(present[0])
    if asked not in present:
        raise ParamsError(
            f"{key}: got {asked!r}, which this machine does not have; allowed here: auto, {', '.join(present)}"
        )
    return torch.device(asked)


def use_numerics(numerics: str) -> None:
    """Let torch compute with the same instructions on every x86 processor, or with all that this one has.

    ATen and oneDNN are held to AVX2, and MKL to the one code path that does not look at the vendor of the processor.
    They read these settings at the first operation and never again, so this comes first.

    Args:
        numerics: `portable` or `native`.

    Raises:
        RuntimeError: If an operation has already run otherwise.
    """
    if numerics == PORTABLE:
        os.environ.update(_PORTABLE)
        capability = torch.backends.cpu.get_cpu_capability()
        if capability.startswith("AVX") and capability != "AVX2":
            raise RuntimeError(f"torch already computes with {capability}; call use_numerics before any operation")


def training_precision(asked: str, device: torch.device) -> torch.autocast:
    """Return the context in which a training batch runs forward: plain autocast, or nothing for float32.

    Args:
        asked: `auto` (bfloat16 on a GPU that computes in it, else float32), `float32` or `bfloat16`.
        device: Where the network is trained.

    Raises:
        ParamsError: If bfloat16 is asked of anything but a GPU: processors are slower in it.
    """
    if asked == "bfloat16" and device.type != "cuda":
        raise ParamsError(
            f"train.precision: got 'bfloat16', which is for GPUs, but train.device is {device.type}; allowed here: "
            "auto, float32"
        )
    gpu = device.type == "cuda" and bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return torch.autocast(device.type, torch.bfloat16, enabled=asked == "bfloat16" or (asked == "auto" and gpu))


@contextmanager
def reproducible(threads: int, seed: int, device: torch.device) -> Iterator[None]:
    """Run a block with fixed threads, random stream and algorithms, then put everything back as it was.

    Args:
        threads: CPU threads; sums are split by it, so the last bits depend on it.
        seed: Of initial weights and dropout, 0 to 2**32 - 1.
        device: On a CPU, an operation without a reproducible form is an error; elsewhere it is a warning.
    """
    threads_before = torch.get_num_threads()
    deterministic_before = torch.are_deterministic_algorithms_enabled()
    warn_before = torch.is_deterministic_algorithms_warn_only_enabled()
    fill_before = bool(memory.fill_uninitialized_memory)  # type: ignore[attr-defined]  # a property of the module
    keep_freed_memory()
    try:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(True, warn_only=device.type != "cpu")  # noqa: FBT003  # torch's signature
        # Clearing every new tensor costs time and changes nothing: no operation here reads memory it did not write.
        memory.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # as above
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(seed)
            yield
    finally:
        memory.fill_uninitialized_memory = fill_before  # type: ignore[attr-defined]  # as above
        torch.use_deterministic_algorithms(deterministic_before, warn_only=warn_before)
        torch.set_num_threads(threads_before)


def _mps() -> bool:
    return torch.backends.mps.is_available()
