"""What comes in is read rightly or named: odd files, names, places, times and depths of pixels, in every layout."""

import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, TiffImagePlugin

from reseed.artifacts.raw import RawSource
from reseed.base.errors import ImageError, TableError
from reseed.survey.catalog import Catalog, build_catalog
from reseed.survey.geotag import Facts, facts_from_exif, merge
from reseed.survey.imagery import decode_bytes, read_image_file
from reseed.survey.layouts.reading import FrameFinder
from reseed.survey.photo_log import read_photo_log
from tests.unit.survey.folders import put, read
from tests.unit.survey.surveys import catalog_params, encoded, picture

GPS = {1: "S", 2: (9.0, 30.0, 0.0), 3: "E", 4: (143.0, 45.0, 0.0)}


def build(raw: Path, layout: str, **params: object) -> Catalog:
    source = RawSource("src", "folder", "x", layout, "0" * 64, 1, 1, "unknown", pinned=False, synthetic=False)
    return build_catalog([source], raw, catalog_params(**params))


def exif(taken: str, gps: dict[int, object] | None = None, serial: str = "", **details: str) -> Image.Exif:
    block = Image.Exif()
    block.get_ifd(0x8769).update({0x9003: taken} | {int(tag, 16): text for tag, text in details.items()})
    block.get_ifd(0x8825).update(gps or {})
    if serial:
        block[0xC62F] = serial
    return block


def frame(path: Path, block: Image.Exif, seed: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(picture(seed), "JPEG", exif=block))


# ---- files that are no picture of their own


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a.jpg_original", "backup_copy"),
        ("a.JPG~", "backup_copy"),
        ("a.jpeg.bak", "backup_copy"),
        ("a.png_exiftool_tmp", "backup_copy"),
        ("a_original.jpg", "backup_copy"),
        ("a - Copy.jpg", "backup_copy"),
        ("a.THM", "thumbnail"),
        ("a.HEIC", "same_picture_in_other_format"),
        ("a.NEF", "same_picture_in_other_format"),
    ],
)
def test_what_shows_again_what_another_image_shows_is_left_out_and_counted(
    tmp_path: Path, name: str, reason: str
) -> None:
    for kept in ("a.jpg", "a (1).jpg", "b.jpg"):  # recorders count so: no copy
        put(tmp_path / "src", f"tow/{kept}", len(kept))
    (tmp_path / "src/tow" / name).write_bytes(encoded(picture(9), "TIFF" if name.endswith("NEF") else "JPEG"))
    catalog = build(tmp_path, "survey")
    assert list(catalog.frames["frame_id"]) == ["src/tow/a (1).jpg", "src/tow/a.jpg", "src/tow/b.jpg"]
    counts = catalog.counts["sources"]["src"]
    assert counts["ignored_by_reason"] == {reason: 1}
    assert counts["found"] == 4


@pytest.mark.parametrize("name", ["a.NEF", "a.dng", "a.CR2", "a.heic", "a.HIF", "a.webp"])
def test_a_picture_of_a_format_that_is_not_read_is_listed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(encoded(picture(), "TIFF"))
    with pytest.raises(ImageError, match="read are JPEG") as caught:
        read_image_file(tmp_path / name)
    assert caught.value.reason == "unsupported_format"
    (tmp_path / name).write_bytes(encoded(picture(), "JPEG"))  # the content counts, whatever the name
    assert read_image_file(tmp_path / name)


@pytest.mark.parametrize("tags", [{50706: bytes([1, 4, 0, 0])}, {254: 1}])
def test_a_raw_file_is_known_by_its_content_too(tags: dict[int, object]) -> None:
    directory = TiffImagePlugin.ImageFileDirectory_v2()
    for tag, value in tags.items():
        directory[tag] = value
        directory.tagtype[tag] = 1 if isinstance(value, bytes) else 4
    with pytest.raises(ImageError, match="thumbnail"):
        decode_bytes(encoded(picture(), "TIFF", tiffinfo=directory), 10**6)


