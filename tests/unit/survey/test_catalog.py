import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reseed.artifacts.catalog import ANNOTATIONS, FRAME_LABELS, FRAMES, QUARANTINE
from reseed.artifacts.raw import RawSource
from reseed.base.errors import ReseedError, SourceError, TableError
from reseed.sources import folder as sources
from reseed.survey.catalog import Catalog, build_catalog, summary
from tests.unit.survey.surveys import HEIGHT, WIDTH, catalog_params, encoded, picture, reefscan_exif, write_survey

PARAMS = catalog_params(annotator="A")


def _source(name: str = "src", **changes: object) -> RawSource:
    values = {"kind": "folder", "uri": "x", "layout": "survey", "sha256": "0" * 64, "bytes": 1, "files": 1}
    values |= {"licence": "unknown", "pinned": False, "synthetic": False}
    return RawSource(name=name, **(values | changes))


def _build(raw: Path, *names: str, **params: object) -> Catalog:
    return build_catalog([_source(name) for name in names or ("src",)], raw, PARAMS.model_copy(update=params))


def _texts(catalog: Catalog) -> list[str]:
    return [
        FRAMES.to_csv(catalog.frames, "f"),
        ANNOTATIONS.to_csv(catalog.annotations, "a"),
        FRAME_LABELS.to_csv(catalog.frame_labels, "l"),
        QUARANTINE.to_csv(catalog.quarantine, "q"),
        str(catalog.counts),
    ]


def test_a_survey_becomes_tables(tmp_path: Path) -> None:
    paths = write_survey(tmp_path / "src")
    catalog = _build(tmp_path)
    frame = catalog.frames.iloc[0]
    assert list(catalog.frames["frame_id"]) == sorted(f"src/{path}" for path in paths)
    assert (frame["source"], frame["site"], frame["sequence"]) == ("src", "Reef 0", "src/drop_1")
    assert (frame["width_px"], frame["height_px"], frame["synthetic"]) == (WIDTH, HEIGHT, 0)
    assert (frame["captured_at"], frame["latitude_deg"], frame["longitude_deg"]) == (
        "2023-03-15T02:06:35Z",
        -9.5,
        143.75,
    )
    assert (frame["water_depth_m"], frame["altitude_m"]) == (1.86, 1.09)
    first = catalog.annotations[catalog.annotations["frame_id"] == frame["frame_id"]].to_dict("records")
    edges = ("annotator", "x0", "y0", "x1", "y1", "label", "kind", "source_label", "gold")
    # The grid of A has 2 columns: 70 * 1 / 2 = 35.
    assert [tuple(row[name] for name in edges) for row in first] == [
        ("A", 0, 0, 35, 40, "Coral", "grid", "Coral", 1),
        ("A", 35, 0, 70, 40, "No-Deploy", "grid", "No Deploy", 1),
        ("B", 0, 0, 70, 40, "Deploy", "rect", "deploy", 0),
    ]
    assert list(catalog.frame_labels["gold"]) == [1] * 4
    assert catalog.counts["total"] == {"found": 4 + 4 + 3, "kept": 4, "quarantined": 0, "ignored": 7}
    assert "src" in summary(catalog.counts)


