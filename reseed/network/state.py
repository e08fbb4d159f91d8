"""Tensors by name in a file: written to the same bytes every time, read without running anything."""

import hashlib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from reseed.base.errors import ModelError

State = dict[str, Tensor]

_SHOWN_NAMES: Final = 3


@dataclass(frozen=True)
class Converted:
    """Where a network comes from that was taken over instead of trained.

    Args:
        file: Name of the file, without its folder: that is of one machine.
        sha256: Of the file.
        classes: Order of its outputs, before they were put into the order of `CLASSES`.
    """

    file: str
    sha256: str
    classes: tuple[str, ...]


def state_bytes(state: dict[str, Tensor]) -> bytes:
    """Return a state_dict as the bytes of a file: the same tensors in the same order give the same bytes.

    Written through memory: `torch.save` to a path would put the name of the file into it.
    """
    plain = {name: tensor.detach().to("cpu").contiguous().clone() for name, tensor in state.items()}
    buffer = io.BytesIO()
    torch.save(plain, buffer)
    return buffer.getvalue()


def read_state(path: Path, remedy: str = "run `dvc repro` or `dvc pull` to get it") -> State:
    """Read a state_dict without running any code that the file may hold.

    Args:
        path: The file.
        remedy: What to do where it is missing, for the message.

    Raises:
        ModelError: If the file is missing or holds anything but tensors by name.
    """
    if not path.is_file():
        raise ModelError(f"{path}: no such weights file; {remedy}")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a truncated or hostile pickle can raise anything
        raise ModelError(
            f"{path}: not readable as plain weights ({type(error).__name__}: {_first_line(error)}); needed: a "
            "state_dict of tensors as `torch.save(model.state_dict(), path)` writes it, not a whole model"
        ) from error
    if not isinstance(state, dict) or not all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in state.items()
    ):
        held = f"keys {some_names(map(str, state))}" if isinstance(state, dict) else f"one {type(state).__name__}"
        raise ModelError(f"{path}: holds {held}; needed: a state_dict, tensors by name and nothing else")
    return state


def digest_file(path: Path) -> str:
    """Return the sha256 of a file, as hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def some_names(names: Iterable[str]) -> str:
    """Return the first few of `names` and how many more there are, for a message."""
    listed = list(names)
    more = f", ... {len(listed) - _SHOWN_NAMES} more" if len(listed) > _SHOWN_NAMES else ""
    return (", ".join(listed[:_SHOWN_NAMES]) or "none") + more


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "no detail")
