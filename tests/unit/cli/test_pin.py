from pathlib import Path

import pytest

from reseed.cli.main import main
from reseed.sources.folder import digest_folder


def test_pin_prints_the_digest_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SURVEY", str(tmp_path))
    (tmp_path / "a.txt").write_text("a")
    assert main(["pin", "$SURVEY"]) == 0
    assert capsys.readouterr().out == f"{digest_folder(tmp_path).sha256}\n"


def test_an_empty_folder_cannot_be_pinned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pin", str(tmp_path)]) == 2
    assert "the folder is empty" in capsys.readouterr().err
