from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from reseed.base.errors import ImageError
from reseed.base.grid import Grid
from reseed.patches import resize as resizing
from reseed.patches.resize import grid_patches, load_frame_patches
from reseed.survey import imagery
from reseed.survey.imagery import decode_at_least, decode_bytes
from tests.unit.survey.surveys import encoded

MAX_PIXELS = 10_000_000
# Not a multiple of eight along either edge, so that a reduced picture ends inside its last pixel.
WIDTH, HEIGHT = 1003, 581
# Spots of 12 px, smooth as what a camera sees: nothing for a decoder to invent.
SPOTS = np.random.default_rng(3).integers(30, 226, (HEIGHT // 12, WIDTH // 12, 3), dtype=np.uint8)
FRAME = Image.fromarray(SPOTS).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)


def _file(folder: Path, data: bytes) -> Path:
    path = folder / "frame"
    path.write_bytes(data)
    return path


def _in_full(data: bytes, grid: Grid, input_size_px: int) -> NDArray[np.uint8]:
    return grid_patches(decode_bytes(data, MAX_PIXELS), grid, input_size_px)


def test_the_grid_is_that_of_the_stored_size(tmp_path: Path) -> None:
    found = load_frame_patches(_file(tmp_path, encoded(FRAME, "JPEG", quality=95)), 200, 64, MAX_PIXELS)
    assert (found.width_px, found.height_px, found.grid) == (WIDTH, HEIGHT, Grid(3, 6))  # ceil(581/200), ceil(1003/200)
    assert found.images.shape == (18, 64, 64, 3)
    assert found.images.dtype == np.uint8


@pytest.mark.parametrize(
    ("stored_px", "needed_px", "eighths"),
    [
        ((5312, 3040), (1792, 1024), 3),  # 28 patches of 256 px: 3/8 gives 1992 x 1140, 2/8 only 1328 x 760
        ((5312, 3040), (1328, 760), 2),  # exactly as many as needed
        ((5312, 3040), (1329, 760), 3),
        ((5312, 3040), (1328, 761), 3),  # the taller need decides
        ((1003, 581), (251, 10), 3),  # 2/8 of 1003 is 250.75: rounded up it has 251, but not all of the last one
        ((100, 100), (1, 1), 1),
        ((100, 100), (100, 100), 8),
        ((100, 100), (900, 50), 8),  # more than there is: everything
    ],
)
def test_a_jpeg_is_decoded_at_the_smallest_eighth_that_is_large_enough(
    stored_px: tuple[int, int], needed_px: tuple[int, int], eighths: int
) -> None:
    data = encoded(Image.new("RGB", stored_px), "JPEG")
    found = decode_at_least(data, 10**8, lambda *_: needed_px)
    assert (found.width_px, found.height_px, found.eighths) == (*stored_px, eighths)
    assert found.pixels.shape == (-(-stored_px[1] * eighths // 8), -(-stored_px[0] * eighths // 8), 3)


@given(st.integers(8, 400), st.integers(8, 400), st.integers(1, 400), st.integers(1, 400))
def test_every_size_decodes_at_the_scale_asked_for(width: int, height: int, wide: int, high: int) -> None:
    found = decode_at_least(encoded(Image.new("L", (width, height)), "JPEG"), MAX_PIXELS, lambda *_: (wide, high))
    large_enough = [n for n in range(1, 9) if width * n / 8 >= wide and height * n / 8 >= high]
    assert found.eighths == min(large_enough, default=8)
    assert found.pixels.shape == (int(np.ceil(height * found.eighths / 8)), int(np.ceil(width * found.eighths / 8)), 3)


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}, {"quality": 60}])
@pytest.mark.parametrize("input_size_px", [24, 37, 60])
def test_patches_are_those_of_the_full_frame(tmp_path: Path, options: dict[str, object], input_size_px: int) -> None:
    data = encoded(FRAME, "JPEG", **({"quality": 95} | options))
    found = load_frame_patches(_file(tmp_path, data), 200, input_size_px, MAX_PIXELS)
    full = _in_full(data, found.grid, input_size_px).astype(float)
    assert np.abs(found.images - full).mean() < 1.5  # of 255; two such pictures differ by 40
    assert np.abs(found.images - full).max() < 12
    assert abs(found.images.mean() - full.mean()) < 0.05


def test_nothing_moves_when_the_picture_is_decoded_smaller(tmp_path: Path) -> None:
    """A ramp stays the ramp to the last column, although the reduced picture reaches 5 px over the border."""
    rising = np.linspace(20, 235, WIDTH)[None, :, None] + np.random.default_rng(0).uniform(-2, 2, (HEIGHT, WIDTH, 1))
    ramp = np.broadcast_to(rising.round().astype(np.uint8), (HEIGHT, WIDTH, 3))
    data = encoded(Image.fromarray(ramp), "JPEG", quality=100, subsampling=0)
    found = load_frame_patches(_file(tmp_path, data), 200, 20, MAX_PIXELS)
    columns = found.images.reshape(3, 6, 20, 20, 3).mean(axis=(0, 2, 4)).reshape(120)
    # 120 columns of 1003/120 stored pixels; the centre of column j lies at (j + 1/2) * 1003/120 - 1/2.
    centres = (np.arange(120) + 0.5) * WIDTH / 120 - 0.5
    slope, start = np.polyfit(centres, columns, 1)
    assert slope == pytest.approx(215 / (WIDTH - 1), rel=0.001)  # the whole reduced picture would give 0.5 % more
    assert start == pytest.approx(20, abs=0.15)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF"])
