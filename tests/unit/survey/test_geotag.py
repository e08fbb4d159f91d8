import math
import warnings
from datetime import UTC, datetime

import pytest
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from reseed.survey.geotag import Facts, distance_m, facts_from_exif, facts_from_log, merge, read_exif, time_from_name
from tests.unit.survey.surveys import encoded, picture, reefscan_exif

TAKEN = datetime(2023, 3, 15, 2, 6, 35, tzinfo=UTC)
GPS = {1: "S", 2: (9.0, 35.0, 43.878), 3: "E", 4: (143.0, 47.0, 43.152), 6: 1.86}
DETAILS = {0x9003: "2023:03:15 02:06:35", 0x9206: 1.09}
LOG = {
    "latitude": "-9.595521666666667",
    "longitude": "143.79532",
    "ping_depth": "1095",
    "pressure_depth": "0.77077716588974",
    "time_secs": "1678845995",
}


def test_reefscan_exif_by_hand() -> None:
    # 9 deg 35' 43.878" = 9 + 35/60 + 43.878/3600 = 9.59552166..., south; 143 deg 47' 43.152" = 143.79532, east.
    facts = facts_from_exif(GPS, DETAILS)
    assert facts.latitude_deg == pytest.approx(-9.595521667, abs=1e-9)
    assert facts.longitude_deg == pytest.approx(143.79532, abs=1e-9)
    assert (facts.water_depth_m, facts.altitude_m, facts.taken, facts.problems) == (1.86, 1.09, TAKEN, ())


def test_the_log_says_the_same_in_its_own_units() -> None:
    # 1095 mm below the camera, which hangs 0.7708 m below the surface: 1.095 + 0.7708 = 1.8658 m of water.
    facts = facts_from_log(LOG)
    assert facts.altitude_m == pytest.approx(1.095)
    assert facts.water_depth_m == pytest.approx(1.86577716588974)
    assert (facts.taken, facts.problems) == (TAKEN, ())
    assert distance_m(facts, facts_from_exif(GPS, DETAILS)) < 0.01


@pytest.mark.parametrize("kind", ["JPEG", "TIFF", "PNG"])
def test_exif_is_read_from_a_file(kind: str) -> None:
    facts = read_exif(encoded(picture(), kind, exif=reefscan_exif(-9.5, 143.75)))
    assert (facts.latitude_deg, facts.longitude_deg) == (-9.5, 143.75)
    assert (facts.water_depth_m, facts.altitude_m, facts.taken) == (1.86, 1.09, TAKEN)


def test_an_image_without_exif_has_no_position() -> None:
    facts = read_exif(encoded(picture(), "BMP"))
    assert not facts.placed
    assert facts.problems == ("exif_position_missing",)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({2: (IFDRational(0, 0), IFDRational(0, 0), IFDRational(0, 0))}, "exif_position_not_a_number"),
        ({2: None}, "exif_position_not_a_number"),
        ({2: (9.0, 35.0)}, "exif_position_not_a_number"),
        ({2: 9.5}, "exif_position_not_a_number"),
        ({1: None}, "exif_hemisphere_missing"),
        ({1: ""}, "exif_hemisphere_missing"),
        ({1: b"\0"}, "exif_hemisphere_missing"),
        ({3: "S"}, "exif_hemisphere_missing"),
        ({2: (0.0, 0.0, 0.0), 4: (0.0, 0.0, 0.0)}, "exif_position_zero"),
        ({2: (95.0, 0.0, 0.0)}, "exif_position_out_of_range"),
        ({4: (181.0, 0.0, 0.0)}, "exif_position_out_of_range"),
        ({2: (9.0, 61.0, 0.0)}, "exif_position_out_of_range"),
        ({2: (-9.0, 35.0, 0.0)}, "exif_position_out_of_range"),
    ],
)
def test_a_bad_position_is_missing_with_its_reason(change: dict[int, object], problem: str) -> None:
    facts = facts_from_exif(GPS | change, DETAILS)
    assert not facts.placed
    assert math.isnan(facts.longitude_deg)
    assert facts.problems == (problem,)
    assert facts.water_depth_m == 1.86  # the rest is kept


@pytest.mark.parametrize("south", ["s", b"S", b"S\0", "S ", "South"])
def test_a_hemisphere_is_read_in_any_spelling(south: str | bytes) -> None:
    # Never as its opposite: that puts a southern reef into the northern hemisphere.
    assert facts_from_exif(GPS | {1: south}, DETAILS).latitude_deg == pytest.approx(-9.595521667, abs=1e-9)


def test_an_ordinary_cameras_gps_altitude_is_no_depth() -> None:
    facts = facts_from_exif(GPS | {5: b"\0", 6: 12.0}, DETAILS)
    assert math.isnan(facts.water_depth_m)
    assert facts.problems == ("exif_depth_is_height_above_sea",)
    assert facts_from_exif(GPS | {5: b"\1"}, DETAILS).water_depth_m == 1.86


