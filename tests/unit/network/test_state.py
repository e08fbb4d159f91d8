import os
import pickle
from pathlib import Path

import pytest
import torch
from torch import nn

from reseed.base.errors import ModelError
from reseed.network.model import read_state, some_names, state_bytes


def test_bytes_depend_on_values_and_not_on_memory_layout() -> None:
    state = {"a": torch.arange(24.0).view(1, 2, 3, 4), "b": torch.ones(2)}
    other = {"a": state["a"].to(memory_format=torch.channels_last), "b": torch.ones(9)[:2]}
    assert state_bytes(state) == state_bytes(other)
    assert state_bytes(state) != state_bytes(state | {"b": torch.zeros(2)})
    assert len(state_bytes({"a": torch.zeros(100_000)[:1]})) < 4000, "the storage behind a slice was saved"


class Payload:
    """What a hostile file does when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os.mkdir, ("code_of_the_file_ran",)


def test_code_in_a_file_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"a": Payload()}, "payload.pth")
    Path("payload.pkl").write_bytes(pickle.dumps(Payload()))
    for name in ("payload.pth", "payload.pkl"):
        with pytest.raises(ModelError, match=rf"{name}: not readable as plain weights .*needed: a state_dict"):
            read_state(Path(name))
    assert not Path("code_of_the_file_ran").exists()


def test_what_is_not_a_state_dict_is_an_error(tmp_path: Path, weights_file: Path) -> None:
    cases: list[tuple[object, str]] = [
        (nn.Linear(2, 2), "not readable as plain weights"),
        ({"state_dict": {"a": torch.zeros(1)}, "epoch": 3}, "holds keys state_dict, epoch; needed: a state_dict"),
        ([torch.zeros(1)], "holds one list"),
        ({1: torch.zeros(1)}, "holds keys 1"),
    ]
    path = tmp_path / "x.pth"
    for value, message in cases:
        torch.save(value, path)
        with pytest.raises(ModelError, match=message):
            read_state(path)
    whole = weights_file.read_bytes()
    for data in (b"", b"no weights", whole[: len(whole) // 2], b"\0" * 5000):
        path.write_bytes(data)
        with pytest.raises(ModelError, match="not readable as plain weights"):
            read_state(path)


def test_few_names_stand_for_many() -> None:
    assert some_names([]) == "none"
    assert some_names("abc") == "a, b, c"
    assert some_names("abcde") == "a, b, c, ... 2 more"
