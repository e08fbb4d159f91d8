"""The machine and its load, which stand beside every measured number."""

import importlib.metadata
import os
import platform
from pathlib import Path

from reseed.base.parallel import usable_cores

LIBRARIES = (
    "torch",
    "torchvision",
    "numpy",
    "pillow",
    "simplejpeg",
    "cykooz-resizer",
    "onnxruntime",
    "openvino",
    "dvc",
)
# What decides whether the network runs in half the bits, or in whole tiles.
FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "asimd")


def describe() -> dict[str, object]:
    """Return processor, cores, memory and versions."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return {
        "processor": model or platform.processor() or platform.machine(),
        "flags": [flag for flag in FLAGS if flag in flags],
        "cores": usable_cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in LIBRARIES},
    }


def load() -> float | None:
    """Return how many processes wanted a core in the last minute; None where the system does not say."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
