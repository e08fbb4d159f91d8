"""Registration and perceptual hash, on rendered texture and, where they are, on real frames."""

import io
import os
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter

from reseed.base.parallel import ordered_map
from reseed.patches.overlap import (
    MAX_HASH_BITS,
    MIN_PEAK_SD,
    SMALL_HEIGHT_PX,
    SmallView,
    _texture,
    hash_distances,
    is_copy,
    register,
    small_view,
)
from reseed.survey.imagery import decode_bytes, decode_rgb

FOLDER = os.environ.get("RESEED_FIELD_DATA", "")


@cache
def seabed(seed: int, height: int = 400, width: int = 700) -> NDArray[np.uint8]:
    """Texture with detail of every size, as a reef has."""
    rng = np.random.default_rng(seed)
    total = sum(gaussian_filter(rng.standard_normal((height, width)), size) * size for size in (1, 2, 4, 8, 16))
    gray = np.clip(110 + 40 * total / total.std(), 0, 255).astype(np.uint8)
    return np.repeat(gray[:, :, None], 3, axis=2)


REEF = seabed(0)


def view(down: int, right: int, height: int = 192, width: int = 336, reef: NDArray[np.uint8] = REEF) -> SmallView:
    return small_view(reef[down : down + height, right : right + width])


def test_a_known_shift() -> None:
    # The second view begins 40 px lower and 60 px further right; 192 px become 96: 20 and 30 small px, 20/96 and 30/96
    # of the height. In common are (192 - 40) x (336 - 60) of 192 x 336 px: 65 %.
    found = register(view(100, 150), view(140, 210))
    assert (found.down, found.right) == (20 / 96, 30 / 96)
    assert found.share == pytest.approx(152 * 276 / (192 * 336))
    assert found.found
    assert found.agreement > 0.9


@settings(max_examples=20, deadline=None)
@given(st.integers(-70, 70), st.integers(-120, 120))
def test_any_shift_is_found_both_ways(down: int, right: int) -> None:
    first, second = view(100, 150), view(100 + down, 150 + right)
    there, back = register(first, second), register(second, first)
    assert there.found
    assert back.found
    # A shift of an odd number of pixels falls between two pixels of the small view.
    assert abs(there.down * SMALL_HEIGHT_PX - down / 2) <= 1
    assert abs(there.right * SMALL_HEIGHT_PX - right / 2) <= 1
    assert there.peak_sd == pytest.approx(back.peak_sd, rel=0.05)


def test_the_shift_is_the_one_that_trying_them_all_finds() -> None:
    first, second = view(80, 100), view(96, 124)
    a, b = _texture(first.gray).astype(float), _texture(second.gray).astype(float)
    best = max(
        (np.corrcoef(a[max(0, y) : 96 + min(0, y), max(0, x) : 168 + min(0, x)].ravel(),
                     b[max(0, -y) : 96 - max(0, y), max(0, -x) : 168 - max(0, x)].ravel())[0, 1], y, x)
        for y in range(-20, 21)
        for x in range(-20, 21)
    )  # fmt: skip
    found = register(first, second)
    assert (found.down * 96, found.right * 96) == best[1:] == (8, 12)
    assert found.agreement == pytest.approx(best[0], abs=0.02)  # a median of parts, not the whole


def test_other_places_are_not_found() -> None:
    views = [view(100, 150, reef=seabed(seed)) for seed in range(1, 13)]
    peaks = [register(*pair).peak_sd for pair in combinations(views, 2)]
    assert max(peaks) < 8
    assert not any(register(*pair).found for pair in combinations(views, 2))


def test_light_noise_and_views_of_another_shape_do_not_matter() -> None:
    rng = np.random.default_rng(7)
    darker = REEF[110:302, 180:420].astype(float) * 0.5 * np.linspace(0.6, 1.2, 240)[None, :, None]
    noisy = np.clip(darker + rng.normal(0, 4, darker.shape), 0, 255).astype(np.uint8)
    found = register(view(100, 150), small_view(noisy))
    assert found.found
    assert (found.down, found.right) == (5 / 96, 15 / 96)


