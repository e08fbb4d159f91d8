import itertools
import json
from pathlib import Path

import pytest

from reseed.infer.geotags import GAP_M, by_sequence, cut_at_antimeridian, geojson, stretches, write_geojson
from reseed.infer.tables import FrameRow


def row(frame: str, place: tuple[float, float] | None, decision: str = "Deploy") -> FrameRow:
    return FrameRow(frame, "2023-03-15T02:06:00Z", place, 4.5, 4, 7, 15, 2, decision, "", 12.5, synthetic=False)


def test_positions_are_longitude_first() -> None:
    features = geojson([row("t/1.jpg", (-9.5, 143.75)), row("t/2.jpg", (-9.50001, 143.75))], "x", "0.5", {})["features"]
    assert features[0]["geometry"] == {"type": "Point", "coordinates": [143.75, -9.5]}
    assert features[2]["geometry"] == {"type": "LineString", "coordinates": [[143.75, -9.5], [143.75, -9.50001]]}
    assert features[2]["properties"] == {"kind": "track", "sequence": "t", "n_frames": 2}


def test_a_frame_without_a_position_has_a_null_geometry() -> None:
    features = geojson([row("t/1.jpg", None)], "x", "0.5", {"t/1.jpg": "No-Deploy"})["features"]
    assert len(features) == 1
    assert features[0]["geometry"] is None
    assert features[0]["properties"]["gold"] == "No-Deploy"
    # 15 of 28 patches
    assert features[0]["properties"]["deploy_ratio"] == 0.535714


def test_a_line_across_the_antimeridian_is_cut_there() -> None:
    # From 179.9 E to 179.8 W: 0.3 degrees, a third of the way to the line; latitude rises from 0 to 3.
    parts = cut_at_antimeridian([(0.0, 179.9), (3.0, -179.8)])
    assert parts == [[[179.9, 0.0], [180.0, 1.0]], [[-180.0, 1.0], [-179.8, 3.0]]]
    back = cut_at_antimeridian([(3.0, -179.8), (0.0, 179.9)])
    assert back == [[[-179.8, 3.0], [-180.0, 1.0]], [[180.0, 1.0], [179.9, 0.0]]]


def test_there_and_back_gives_three_parts_none_of_which_crosses() -> None:
    parts = cut_at_antimeridian([(0, 179.9999), (0, -179.9999), (0, 179.9999)])
    assert len(parts) == 3
    for part in parts:
        assert all(abs(a[0] - b[0]) < 180 for a, b in itertools.pairwise(part))
    assert cut_at_antimeridian([(0, 180.0), (1, -180.0)])[0] == [[180.0, 0], [180.0, 0]]


def test_the_whole_collection_crosses_as_a_multi_line() -> None:
    rows = [row("t/1.jpg", (-17.0, 179.9999)), row("t/2.jpg", (-17.0, -179.9999))]
    line = geojson(rows, "x", "0.5", {})["features"][-1]["geometry"]
    assert line["type"] == "MultiLineString"
    assert len(line["coordinates"]) == 2


def test_frames_far_apart_are_not_joined() -> None:
    near, far = GAP_M * 0.9 / 111_195, GAP_M * 1.1 / 111_195  # degrees of latitude
    rows = [row("t/1.jpg", (0.0, 0.1)), row("t/2.jpg", (near, 0.1)), row("t/3.jpg", (near + far, 0.1))]
    assert [len(way) for way in stretches(rows)] == [2, 1]


def test_frames_in_no_folder_are_a_sequence_of_their_own() -> None:
    found = by_sequence([row("1.jpg", None), row("b/2.jpg", None), row("a/3.jpg", None)], "survey")
    assert list(found) == ["a", "b", "survey"]


def test_the_file_is_json_without_nan(tmp_path: Path) -> None:
    write_geojson(tmp_path / "t.geojson", geojson([row("t/ä.jpg", None)], "x", "0.5", {}))
    assert json.loads((tmp_path / "t.geojson").read_text("utf-8"))["features"][0]["properties"]["frame"] == "t/ä.jpg"
    with pytest.raises(ValueError, match="JSON compliant"):
        write_geojson(tmp_path / "t.geojson", {"x": float("nan")})