@pytest.mark.parametrize(
    "brand", [b"heic", b"heim", b"hevc", b"msf1", b"mif1", b"avis", b"crx ", b"xxxxheic", b"xxxx    avif"]
)
def test_every_brand_of_still_pictures_is_an_unsupported_format(brand: bytes) -> None:
    with pytest.raises(ImageError) as caught:
        decode_bytes(b"\0\0\0\x18ftyp" + brand + b"\0" * 100, 10**6)
    assert caught.value.reason == "unsupported_format"


# ---- depth of pixels


def deep(values: NDArray[np.uint16], kind: str, **tags: int) -> bytes:
    directory = TiffImagePlugin.ImageFileDirectory_v2()
    for tag, value in tags.items():
        directory[int(tag[1:])] = value
    buffer = io.BytesIO()
    Image.fromarray(values).save(buffer, kind, **({"tiffinfo": directory} if tags else {}))
    return buffer.getvalue()


def colour_png(values: NDArray[np.uint16]) -> bytes:
    """Encode (H, W, 3) uint16, which Pillow cannot, as PNG."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width, _ = values.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    header = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("bits", [10, 12, 14])
def test_fewer_bits_are_scaled_by_their_range_or_refused(bits: int) -> None:
    top = (1 << bits) - 1
    values = np.linspace(0, top, 64 * 48).reshape(48, 64).astype(np.uint16)
    # 255 * v / top, rounded down: black stays black, and the brightest is white.
    scaled = decode_bytes(deep(values, "TIFF", t281=top), 10**6)[..., 0]
    assert np.array_equal(scaled, values.astype(np.int64) * 255 // top)
    for silent in (deep(values, "TIFF"), deep(values, "PNG"), colour_png(values[..., None].repeat(3, 2))):
        with pytest.raises(ImageError, match=f"{bits}-bit data") as caught:
            decode_bytes(silent, 10**6)
        assert caught.value.reason == "unknown_bit_depth"


def test_sixteen_bits_are_read_as_before() -> None:
    values = np.linspace(0, 65535, 64 * 48).reshape(48, 64).astype(np.uint16)
    for data in (deep(values, "TIFF"), deep(values, "PNG"), deep(values, "TIFF", t281=4095)):  # the last one lies
        assert np.array_equal(decode_bytes(data, 10**6)[..., 0], values >> 8)
    assert np.array_equal(decode_bytes(colour_png(values[..., None].repeat(3, 2)), 10**6)[..., 2], values >> 8)
    assert decode_bytes(deep(np.zeros((48, 64), np.uint16), "PNG"), 10**6).max() == 0


# ---- places and times


@pytest.mark.parametrize(
    ("latitude", "expected"),
    [((23.0, 26.0, 60.0), 23.45), ((22.0, 60.0, 0.0), 23.0), ((23.0, 26.99, 60.0), 23 + 27.99 / 60)],
)
def test_sixty_minutes_or_seconds_are_a_place(latitude: tuple[float, ...], expected: float) -> None:
    assert facts_from_exif(GPS | {2: latitude}, {}).latitude_deg == pytest.approx(-expected)


@pytest.mark.parametrize("status", ["V", "v", b"V\0", "V "])
def test_a_receiver_without_a_fix_has_no_place(status: object) -> None:
    facts = facts_from_exif(GPS | {9: status}, {})
    assert (facts.placed, facts.problems) == (False, ("exif_position_without_fix",))
    assert facts_from_exif(GPS | {9: "A"}, {}).placed


NOON = {0x9003: "2023:03:15 12:00:00"}


@pytest.mark.parametrize("offset", ["+10:00", "+1000", "+10", "UTC+10", "GMT +10:00", "+ 10:00"])
@pytest.mark.parametrize("tag", [0x9011, 0x9010])
def test_an_offset_is_read_however_it_is_written(offset: str, tag: int) -> None:
    facts = facts_from_exif({}, NOON | {tag: offset})
    assert facts.taken is not None
    assert (facts.taken.isoformat(), facts.zone_from) == ("2023-03-15T02:00:00+00:00", "offset")


def test_a_gps_time_beside_a_local_one_tells_the_zone() -> None:
    def taken(day: str, clock: tuple[float, float, float]) -> tuple[str, tuple[str, ...]]:
        facts = facts_from_exif(GPS | {7: clock, 29: day}, NOON | {0x9291: "25"})
        assert facts.taken is not None
        return facts.taken.isoformat(), facts.problems

    # 3 s of delay, and half an hour of zone; 25 is a quarter of a second.
    assert taken("2023:03:15", (2.0, 29.0, 57.0)) == ("2023-03-15T02:30:00.250000+00:00", ())
    assert taken("2023:03:16", (0.0, 0.0, 0.0))[0] == "2023-03-16T00:00:00.250000+00:00"  # 12 hours behind
    wrong = taken("2024:03:16", (2.0, 0.0, 0.0))
    assert wrong == ("2024-03-16T02:00:00+00:00", ("exif_time_disagreement",))


@pytest.mark.parametrize(
    ("local", "kept", "told"),
    [
        ("2016:01:01 00:00:00", "2023-03-15T02:06:35Z", True),  # a clock that was reset
        ("2023:03:15 12:06:35", "2023-03-15T02:06:35Z", True),  # a local time without a word of its zone
        ("2023:03:15 02:07:50", "2023-03-15T02:06:35Z", True),  # 75 s fast
        ("2023:03:15 02:06:40", "2023-03-15T02:06:40Z", False),
    ],
)
def test_the_log_counts_where_a_camera_says_another_time(local: str, kept: str, *, told: bool) -> None:
    log = Facts(taken=facts_from_exif({}, {0x9003: "2023:03:15 02:06:35"}).taken)
    geotag = merge(facts_from_exif({}, {0x9003: local}), log, "IMG_0001")
    assert geotag.captured_at == kept
    assert ("time_disagreement" in geotag.problems) == told
    sure = facts_from_exif({}, {0x9003: local, 0x9011: "+00:00"})
    assert merge(sure, log, "IMG_0001").time_from == "exif"


def test_a_time_that_is_read_as_utc_for_want_of_better_is_counted() -> None:
    bare = facts_from_exif({}, {0x9003: "2023:03:15 02:06:35"})
    assert merge(bare, None, "IMG_0001").time_from == "exif_without_zone"
    assert merge(bare, None, "20230315_020635_000_0000").time_from == "exif"
    assert "time_disagreement" in merge(bare, None, "20200101_000000").problems


def test_a_clock_that_was_reset_in_a_tow_gives_no_time(tmp_path: Path) -> None:
    for i, taken in enumerate(("2023:03:15 02:06:35", "2016:01:01 00:00:00", "2023:03:15 02:06:37")):
        frame(tmp_path / f"src/tow/G{i:03d}.JPG", exif(taken), i)
    catalog = build(tmp_path, "survey")
    assert list(catalog.frames["captured_at"]) == ["2023-03-15T02:06:35Z", "", "2023-03-15T02:06:37Z"]
    assert catalog.counts["sources"]["src"]["geotag_problems"]["clock_reset"] == 1
    assert catalog.remarks == (
        "src: the EXIF time of 2 frames names no time zone: it is read as UTC",
        "src: the clock of 1 frames was reset: their times are left out, and their names give the order",
    )


@pytest.mark.parametrize("layout", ["survey", "frame-folders"])
def test_a_rendered_frame_is_synthetic_wherever_it_comes_from(tmp_path: Path, layout: str) -> None:
    frame(tmp_path / "src/Deploy/a.jpg", exif("2023:03:15 02:06:35", serial="RESEED_DEMO"))
    frame(tmp_path / "src/Deploy/b.jpg", exif("2023:03:15 02:06:36", serial="REEFSCAN_02"), 1)
    assert list(build(tmp_path, layout).frames["synthetic"]) == [1, 0]


# ---- sites and sequences, in every layout


def coralnet(root: Path, folder: str, name: str) -> None:
    put(root, f"{folder}/{name}.png")
    (root / folder / "annotations.csv").write_text(f"Name,Row,Column,Label\n{name}.png,2,3,Deploy\n")


@pytest.mark.parametrize("layout", ["survey", "frame-folders", "patch-folders", "coralnet"])
def test_camera_folders_are_no_site_and_spellings_are_one(tmp_path: Path, layout: str) -> None:
    above = {"Heron": "DCIM/100GOPRO", "HERON": "101GOPRO", "heron ": "images", "Mer": "cam_1"}
    for number, (site, camera) in enumerate(above.items()):
        folder = f"{site}/{camera}"
        if layout == "coralnet":
            coralnet(tmp_path / "src", folder, f"g{number}")
        elif layout == "survey":
            put(tmp_path / "src", f"{folder}/g{number}.png", number)
        else:
            put(tmp_path / "src", f"{folder}/Deploy/g{number}_{number}.png", number)
    catalog = build(tmp_path, layout)
    assert list(catalog.frames["site"].value_counts().sort_index().items()) == [("HERON", 3), ("Mer", 1)]
    assert [remark for remark in catalog.remarks if "also written 'Heron', 'heron" in remark]


def test_names_of_camera_folders_do_not_mix_patches_of_two_frames(tmp_path: Path) -> None:
    put(tmp_path, "Heron/100GOPRO/Deploy/G0001_3.png", 1)
    put(tmp_path, "Heron/101GOPRO/Coral/G0001_3.png", 2)
    assert len(read(tmp_path, "patch-folders").places) == 2


def test_a_tow_across_midnight_is_one_sequence_of_class_folders(tmp_path: Path) -> None:
    names = ["20230315_235958", "20230316_000002", "20230318_000000"]
    for number, name in enumerate(names):
        put(tmp_path / "src", f"{'Deploy' if number % 2 else 'No-Deploy'}/{name}_000_0000.png", number)
    frames = build(tmp_path, "frame-folders").frames.sort_values("captured_at")
    assert list(frames["sequence"]) == ["src/20230315", "src/20230315", "src/20230318"]


# ---- names of patches


def grid(root: Path, pattern: str, rows: range, cols: range, frames: int = 2) -> None:
    for f in range(frames):
        for r in rows:
            for c in cols:
                put(root, f"Coral/{pattern.format(f=f, r=r, c=c)}.png", 100 * f + 10 * r + c)


@pytest.mark.parametrize(
    ("pattern", "start"),
    [
        ("reef{f}_{r}_{c}", 0),
        ("reef{f}_{r:02d}_{c:02d}", 1),
        ("reef{f}_r{r}_c{c}", 0),
        ("reef{f}-row{r:02d}-col{c:02d}", 1),
    ],
)
def test_patches_named_by_row_and_column(tmp_path: Path, pattern: str, start: int) -> None:
    grid(tmp_path, pattern, range(start, start + 2), range(start, start + 3))
    reading = read(tmp_path, "patch-folders", grid_rows=2, grid_cols=3)
    assert len(reading.places) == 2
    cells = {(piece.path, piece.row, piece.col) for frame in reading.assembled.values() for piece in frame.pieces}
    assert (f"Coral/{pattern.format(f=1, r=start + 1, c=start + 2)}.png", 1, 2) in cells
    assert "row" in reading.remarks[0]


@pytest.mark.parametrize(
    ("pattern", "rows", "cols"),
    [("reef{f}_{c}_{r}", 2, 3), ("reef{f}_r{r}_c{c}", 3, 3), ("reef{f}_{r}_{c}", 2, 2)],
)
def test_names_that_may_mean_either_are_an_error(tmp_path: Path, pattern: str, rows: int, cols: int) -> None:
    grid(tmp_path, pattern, range(rows), range(cols))
    with pytest.raises(TableError, match=r"may mean <frame>_<index> or <frame>_<row>_<col>"):
        read(tmp_path, "patch-folders", grid_rows=2, grid_cols=3)


@pytest.mark.parametrize("indices", [range(1, 6), range(1, 4), range(2, 6)])
def test_indices_that_begin_above_0_are_remarked(tmp_path: Path, indices: range) -> None:
    for index in indices:
        put(tmp_path, f"Coral/reef_{index}.png", index)
    assert "no frame has a patch of index 0" in read(tmp_path, "patch-folders", grid_rows=2, grid_cols=3).remarks[0]


# ---- tables and logs


SIZES = dict.fromkeys(("A/images/1.jpg", "A/images/3.jpg", "B/images/1.jpg", "B/images/2.jpg", "C/9.jpg"), (10, 10))


@pytest.mark.parametrize(
    ("text", "folder", "found"),
    [
        ("3.jpg", "A", "A/images/3.jpg"),
        ("2.jpg", "A", None),  # missing at A: that of B is another
        ("images/2.jpg", "A", None),
        ("A/images/2.jpg", "", None),
        (r"D:\survey\A\images\2.jpg", "", None),
        (r"D:\survey\B\images\2.jpg", "", "B/images/2.jpg"),
        ("2.jpg", "labels", "B/images/2.jpg"),  # no image below its folder: the whole source is in reach
        ("B/images/1.jpg", "labels", "B/images/1.jpg"),
        ("C/1.jpg", "", None),
        ("9.jpg", "", "C/9.jpg"),
    ],
)
def test_a_table_means_a_frame_in_its_reach(text: str, folder: str, found: str | None) -> None:
    assert FrameFinder(SIZES, ()).find_by_name(text, folder) == found


def test_a_bare_name_that_several_sites_have_is_an_error() -> None:
    with pytest.raises(TableError, match="may mean 2 images"):
        FrameFinder(SIZES, ()).find_by_name("1.jpg", "")


@pytest.mark.parametrize(
    ("rows", "places"),
    [
        (["100GOPRO/G1.JPG,-10", "101GOPRO/G1.JPG,-11"], {"100GOPRO": -10.0, "101GOPRO": -11.0}),
        ([r"D:\DCIM\101GOPRO\G1.JPG,-11"], {"100GOPRO": None, "101GOPRO": -11.0}),
        (["G1.JPG,-10"], {"100GOPRO": None, "101GOPRO": None}),  # which of the two?
        (["G2.JPG,-12"], {"101GOPRO": None}),
    ],
)
def test_a_row_of_a_log_is_of_the_frame_that_it_names(
    tmp_path: Path, rows: list[str], places: dict[str, object]
) -> None:
    for number, folder in enumerate(("100GOPRO", "101GOPRO")):
        put(tmp_path, f"{folder}/G1.png", number)
        (tmp_path / folder / "G1.png").rename(tmp_path / folder / "G1.JPG")
    lines = ["filename_string,latitude,longitude", *(f"{row},143.5" for row in rows)]
    (tmp_path / "photo_log.csv").write_text("\n".join(lines) + "\n")
    found = read(tmp_path, "survey").places
    for folder, latitude in places.items():
        log = found[f"{folder}/G1.JPG"].log
        assert (log.latitude_deg if log else None) == latitude


def test_a_log_of_several_folders_copied_into_one_gives_only_its_own_rows(tmp_path: Path) -> None:
    (tmp_path / "photo_log.csv").write_text("filename_string\n100GOPRO/G1.JPG\n101GOPRO/G2.JPG\n")
    log = read_photo_log(tmp_path / "photo_log.csv", "log")
    assert log.find("101GOPRO/G1.JPG", own=True, unique=lambda: True) is None
    assert log.find("101GOPRO/G2.JPG", own=True, unique=lambda: True) == "101GOPRO/G2.JPG"


def test_cameras_side_by_side_share_the_rows_of_their_log(tmp_path: Path) -> None:
    for number in (1, 2):
        put(tmp_path, f"tow/cam_{number}/a.png", number)
    (tmp_path / "tow/photo_log.csv").write_text("filename_string,latitude,longitude\na.png,-9.5,143.75\n")
    (tmp_path / "tow/survey.json").write_text(json.dumps({"site": "Mer"}))
    places = read(tmp_path, "survey").places.values()
    assert [(place.site, place.log and place.log.latitude_deg) for place in places] == [("Mer", -9.5)] * 2