def test_what_the_camera_stamps_into_every_frame_is_no_overlap() -> None:
    stamp = seabed(30)[:60, :200]
    stamped = [seabed(seed)[100:292, 150:486].copy() for seed in (20, 21)]
    for picture in stamped:
        picture[:60, :200] = stamp
    found = register(*map(small_view, stamped))
    assert found.peak_sd > MIN_PEAK_SD  # the stamp is a fifth of the picture and agrees at no shift
    assert (found.down, found.right) == (0, 0)
    assert not found.found


def test_views_that_share_a_third_are_found_and_not_mistaken_for_the_wrapped_around_shift() -> None:
    # 130 of 192 px down: 32 % in common; in a correlation without padding it would be the same as 62 px up.
    found = register(view(20, 20), view(150, 20))
    assert (found.down, found.right, found.found) == (65 / 96, 0, True)
    assert register(view(20, 20), view(20, 260)).right == 120 / 96


def test_pictures_without_contrast() -> None:
    flat = small_view(np.full((192, 336, 3), 90, np.uint8))
    assert flat.bits is None
    assert not register(flat, flat).found
    assert not register(flat, view(100, 150)).found
    assert not is_copy(flat, flat)


@pytest.mark.parametrize(
    ("quality", "scale", "gain"), [(95, 1.0, 1.0), (30, 1.0, 1.0), (80, 0.5, 1.0), (60, 0.25, 1.2), (40, 0.5, 0.8)]
)
def test_a_picture_encoded_anew_is_a_copy(quality: int, scale: float, gain: float) -> None:
    picture = REEF[100:292, 150:486]
    buffer = io.BytesIO()
    changed = Image.fromarray(np.clip(picture * gain, 0, 255).astype(np.uint8))
    changed.resize((round(336 * scale), round(192 * scale)), Image.Resampling.LANCZOS).save(
        buffer, "JPEG", quality=quality
    )
    copy = small_view(decode_bytes(buffer.getvalue(), 10**6))
    assert is_copy(small_view(picture), copy)


def test_what_is_no_copy() -> None:
    picture = view(100, 150)
    assert not is_copy(picture, view(100, 150, reef=seabed(5)))
    assert not is_copy(picture, view(110, 150))  # shifted by 5 % of the height: a view of its own
    assert not is_copy(picture, small_view(255 - REEF[100:292, 150:486]))


def test_hash_distance_by_hand() -> None:
    bits = np.array([0b1010_0000, 0], np.uint8)
    others = np.array([[0b1010_0000, 0], [0b0110_0000, 1], [0b0101_1111, 255]], np.uint8)
    # Equal; the first two bits and the last of the second byte; all sixteen.
    assert hash_distances(bits, others).tolist() == [0, 3, 16]


@pytest.mark.field
@pytest.mark.skipif(not FOLDER, reason="RESEED_FIELD_DATA is not set: no real frames here")
def test_real_frames_of_different_sequences_are_told_from_neighbours_that_overlap() -> None:
    paths = sorted(Path(FOLDER).glob("reefscan/*/*.jpg"))

    def look(path: Path) -> SmallView:
        return small_view(decode_rgb(path, 10**8))

    views = dict(zip(paths, ordered_map(look, paths, total=34, unit="frame", what="look"), strict=True))
    overlaps = {pair: register(views[pair[0]], views[pair[1]]) for pair in combinations(paths, 2)}
    following = [pair for pair in pairwise(paths) if pair[0].parent == pair[1].parent]
    across = [pair for pair in overlaps if pair[0].parent != pair[1].parent]
    assert (len(following), len(across)) == (31, 380)
    found = [pair for pair in following if overlaps[pair].found]
    assert len(found) >= 6
    assert [pair for pair in across if overlaps[pair].found] == []
    # With room to spare on both sides, and all found where frames with a smaller index step lie: nothing jumps about.
    assert max(overlaps[pair].peak_sd for pair in across) < 8
    assert min(overlaps[pair].peak_sd for pair in found) > 10
    assert all(overlaps[pair].share > 0.5 for pair in found)
    # A perceptual hash tells copies, and nothing of this: most neighbours that overlap are as far apart as strangers.
    distance = {
        pair: int(hash_distances(views[pair[0]].bits, views[pair[1]].bits[None])[0]) for pair in (*found, *across)
    }
    strangers = min(distance[pair] for pair in across)
    assert strangers > MAX_HASH_BITS
    assert sum(distance[pair] < strangers for pair in found) <= 2
    assert not any(is_copy(views[a], views[b]) for a, b in overlaps)
