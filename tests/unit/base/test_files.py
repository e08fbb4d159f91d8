import os
from pathlib import Path

import pytest

from reseed.base.errors import TableError
from reseed.base.files import new_file, new_folder, read_json, write_json, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def half(path: Path) -> None:
    """Write something, then fail."""
    path.write_text("half")
    (path.parent / "nowhere" / "rest").write_text("rest")


def test_an_output_linked_into_a_cache_is_replaced_and_never_written_through(tmp_path: Path) -> None:
    cached = tmp_path / "cached"
    cached.write_text("old")
    os.link(cached, tmp_path / "hard")
    (tmp_path / "soft").symlink_to(cached)
    write_text(tmp_path / "hard", "new")
    write_text(tmp_path / "soft", "new")
    assert cached.read_text() == "old"
    assert (tmp_path / "hard").read_text() == (tmp_path / "soft").read_text() == "new"


def test_a_failure_leaves_the_old_file_and_nothing_half_written(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "old")
    with pytest.raises(FileNotFoundError), new_file(tmp_path / "a") as part:
        half(part)
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_failure_leaves_the_old_folder(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "old").touch()
    with pytest.raises(FileNotFoundError), new_folder(tmp_path / "d") as part:
        half(part / "half")
    assert names(tmp_path / "d") == ["old"]
    with new_folder(tmp_path / "d") as part:
        (part / "new").touch()
    assert names(tmp_path / "d") == ["new"]
    assert names(tmp_path) == ["d"]


def test_json_refuses_nan(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "m.json", {"f1": float("nan")})
    assert not names(tmp_path)


@pytest.mark.parametrize("text", ["{", "", "[" * 100_000])
def test_damaged_json_is_one_clear_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(TableError, match=r"m\.json: not readable as JSON .*dvc checkout"):
        read_json(tmp_path / "m.json")