def test_other_formats_take_the_same_resize(tmp_path: Path, kind: str) -> None:
    data = encoded(FRAME, kind)
    found = load_frame_patches(_file(tmp_path, data), 200, 32, MAX_PIXELS)
    assert np.array_equal(found.images, _in_full(data, Grid(3, 6), 32))


def test_a_turned_frame_keeps_its_stored_size(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[274] = 6  # turn by a quarter to look at it
    found = load_frame_patches(_file(tmp_path, encoded(FRAME, "JPEG", exif=exif)), 200, 32, MAX_PIXELS)
    assert (found.width_px, found.height_px) == (WIDTH, HEIGHT)


def test_ink_is_decoded_smaller_too(tmp_path: Path) -> None:
    data = encoded(FRAME.convert("CMYK"), "JPEG", quality=95)
    assert decode_at_least(data, MAX_PIXELS, lambda *_: (300, 150)).eighths == 3
    found = load_frame_patches(_file(tmp_path, data), 200, 60, MAX_PIXELS)
    assert np.abs(found.images - _in_full(data, found.grid, 60).astype(float)).mean() < 1.5


_WHOLE = encoded(FRAME, "JPEG", quality=90)
_PROGRESSIVE = encoded(FRAME, "JPEG", progressive=True)
BROKEN = {
    "half of it": _WHOLE[: len(_WHOLE) // 2],
    "a few bytes short": _WHOLE[:-9],
    "closed again": _WHOLE[: len(_WHOLE) * 7 // 10] + b"\xff\xd9",
    "padded with nul": _WHOLE[: len(_WHOLE) // 2] + bytes(999),
    "progressive, half of it": _PROGRESSIVE[: len(_PROGRESSIVE) // 2],
    "a marker inside": _WHOLE[:9000] + b"\xff\xc4\x00\x03\x7f" + _WHOLE[9000:],
    "nothing": b"",
    "only nul": bytes(100),
    "text": b"no picture at all",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_refused_in_full_is_refused_small_for_the_same_reason(tmp_path: Path, name: str) -> None:
    with pytest.raises(ImageError) as in_full:
        decode_bytes(BROKEN[name], MAX_PIXELS)
    with pytest.raises(ImageError) as small:
        load_frame_patches(_file(tmp_path, BROKEN[name]), 200, 24, MAX_PIXELS)
    assert small.value.reason == in_full.value.reason


def test_nul_before_the_end_mark_is_no_damage(tmp_path: Path) -> None:
    padded = _WHOLE[:-2] + bytes(4000) + _WHOLE[-2:]
    (tmp_path / "padded").mkdir()
    found = load_frame_patches(_file(tmp_path / "padded", padded), 200, 24, MAX_PIXELS)
    assert np.array_equal(found.images, load_frame_patches(_file(tmp_path, _WHOLE), 200, 24, MAX_PIXELS).images)


def test_a_missing_or_enormous_file_is_an_image_error(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="unreadable"):
        load_frame_patches(tmp_path / "none.jpg", 200, 24, MAX_PIXELS)
    with pytest.raises(ImageError, match=f"too_many_pixels: declares {WIDTH} x {HEIGHT} px"):
        load_frame_patches(_file(tmp_path, _WHOLE), 200, 24, WIDTH * HEIGHT - 1)


def test_the_decoder_is_asked_for_the_smaller_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    decode = imagery.simplejpeg.decode_jpeg
    monkeypatch.setattr(
        imagery.simplejpeg, "decode_jpeg", lambda data, **options: asked.append(options) or decode(data, **options)
    )
    load_frame_patches(_file(tmp_path, _WHOLE), 200, 60, MAX_PIXELS)  # 360 x 180 of 1003 x 581: 3/8 is 376 x 218
    assert [(options["min_width"], options["min_height"], options["strict"]) for options in asked] == [(377, 218, True)]


@pytest.mark.skipif(resizing.simd is None, reason="no cykooz-resizer on this machine: Pillow does it")
@pytest.mark.parametrize("used_px", [None, (360.5, 200.25), (376.125, 217.875)])
@pytest.mark.parametrize("new_px", [(360, 180), (100, 50), (500, 300), (376, 218)])
def test_both_resizers_follow_the_same_rule(new_px: tuple[int, int], used_px: tuple[float, float] | None) -> None:
    image = np.asarray(FRAME.resize((377, 218)))
    fast = resizing.resize(image, *new_px, used_px).astype(int)
    slow = resizing._with_pillow(image, *new_px, used_px or (377.0, 218.0))
    assert np.abs(fast - slow).max() <= 2  # each rounds between its two passes, in its own order
    assert abs(float((fast - slow).mean())) < 0.01


def test_pillow_stands_in_where_the_other_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resizing, "simd", None)
    found = load_frame_patches(_file(tmp_path, encoded(FRAME, "PNG")), 200, 24, MAX_PIXELS)
    whole = found.images.reshape(3, 6, 24, 24, 3).swapaxes(1, 2).reshape(72, 144, 3)
    assert np.array_equal(whole, np.asarray(FRAME.resize((144, 72), Image.Resampling.BICUBIC)))