def test_broken_images_are_quarantined_and_nothing_else_changes(tmp_path: Path) -> None:
    paths = write_survey(tmp_path / "src", frames=3)
    before = _build(tmp_path)
    good = (tmp_path / "src" / paths[0]).read_bytes()
    broken = {
        "drop_1/cut.jpg": (good[: len(good) // 2], "truncated"),
        "drop_1/empty.JPG": (b"", "empty_file"),
        "drop_1/nul.jpeg": (bytes(999), "all_nul"),
        "drop_1/text.png": (b"not today", "not_an_image"),
        "drop_1/anim.gif": (encoded(picture().convert("P"), "GIF"), "unsupported_format"),
        "drop_1/big.png": (encoded(picture(0, 1001, 1000), "PNG"), "too_many_pixels"),
    }
    for path, (data, _) in broken.items():
        (tmp_path / "src" / path).write_bytes(data)
    for path in (".DS_Store", "drop_1/._x.jpg", "drop_1/Thumbs.db", "notes.txt"):
        (tmp_path / "src" / path).write_bytes(b"x")
    after = _build(tmp_path)
    assert dict(zip(after.quarantine["path"], after.quarantine["reason"], strict=True)) == {
        f"src/{path}": reason for path, (_, reason) in broken.items()
    }
    assert _texts(after)[:3] == _texts(before)[:3]
    part = after.counts["sources"]["src"]
    assert part["quarantined_by_reason"]["truncated"] == 1
    assert part["ignored_by_reason"] == {"other_file": 1, "system_file": 3, "table": 7}
    assert (part["found"], part["kept"], part["quarantined"], part["ignored"]) == (23, 6, 6, 11)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(st.sampled_from(["a.jpg", "b.png", "c.csv", ".DS_Store", "d", "e.tif", "deep/f.bmp"]), unique=True)
)
def test_found_is_kept_plus_quarantined_plus_ignored(tmp_path: Path, names: list[str]) -> None:
    shutil.rmtree(tmp_path / "src", ignore_errors=True)
    write_survey(tmp_path / "src", ("drop_1",), frames=1)
    for number, name in enumerate(names):
        (tmp_path / "src" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "src" / name).write_bytes(encoded(picture(number), "PNG") if number % 2 else b"broken")
    counts = _build(tmp_path).counts
    total = counts["total"]
    assert total["found"] == total["kept"] + total["quarantined"] + total["ignored"] == len(names) + 6
    for part in counts["sources"].values():
        assert sum(part["quarantined_by_reason"].values()) == part["quarantined"]
        assert sum(part["ignored_by_reason"].values()) == part["ignored"]


def test_same_tables_whatever_the_listing_and_row_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_survey(tmp_path / "src", frames=3)
    (tmp_path / "src" / "broken.jpg").write_bytes(b"")
    expected = _texts(_build(tmp_path))
    for table in (tmp_path / "src").rglob("*.csv"):
        header, *rows = table.read_text().splitlines()
        table.write_text("\r\n".join([header, *reversed(rows)]), encoding="utf-16")
    real_walk = os.walk

    def reversed_walk(top: Path, **options: object) -> Iterator[tuple[str, list[str], list[str]]]:
        for parent, folders, names in real_walk(top, **options):
            folders.sort(reverse=True)
            yield parent, folders, sorted(names, reverse=True)

    monkeypatch.setattr(sources.os, "walk", reversed_walk)
    assert _texts(_build(tmp_path)) == expected


def test_two_sources_with_the_same_file_names(tmp_path: Path) -> None:
    write_survey(tmp_path / "one")
    write_survey(tmp_path / "two")
    frames = _build(tmp_path, "one", "two").frames
    assert len(frames) == 8
    assert frames["frame_id"].is_unique
    assert frames["sequence"].nunique() == 4
    assert frames["site"].nunique() == 2  # the same reef, visited twice


def test_gold_is_the_annotator_named_or_the_only_one(tmp_path: Path) -> None:
    write_survey(tmp_path / "src")
    assert set(_build(tmp_path, annotator="B").annotations.query("gold == 1")["annotator"]) == {"B"}
    with pytest.raises(TableError, match=r"'C' has no labels; annotators found: A, B"):
        _build(tmp_path, annotator="C")
    with pytest.raises(TableError, match=r"auto needs a single annotator; found: A, B"):
        _build(tmp_path, annotator="auto")
    (tmp_path / "src" / "annotations_B.csv").unlink()
    assert set(_build(tmp_path, annotator="auto").annotations["gold"]) == {1}


def test_nobody_takes_the_place_of_an_annotator_whose_labels_all_contradict_each_other(tmp_path: Path) -> None:
    put = (tmp_path / "src").joinpath
    (tmp_path / "src").mkdir()
    put("a.jpg").write_bytes(encoded(picture(1), "JPEG"))
    header = "frame,label,annotator\n"
    put("frame_labels_A.csv").write_text(f"{header}a.jpg,Deploy,A\na.jpg,No-Deploy,A\n")
    put("frame_labels_B.csv").write_text(f"{header}a.jpg,Deploy,B\n")
    with pytest.raises(TableError, match=r"no label of 'A' in source src is left: all contradict each other"):
        _build(tmp_path, annotator="A", on_conflict="drop")
    with pytest.raises(TableError, match=r"auto needs a single annotator; found: A, B"):
        _build(tmp_path, annotator="auto", on_conflict="drop")
    assert list(_build(tmp_path, annotator="B", on_conflict="drop").frame_labels["gold"]) == [1]


def test_a_survey_without_labels(tmp_path: Path) -> None:
    write_survey(tmp_path / "src")
    for table in (tmp_path / "src").glob("*.csv"):
        table.unlink()
    catalog = _build(tmp_path, annotator="auto")
    assert (len(catalog.frames), len(catalog.annotations), len(catalog.frame_labels)) == (4, 0, 0)
    assert _texts(catalog)[1].count("\n") == 1
    with pytest.raises(TableError, match="has no labels, and neither has any other annotator"):
        _build(tmp_path)


def test_unusable_images_can_stop_the_run(tmp_path: Path) -> None:
    paths = write_survey(tmp_path / "src")
    (tmp_path / "src" / paths[0]).write_bytes(b"")
    assert len(_build(tmp_path, max_quarantined_pct=25.0).frames) == 3
    with pytest.raises(SourceError, match=r"1 of 4 images cannot be used: src/.*empty_file.*max_quarantined_pct 24.9"):
        _build(tmp_path, max_quarantined_pct=24.9)
    with pytest.raises(SourceError, match=r"catalog.strict"):
        _build(tmp_path, strict=True)
    for path in paths:
        (tmp_path / "src" / path).write_bytes(b"")
    with pytest.raises(SourceError, match="4 of 4 images"):
        _build(tmp_path, max_quarantined_pct=100.0)


def test_a_source_without_images(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "notes.txt").write_text("x")
    with pytest.raises(SourceError, match="no image among 1 files"):
        _build(tmp_path)


def test_labels_of_a_quarantined_frame_are_left_out(tmp_path: Path) -> None:
    paths = write_survey(tmp_path / "src")
    (tmp_path / "src" / paths[0]).write_bytes(b"")
    catalog = _build(tmp_path)
    assert len(catalog.annotations) == 9
    assert catalog.counts["sources"]["src"]["labels"]["annotation_of_quarantined_frames_dropped"] == 3


def test_a_log_that_disagrees_is_counted(tmp_path: Path) -> None:
    paths = write_survey(tmp_path / "src")
    exif = reefscan_exif(-9.6, 143.75)
    (tmp_path / "src" / paths[0]).write_bytes(encoded(picture(), "JPEG", exif=exif))
    (tmp_path / "src" / paths[1]).write_bytes(encoded(picture(), "BMP"))
    part = _build(tmp_path).counts["sources"]["src"]
    assert part["geotag_problems"] == {"exif_position_missing": 1, "position_disagreement": 1}
    assert part["position_from"] == {"exif": 3, "photo_log": 1}
    assert part["time_from"] == {"exif": 3, "photo_log": 1}


def test_orientation_does_not_move_annotations(tmp_path: Path) -> None:
    paths = write_survey(tmp_path / "src")
    exif = reefscan_exif()
    exif[274] = 6
    (tmp_path / "src" / paths[0]).write_bytes(encoded(picture(), "JPEG", exif=exif))
    frame = _build(tmp_path).frames.iloc[0]
    assert (frame["width_px"], frame["height_px"]) == (WIDTH, HEIGHT)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("annotations_A.csv", "frame,x0,y0,x1,y1,label,annotator\ngone.jpg,0,0,1,1,Coral,A\n"),
        ("frame_labels_A.csv", ""),
        ("drop_1/photo_log.csv", "name\nx\n"),
        ("drop_1/survey.json", "{"),
    ],
)
def test_broken_tables_are_errors_that_name_the_file(tmp_path: Path, name: str, text: str) -> None:
    write_survey(tmp_path / "src")
    (tmp_path / "src" / name).write_text(text)
    with pytest.raises(ReseedError, match=f"src/{name}"):
        _build(tmp_path)