@pytest.mark.parametrize(
    ("text", "offset", "problem"),
    [
        ("1980:01:01 00:00:00", None, ("exif_time_implausible",)),
        ("2101:01:01 00:00:00", None, ("exif_time_implausible",)),
        ("2023:13:01 00:00:00", None, ("exif_time_unreadable",)),
        ("yesterday", None, ("exif_time_unreadable",)),
        ("    :  :     :  :  ", None, ()),
        ("2023:03:15 02:06:35", "+99:99", ("exif_time_unreadable",)),
    ],
)
def test_a_bad_time_is_missing_with_its_reason(text: str, offset: str | None, problem: tuple[str, ...]) -> None:
    facts = facts_from_exif(GPS, {0x9003: text} | ({0x9011: offset} if offset else {}))
    assert facts.taken is None
    assert facts.problems == problem


def test_a_stated_time_zone_counts() -> None:
    # 12:06:35 at +10:00 is 02:06:35 UTC.
    assert facts_from_exif(GPS, {0x9003: "2023:03:15 12:06:35", 0x9011: "+10:00"}).taken == TAKEN


def test_broken_exif_is_a_reason_not_a_failure() -> None:
    data = bytearray(encoded(picture(), "JPEG", exif=reefscan_exif()))
    at = data.index(b"Exif\0\0") + 6
    data[at + 8 : at + 60] = b"\xff" * 52
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as examine_images does
        assert not read_exif(bytes(data)).placed


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"latitude": ""}, ("log_position_missing",)),
        ({"latitude": "NA"}, ("log_position_missing",)),
        ({"latitude": "0", "longitude": "0.0"}, ("log_position_zero",)),
        ({"longitude": "999"}, ("log_position_out_of_range",)),
        ({"time_secs": "0"}, ("log_time_implausible",)),
        ({"time_secs": "1e30"}, ("log_time_implausible",)),
        ({"ping_depth": "-5"}, ("log_altitude_out_of_range",)),
    ],
)
def test_bad_log_cells(change: dict[str, str], problem: tuple[str, ...]) -> None:
    assert facts_from_log(LOG | change).problems == problem


def test_a_log_without_depth_columns() -> None:
    facts = facts_from_log({"latitude": "-9.52212", "longitude": "143.58901", "date_taken": "2023-03-13T23:18:45"})
    assert math.isnan(facts.water_depth_m)
    assert facts.taken == datetime(2023, 3, 13, 23, 18, 45, tzinfo=UTC)
    assert math.isnan(facts_from_log(LOG | {"ping_depth": "0"}).water_depth_m)  # no echo


def test_exif_comes_before_the_log_and_the_log_before_the_name() -> None:
    exif, log = facts_from_exif(GPS, DETAILS), facts_from_log(LOG | {"time_secs": "1678846000"})
    assert merge(exif, log, "20200101_000000").captured_at == "2023-03-15T02:06:35Z"
    from_log = merge(Facts(), log, "20200101_000000")
    assert (from_log.captured_at, from_log.time_from, from_log.position_from) == (
        "2023-03-15T02:06:40Z",
        "photo_log",
        "photo_log",
    )
    assert from_log.altitude_m == pytest.approx(1.095)
    named = merge(Facts(), None, "20230315_020635_000_0000")
    assert (named.captured_at, named.time_from, named.position_from) == ("2023-03-15T02:06:35Z", "file_name", "none")
    assert merge(Facts(), None, "IMG_0001").captured_at == ""


def test_a_recorder_whose_clock_was_never_set() -> None:
    exif = facts_from_exif(GPS, {0x9003: "1980:01:06 00:00:12"})
    geotag = merge(exif, facts_from_log(LOG), "19800106_000012_000_0000")
    assert (geotag.captured_at, geotag.time_from) == ("2023-03-15T02:06:35Z", "photo_log")
    assert geotag.problems == ("exif_time_implausible", "name_time_implausible")


def test_disagreement_is_counted_beyond_50_m() -> None:
    # One degree of latitude is 6371008.8 * pi / 180 = 111195 m: 0.0004 deg = 44.5 m, 0.0005 deg = 55.6 m.
    exif = Facts(-9.5, 143.75)
    assert distance_m(exif, Facts(-10.5, 143.75)) == pytest.approx(111_195, abs=1)
    assert merge(exif, Facts(-9.5004, 143.75), "x").problems == ()
    far = merge(exif, Facts(-9.5005, 143.75), "x")
    assert far.problems == ("position_disagreement",)
    assert far.latitude_deg == -9.5


@pytest.mark.parametrize(
    ("stem", "found"),
    [("20230315_020635_000_0000", True), ("GX20230315_020635", True), ("120230315_020635", False), ("photo_7", False)],
)
def test_time_from_name(stem: str, *, found: bool) -> None:
    assert (time_from_name(stem) == TAKEN) is found


def test_exif_of_an_orientation_only_image() -> None:
    exif = Image.Exif()
    exif[274] = 6
    assert read_exif(encoded(picture(), "JPEG", exif=exif)).problems == ("exif_position_missing",)
