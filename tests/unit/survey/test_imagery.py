import contextlib
import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFile

from reseed.base.errors import ImageError
from reseed.survey import imagery
from reseed.survey.imagery import REASONS, decode_bytes, decode_rgb
from tests.unit.survey.surveys import encoded, picture

MAX_PIXELS = 1_000_000
IMAGE = picture(1, 160, 96)
PIXELS = np.asarray(IMAGE)
JPEG = encoded(IMAGE, "JPEG", quality=95, subsampling=0)
PROGRESSIVE = encoded(IMAGE, "JPEG", quality=95, progressive=True)


def _reason(data: bytes, max_pixels: int = MAX_PIXELS) -> str:
    with pytest.raises(ImageError) as caught:
        decode_bytes(data, max_pixels)
    assert caught.value.reason in REASONS
    return caught.value.reason


def _png(width: int, height: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF"])
def test_lossless_formats_give_the_stored_pixels(kind: str) -> None:
    pixels = decode_bytes(encoded(IMAGE, kind), MAX_PIXELS)
    assert pixels.dtype == np.uint8
    assert np.array_equal(pixels, PIXELS)


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 2}, {"quality": 40}])
def test_jpeg_agrees_with_pillow(options: dict[str, object]) -> None:
    data = encoded(IMAGE, "JPEG", **options)
    with Image.open(io.BytesIO(data)) as image:
        assert np.array_equal(decode_bytes(data, MAX_PIXELS), np.asarray(image.convert("RGB")))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA"])
def test_modes_become_rgb(mode: str) -> None:
    image = IMAGE.convert(mode)
    expected = np.asarray((image.convert("RGBA") if mode == "P" else image).convert("RGB"))
    assert np.array_equal(decode_bytes(encoded(image, "PNG"), MAX_PIXELS), expected)


def test_transparency_is_dropped() -> None:
    image = IMAGE.convert("RGBA")
    image.putalpha(0)
    assert np.array_equal(decode_bytes(encoded(image, "PNG"), MAX_PIXELS), PIXELS)
    palette = IMAGE.convert("P")
    expected = np.asarray(palette.convert("RGB"))
    assert np.array_equal(decode_bytes(encoded(palette, "PNG", transparency=bytes(200)), MAX_PIXELS), expected)


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_cmyk_becomes_rgb(kind: str) -> None:
    options = {"quality": 100, "subsampling": 0} if kind == "JPEG" else {}
    pixels = decode_bytes(encoded(IMAGE.convert("CMYK"), kind, **options), MAX_PIXELS)
    # Pillow's conversion keeps K at 0, so C, M, Y are the complement and come back exactly, but for JPEG's rounding.
    assert np.abs(pixels.astype(int) - PIXELS).max() <= 2


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_not_clipped(kind: str) -> None:
    # Upper byte: 0 -> 0, 255 -> 0, 256 -> 1, 32768 -> 128, 65535 -> 255.
    values = np.array([[0, 255, 256, 32768, 65535]], dtype=np.uint16)
    pixels = decode_bytes(encoded(Image.fromarray(values), kind), MAX_PIXELS)
    assert pixels[0, :, 0].tolist() == [0, 0, 1, 128, 255]
    assert (pixels == pixels[..., :1]).all()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_ignored(kind: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[274] = orientation
    plain = decode_bytes(encoded(IMAGE, kind), MAX_PIXELS)
    assert np.array_equal(decode_bytes(encoded(IMAGE, kind, exif=exif), MAX_PIXELS), plain)


@pytest.mark.parametrize("name", ["photo.png", "photo", "photo.JPEG"])
def test_content_counts_not_the_extension(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(JPEG)
    assert decode_rgb(tmp_path / name, MAX_PIXELS).shape == (96, 160, 3)


@pytest.mark.parametrize(
    "data", [JPEG, PROGRESSIVE, encoded(IMAGE, "PNG"), encoded(IMAGE, "BMP"), encoded(IMAGE, "TIFF")]
)
@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9])
def test_truncated_files_are_detected(data: bytes, kept: float) -> None:
    assert _reason(data[: int(len(data) * kept)]) in {"truncated", "corrupt"}
    assert _reason(data[:-10]) == "truncated"


