"""What the tests of several commands share."""

from pathlib import Path

import pytest

from reseed.cli import infer
from reseed.cli.main import main
from tests.unit.infer.boat import ColourEngine, Infer


@pytest.fixture
def boat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Infer:
    """Run the command on `tmp_path/frames` into `tmp_path/out`."""
    engine = ColourEngine()
    monkeypatch.setattr(infer, "open_engine", lambda *_, **__: engine)

    def run(*more: str, frames: str = "frames") -> int:
        return main(["infer", str(tmp_path / frames), "--model", "colours", "--out", str(tmp_path / "out"), *more])

    return run
