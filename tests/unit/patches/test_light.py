import numpy as np
import pytest

from reseed.network import baselines as light
from reseed.network.baselines import frame_conditions, patch_light


def test_by_hand() -> None:
    # Patch 0: one white and one black pixel. Luma 255 and 0: mean 127.5, variance 127.5 ** 2, contrast 0.5.
    # Patch 1: red 100, blue 200 throughout. Luma 29.9 + 22.8 = 52.7.
    images = np.zeros((2, 1, 2, 3), np.uint8)
    images[0, 0, 0] = 255
    images[1, 0, :] = [100, 0, 200]
    found = patch_light(images)
    assert found.colour.tolist() == [[127.5] * 3, [100, 0, 200]]
    assert found.luma == pytest.approx([127.5, 52.7], abs=1e-4)
    rows = frame_conditions(found, np.repeat(images, 8, axis=1).repeat(4, axis=2), np.array(["b", "a"], object))
    assert [row["frame_id"] for row in rows] == ["a", "b"]
    assert rows[0]["blue_red_ratio"] == 2.0
    assert rows[0]["contrast"] == pytest.approx(0, abs=1e-3)
    assert rows[1]["contrast"] == pytest.approx(0.5)


def test_a_frame_is_measured_as_a_whole_whatever_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.random.default_rng(0).integers(0, 256, (10, 4, 5, 3)).astype(np.uint8)
    frames = np.array(["x"] * 6 + ["y"] * 4, object)
    monkeypatch.setattr(light, "_CHUNK", 3)
    rows = frame_conditions(patch_light(images), images.repeat(2, axis=1).repeat(2, axis=2), frames)
    for row, mine in zip(rows, (images[:6], images[6:]), strict=True):
        luma = mine.astype(np.float64) @ [0.299, 0.587, 0.114]
        assert row["contrast"] == pytest.approx(luma.std() / 255, abs=1e-5)
        assert row["blue_red_ratio"] == pytest.approx(mine[..., 2].mean() / mine[..., 0].mean())


def test_without_red_the_ratio_is_unknown() -> None:
    images = np.zeros((1, 8, 8, 3), np.uint8)
    rows = frame_conditions(patch_light(images), images, np.array(["dark"], object))
    assert np.isnan(rows[0]["blue_red_ratio"])