@pytest.mark.parametrize("compression", ["tiff_lzw", "tiff_adobe_deflate", "packbits"])
def test_truncated_compressed_tiff_is_detected(compression: str) -> None:
    data = encoded(IMAGE, "TIFF", compression=compression)
    assert np.array_equal(decode_bytes(data, MAX_PIXELS), PIXELS)
    assert _reason(data[: len(data) // 2]) == "truncated"


@pytest.mark.parametrize("data", [JPEG, PROGRESSIVE])
def test_half_grey_jpegs_are_detected(data: bytes) -> None:
    half = data[: len(data) // 2]
    noise = np.random.default_rng(0).integers(0, 256, len(half), dtype=np.uint8).tobytes()
    assert _reason(half) == "truncated"
    assert _reason(half + bytes(len(half))) == "truncated"  # the rest of the file was never written
    assert _reason(half + b"\xff\xd9") == "truncated"  # somebody closed it again
    assert _reason(half + noise) in {"truncated", "corrupt"}


def test_bytes_after_the_end_do_no_harm() -> None:
    assert np.array_equal(decode_bytes(JPEG + bytes(1000), MAX_PIXELS), decode_bytes(JPEG, MAX_PIXELS))


def test_padding_before_the_end_mark_does_no_harm_but_other_bytes_there_do() -> None:
    padded = JPEG[:-2] + bytes(100) + JPEG[-2:]
    assert np.array_equal(decode_bytes(padded, MAX_PIXELS), decode_bytes(JPEG, MAX_PIXELS))
    assert _reason(JPEG[:-2] + b"rest of another frame" + JPEG[-2:]) == "corrupt"
    half = JPEG[: len(JPEG) // 2]
    assert _reason(half + bytes(len(half)) + b"\xff\xd9") == "truncated"


@pytest.mark.parametrize("image", [IMAGE.convert("L"), IMAGE])
def test_colour_spaces_of_jpeg(image: Image.Image) -> None:
    data = encoded(image, "JPEG", quality=95, keep_rgb=True)
    with Image.open(io.BytesIO(data)) as opened:
        assert np.array_equal(decode_bytes(data, MAX_PIXELS), np.asarray(opened.convert("RGB")))


def test_a_hole_in_png_pixels_is_detected() -> None:
    data = bytearray(encoded(IMAGE, "PNG"))
    data[data.index(b"IDAT") + 40] ^= 1
    assert _reason(bytes(data)) == "corrupt"


def test_png_pixels_that_stop_early_are_detected() -> None:
    assert _reason(_png(50, 50)) == "truncated"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty_file"),
        (bytes(5000), "all_nul"),
        (b"frame,label\n", "not_an_image"),
        (b"BM: a note about Blue Marine, and some more text", "not_an_image"),
        (encoded(IMAGE.convert("P"), "GIF"), "unsupported_format"),
        (encoded(IMAGE, "WEBP"), "unsupported_format"),
        (encoded(IMAGE.convert("F"), "TIFF"), "unsupported_mode"),
        (JPEG[:3], "truncated"),
        (JPEG[:200], "truncated"),
    ],
)
def test_reasons(data: bytes, reason: str) -> None:
    assert _reason(data) == reason


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "BMP", "TIFF"])
def test_declared_pixels_are_checked(kind: str) -> None:
    data = encoded(IMAGE, kind)
    assert decode_bytes(data, 160 * 96).shape == (96, 160, 3)
    assert _reason(data, 160 * 96 - 1) == "too_many_pixels"


def test_a_bomb_is_not_decoded() -> None:
    assert _reason(_png(60_000, 60_000), 100_000_000) == "too_many_pixels"


def test_more_than_pillows_own_limit_may_be_allowed() -> None:
    # 179 million pixels is where Pillow alone refuses; the parameter decides instead.
    assert _reason(_png(20_000, 10_000), 300_000_000) == "truncated"


def test_missing_file_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(ImageError) as caught:
        decode_rgb(tmp_path / "gone.jpg", MAX_PIXELS)
    assert caught.value.reason == "unreadable"


def test_pillow_must_not_fill_in_what_is_missing() -> None:
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False
    assert imagery.READABLE == ("JPEG", "PNG", "BMP", "TIFF")


@pytest.mark.filterwarnings("ignore")  # Pillow warns of the broken metadata that this test makes
@given(
    kind=st.sampled_from(["JPEG", "PNG", "BMP", "TIFF"]),
    at=st.integers(0, 2000),
    value=st.integers(0, 255),
    cut=st.integers(0, 2000),
)
def test_damage_never_escapes_as_another_error(kind: str, at: int, value: int, cut: int) -> None:
    data = bytearray(encoded(picture(1, 32, 24), kind))
    data[at % len(data)] = value
    with contextlib.suppress(ImageError):
        pixels = decode_bytes(bytes(data[: len(data) - cut % len(data)]), MAX_PIXELS)
        assert pixels.ndim == 3
        assert pixels.dtype == np.uint8
