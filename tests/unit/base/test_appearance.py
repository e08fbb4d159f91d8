import json
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from reseed.base.appearance import NAMES, Familiar, familiar_of, frame_appearance

Images = NDArray[np.uint8]


def flat(red: int, green: int, blue: int, edge_px: int = 32) -> Images:
    return np.tile(np.array([red, green, blue], np.uint8), (2, edge_px, edge_px, 1))


def looks(images: Images) -> dict[str, float]:
    return dict(zip(NAMES, frame_appearance(images).tolist(), strict=True))


def test_a_plain_frame_by_hand() -> None:
    found = looks(flat(92, 42, 17))
    # ln(1 + (92 + 42 + 17) / 3) = ln 51.333; ln((92 + 8) / (42 + 8)) = ln 2; ln((17 + 8) / 50) = -ln 2
    assert found["brightness"] == pytest.approx(3.938340, abs=1e-5)
    assert found["red_green"] == pytest.approx(0.693147, abs=1e-5)
    assert found["blue_green"] == pytest.approx(-0.693147, abs=1e-5)
    assert found["red_spread"] == pytest.approx(np.log(0.01), abs=1e-5)
    flat_ones = {"patch_contrast", "red_contrast", "blue_contrast", "grain_x", "grain_y", "grain_xy", "texture_x"}
    assert {name for name in NAMES if abs(found[name]) < 1e-6} >= flat_ones


def test_stripes_are_grain_across_and_not_along() -> None:
    stripes = flat(0, 0, 0)
    stripes[:, :, ::2] = 100
    found = looks(stripes)
    assert found["grain_x"] == pytest.approx(np.log(101), abs=1e-4)  # neighbours differ by 100 everywhere
    assert found["grain_y"] == found["grain_xy"] == 0


@pytest.mark.parametrize("every", [5, 8, 12, 16, 24])
@pytest.mark.parametrize("edge_px", [96, 190, 256])
def test_dead_columns_are_seen_however_far_apart(every: int, edge_px: int) -> None:
    dead = flat(60, 90, 80, edge_px)
    dead[:, :, ::every] = 255
    assert looks(dead)["grain_x"] > looks(flat(60, 90, 80, edge_px))["grain_x"] + 0.5


@pytest.mark.parametrize("edge_px", [8, 9, 16, 33, 96, 224])
def test_every_size_of_patch_gives_finite_numbers(edge_px: int) -> None:
    drawn = np.random.default_rng(0).integers(0, 256, (3, edge_px, edge_px, 3), dtype=np.uint8)
    for images in (drawn, np.zeros_like(drawn), np.full_like(drawn, 255)):
        assert np.isfinite(frame_appearance(images)).all()


def test_patches_count_alike_whatever_their_order() -> None:
    drawn = np.random.default_rng(1).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    np.testing.assert_allclose(frame_appearance(drawn), frame_appearance(drawn[::-1]), atol=2e-6)


def known(*groups: list[float], share: str = "0.25") -> Familiar:
    distances = tuple(np.array(group) for group in groups)
    return Familiar(np.zeros(16), np.ones(16), np.eye(16), distances, Fraction(share))


def far(distance: float) -> NDArray[np.float64]:
    return np.array([distance, *[0.0] * 15])


def test_a_p_value_by_hand() -> None:
    found = known([1, 2], [3], [1, 1, 4])
    # at 3: none of the first group, all of the second, one of three of the third: (1 + 0 + 1 + 1/3) / 4
    assert found.p_value(far(3)) == pytest.approx((1 + 1 + 1 / 3) / 4)
    assert found.p_value(far(0)) == 1.0
    assert found.p_value(far(9)) == 0.25
    assert found.p_value(far(3), without=1) == pytest.approx((1 + 1 / 3) / 3)
    assert found.asks(0.25)  # exactly the share: at most that many are asked about
    assert not found.asks(0.2500001)


def test_the_reason_is_what_differs_most() -> None:
    found = known([1.0])
    assert found.why(far(-3)) == "unlike the training frames: darker"
    assert found.why(far(3)) == "unlike the training frames: brighter"


def test_a_record_is_read_as_it_was_written() -> None:
    rng = np.random.default_rng(2)
    first = Familiar(
        rng.normal(size=16), rng.random(16) + 1, np.eye(16), (rng.random(3), rng.random(1)), Fraction(1, 10)
    )
    text = json.dumps(first.record())
    again = familiar_of(json.loads(text))
    assert json.dumps(again.record()) == text
    assert again.share == Fraction(1, 10)


@pytest.mark.parametrize(
    "damage",
    [
        lambda record: record.update(statistics=["brightness"]),
        lambda record: record.update(centre=record["centre"][1:]),
        lambda record: record.update(scale=[0.0] * 16),
        lambda record: record.update(precision=[[float("nan")] * 16] * 16),
        lambda record: record.update(distances=[]),
        lambda record: record.update(distances=[[]]),
        lambda record: record.update(share="1.5"),
        lambda record: record.update(share="x"),
    ],
)
def test_a_damaged_record_is_refused(damage: Callable[[dict[str, object]], None]) -> None:
    record = known([1.0], [2.0]).record()
    familiar_of(record)
    damage(record)
    with pytest.raises((ValueError, TypeError)):
        familiar_of(record)
