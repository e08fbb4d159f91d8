"""Real ReefScan frames, where $RESEED_FIELD_DATA points to them."""

import os
from pathlib import Path

import numpy as np
import pytest

from reseed.artifacts.raw import RawSource
from reseed.base.csv import read_text_table
from reseed.survey.catalog import Catalog, build_catalog
from reseed.survey.geotag import facts_from_log, read_exif
from tests.unit.survey.surveys import catalog_params

FOLDER = os.environ.get("RESEED_FIELD_DATA", "")
pytestmark = [
    pytest.mark.field,
    pytest.mark.skipif(not FOLDER, reason="RESEED_FIELD_DATA is not set: no real frames here"),
]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    source = RawSource("reefscan", "folder", "x", "survey", "0" * 64, 1, 1, "unknown", pinned=False, synthetic=False)
    params = catalog_params(annotator="A", max_pixels=100_000_000, strict=True, max_quarantined_pct=0.0)
    return build_catalog([source], Path(FOLDER), params)


def test_frames(catalog: Catalog) -> None:
    frames = catalog.frames
    assert len(frames) == 34
    assert set(zip(frames["width_px"], frames["height_px"], strict=True)) == {(5312, 3040)}
    assert dict(frames["sequence"].value_counts()) == {
        "reefscan/erub_drop_5": 14,
        "reefscan/erub_manta_81": 10,
        "reefscan/ugar_manta_3": 10,
    }
    assert set(frames["site"]) == {"Erub", "Ugar"}
    # Torres Strait, in water a diver could stand up in.
    assert frames["latitude_deg"].between(-9.7, -9.4).all()
    assert frames["longitude_deg"].between(143.5, 143.9).all()
    assert frames["water_depth_m"].between(1, 10).all()
    assert frames["altitude_m"].between(0.5, 4).all()
    assert (frames["altitude_m"] < frames["water_depth_m"]).all()
    assert frames["captured_at"].str.startswith("2023-03-").all()


def test_labels(catalog: Catalog) -> None:
    assert dict(catalog.annotations["annotator"].value_counts()) == {"A": 952, "B": 952}
    assert (catalog.annotations.groupby(["annotator", "frame_id"]).size() == 28).all()
    assert catalog.annotations["gold"].sum() == 952
    assert dict(catalog.frame_labels["annotator"].value_counts()) == {"A": 34, "B": 34}


def test_counts(catalog: Catalog) -> None:
    part = catalog.counts["sources"]["reefscan"]
    assert (part["found"], part["kept"], part["quarantined"], part["ignored"]) == (44, 34, 0, 10)
    assert part["layout"]["photo_log_rows"] == 138
    assert part["layout"]["photo_log_rows_without_image"] == 138 - 33
    assert part["layout"]["images_without_photo_log_row"] == 1
    assert part["geotag_problems"] == {}


def test_the_log_is_in_the_units_we_take_it_for() -> None:
    differences = []
    for path in Path(FOLDER).glob("reefscan/*/photo_log.csv"):
        for row in read_text_table(path, path.name).rows:
            image = path.with_name(row.cells["filename_string"])
            if image.exists() and "ping_depth" in row.cells:
                exif, log = read_exif(image.read_bytes()), facts_from_log(row.cells)
                assert exif.taken is not None
                assert log.taken is not None
                assert abs((exif.taken - log.taken).total_seconds()) <= 1
                differences.append((exif.water_depth_m - log.water_depth_m, exif.altitude_m - log.altitude_m))
    assert len(differences) > 20
    assert np.abs(differences).max() < 0.02  # EXIF is rounded to centimetres
