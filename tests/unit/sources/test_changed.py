"""Has a source changed since it was pulled: names and sizes, then times, then content."""

import os
import shutil
from pathlib import Path

import pytest

from reseed.artifacts.raw import RawSource
from reseed.sources.inventory import changed_since_pulled

OLD_NS = 1_600_000_000_000_000_000


def record(uri: Path, kind: str = "folder", sha256: str = "") -> RawSource:
    files = [file for file in (uri, *uri.rglob("*")) if file.is_file()]
    total = sum(file.stat().st_size for file in files)
    return RawSource("reef", kind, str(uri), "survey", sha256, total, len(files), "CC", pinned=False, synthetic=False)


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    (tmp_path / "survey/tow").mkdir(parents=True)
    (tmp_path / "survey/tow/1.jpg").write_bytes(b"picture one")
    (tmp_path / "survey/annotations.csv").write_text("1.jpg,Coral\n")
    shutil.copytree(tmp_path / "survey", tmp_path / "raw/reef")
    return tmp_path / "survey"


def test_an_untouched_source_has_not_changed(survey: Path, tmp_path: Path) -> None:
    assert not changed_since_pulled(record(survey), tmp_path / "raw")


@pytest.mark.parametrize("path", ["annotations.csv", "tow/1.jpg"])
def test_other_content_of_the_same_length_is_seen(survey: Path, tmp_path: Path, path: str) -> None:
    """A label is corrected to one of the same length, and the time of the file is put back."""
    entry, file = record(survey), survey / path
    file.write_bytes(file.read_bytes()[::-1])
    os.utime(file, ns=(OLD_NS, OLD_NS))
    assert changed_since_pulled(entry, tmp_path / "raw")


def test_files_that_come_go_or_grow_are_seen(survey: Path, tmp_path: Path) -> None:
    entry = record(survey)
    (survey / "tow/2.jpg").write_bytes(b"x")
    assert changed_since_pulled(entry, tmp_path / "raw")
    assert changed_since_pulled(entry, tmp_path / "elsewhere"), "without a copy the counts tell"
    (survey / "tow/2.jpg").unlink()
    assert not changed_since_pulled(entry, tmp_path / "raw")
    (survey / "tow/1.jpg").rename(survey / "tow/one.jpg")
    assert changed_since_pulled(entry, tmp_path / "raw")


def test_a_source_that_is_not_here_cannot_be_told(survey: Path, tmp_path: Path) -> None:
    entry = record(survey)
    shutil.rmtree(survey)
    assert not changed_since_pulled(entry, tmp_path / "raw")


def test_an_archive_is_hashed_where_it_is_newer_than_the_record(tmp_path: Path) -> None:
    archive = tmp_path / "reef.zip"
    archive.write_bytes(b"abc")
    (tmp_path / "raw.json").write_text("[]")
    other = "0" * 64
    same = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # sha256 of abc, FIPS 180-2
    os.utime(tmp_path / "raw.json", ns=(OLD_NS, OLD_NS))
    archive.touch()
    found = [changed_since_pulled(record(archive, "archive", sha256), tmp_path / "raw") for sha256 in (other, same)]
    assert found == [True, False]
