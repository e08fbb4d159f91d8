"""The two stages that take data in, run from an empty folder."""

import json
from pathlib import Path

import pytest

from reseed.base.errors import SourceError
from reseed.sources.folder import digest_folder
from stages import catalog, pull
from tests.unit.survey.surveys import write_survey

TINY_DEMO = """
demo: {seed: 0, sites: 1, sequences_per_site: 1, frames_per_sequence: 1, width_px: 224, height_px: 128,
  jpeg_quality: 90, deploy_frame_share: 0.5, frame_alpha: 0.5, annotation_px: 32, rectangle_error_a: 0.0,
  rectangle_error_b: 0.1, frame_error_a: 0.0, frame_error_b: 0.1}
catalog: {annotator: A, max_pixels: 1000000, strict: false, max_quarantined_pct: 20.0, on_conflict: error,
  label_map: label_map.yaml, unmapped: error, machine_labels: exclude, weak_labels: false, grid_rows: 4, grid_cols: 7}
"""


def _params(uri: str = "$SURVEY", sha256: str = "null", name: str = "reef") -> None:
    entry = f"{{name: {name}, kind: folder, uri: {uri}, layout: survey, sha256: {sha256}"
    entry += ", licence: unknown, citation: unknown, split: null}"
    Path("params.yaml").write_text(f"pull:\n  sources:\n    - {entry}\n{TINY_DEMO}")


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    (tmp_path / "repo").mkdir()
    monkeypatch.chdir(tmp_path / "repo")
    monkeypatch.setenv("SURVEY", str(tmp_path / "survey"))
    write_survey(tmp_path / "survey")
    return tmp_path / "survey"


def test_pull_records_what_came(survey: Path) -> None:
    _params()
    pull.main([])
    digest = digest_folder(survey)
    assert json.loads(Path("data/raw.json").read_text()) == [
        {
            "name": "reef",
            "kind": "folder",
            "uri": "$SURVEY",
            "layout": "survey",
            "sha256": digest.sha256,
            "bytes": digest.total_bytes,
            "files": 11,
            "licence": "unknown",
            "pinned": False,
            "synthetic": False,
            "citation": "unknown",
            "split": None,
            "content_sha256": digest.sha256,
        }
    ]
    assert digest_folder(Path("data/raw/reef")) == digest
    assert [path.name for path in Path("data").iterdir() if path.suffix == ".part"] == []


def test_pull_replaces_and_is_repeatable(survey: Path) -> None:
    _params()
    pull.main([])
    Path("data/raw/reef/stale.jpg").write_bytes(b"x")
    before = Path("data/raw.json").read_bytes()
    pull.main([])
    assert Path("data/raw.json").read_bytes() == before
    assert not Path("data/raw/reef/stale.jpg").exists()


def test_pull_holds_the_pin(survey: Path) -> None:
    pinned = digest_folder(survey).sha256
    _params(sha256=pinned)
    pull.main([])
    assert json.loads(Path("data/raw.json").read_text())[0]["pinned"] is True
    (survey / "drop_1" / "photo_log.csv").write_text("filename_string\n")
    kept = Path("data/raw/reef/drop_1/photo_log.csv").read_bytes()
    with pytest.raises(SourceError, match=f"pinned  {pinned}\n  found   {digest_folder(survey).sha256}"):
        pull.main([])
    assert Path("data/raw/reef/drop_1/photo_log.csv").read_bytes() == kept
    assert not Path("data/raw.part").exists()


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("../gone", "pull.sources reef: .*no such file or"),
        (".", "inside each other"),
        ("data/raw", "inside each other"),
    ],
)
def test_pull_refuses(survey: Path, uri: str, message: str) -> None:
    Path("data/raw").mkdir(parents=True)
    _params(uri)
    with pytest.raises(SourceError, match=message):
        pull.main([])
    assert not Path("data/raw.json").exists()


def test_pull_refuses_a_source_without_images(survey: Path) -> None:
    for path in survey.rglob("*.jpg"):
        path.unlink()
    _params()
    with pytest.raises(SourceError, match=r"no image among the 7 files of \$SURVEY"):
        pull.main([])


def test_a_folder_that_cannot_be_written_is_one_clear_line(survey: Path) -> None:
    _params()
    Path("data").write_text("a file is in the way")
    with pytest.raises(SourceError, match=r"cannot write data/raw"):
        pull.main([])


def test_catalog_writes_its_tables_and_says_what_it_found(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _params()
    pull.main([])
    catalog.main([])
    assert sorted(path.name for path in Path("data/catalog").iterdir()) == [
        "annotations.csv",
        "counts.json",
        "frame_labels.csv",
        "frames.csv",
        "pieces.csv",
        "quarantine.csv",
    ]
    assert "table 7" in capsys.readouterr().out
    first = {path.name: path.read_bytes() for path in Path("data/catalog").iterdir()}
    catalog.main([])
    assert {path.name: path.read_bytes() for path in Path("data/catalog").iterdir()} == first


def test_the_demo_takes_the_same_path(survey: Path) -> None:
    entry = (
        '{name: demo, kind: demo, uri: "", layout: survey, sha256: null, licence: Apache-2.0, citation: x, split: null}'
    )
    Path("params.yaml").write_text(f"pull:\n  sources:\n    - {entry}\n{TINY_DEMO}")
    pull.main([])
    catalog.main([])
    assert json.loads(Path("data/raw.json").read_text())[0]["synthetic"] is True
    part = json.loads(Path("data/catalog/counts.json").read_text())["sources"]["demo"]
    assert (part["kept"], part["quarantined"], part["position_from"]) == (1, 0, {"exif": 1})
    assert part["geotag_problems"] == {}
