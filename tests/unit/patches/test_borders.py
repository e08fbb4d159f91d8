"""The look at the frames at the borders of splits inside the pipeline."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter

from reseed.artifacts.catalog import FRAMES, PIECES
from reseed.artifacts.leakage import leakage_sentence, read_leakage, write_leakage
from reseed.base.errors import TableError
from reseed.patches import leakage
from reseed.patches.leakage import border_pairs, look_at_borders

EDGE = 192


def seabed(seed: int) -> np.ndarray:
    noise = gaussian_filter(np.random.default_rng(seed).normal(size=(EDGE, 900)), 1.5)
    gray = (128 + 60 * noise / noise.std()).clip(0, 255).astype(np.uint8)
    return gray[..., None].repeat(3, axis=2)


def tow(raw: Path, steps: dict[str, tuple[int, int]], **columns: object) -> pd.DataFrame:
    """Write frames of 336 x 192 px, each from a seabed and a place along it."""
    rows = []
    for number, (name, (seed, x)) in enumerate(steps.items()):
        buffer = io.BytesIO()
        Image.fromarray(seabed(seed)[:, x : x + 336]).save(buffer, "JPEG", quality=90)
        (raw / name).parent.mkdir(parents=True, exist_ok=True)
        (raw / name).write_bytes(buffer.getvalue())
        rows.append(
            {
                "frame_id": name, "source": "s", "site": "s", "sequence": "s/tow", "width_px": 336, "height_px": EDGE,
                "captured_at": "", "latitude_deg": np.nan, "longitude_deg": np.nan, "water_depth_m": np.nan,
                "altitude_m": np.nan, "sha256": f"{seed}-{x}-{number}", "synthetic": 0, "given_split": "",
            } | {key: values[number] for key, values in columns.items()}  # type: ignore[index]
        )  # fmt: skip
    return FRAMES.frame(rows)


def test_shared_seafloor_across_a_guard_is_seen_with_its_share(tmp_path: Path) -> None:
    # One seabed; f_10 begins 84 px, a quarter of a frame, further than f_9: three quarters are shared.
    frames = tow(tmp_path, {"f_9.jpg": (1, 0), "f_10.jpg": (1, 84), "f_11.jpg": (2, 0)})
    splits = {"f_9.jpg": "train", "f_10.jpg": "test", "f_11.jpg": "val"}
    found = look_at_borders(frames, PIECES.frame([]), splits, tmp_path, guard_frames=0)
    assert (found.frames, found.pairs, found.of_pairs) == (3, 3, 3)
    assert (found.overlapping, found.neighbours, found.test_frames_shared) == (1, 2, 1)
    worst = found.worst[0]
    assert (worst.first, worst.second, worst.kinds) == (
        "f_10.jpg",
        "f_9.jpg",
        ("close neighbours", "overlapping views"),
    )
    assert worst.share_pct == pytest.approx(75, abs=2)
    write_leakage(found, tmp_path / "leakage.json")
    assert leakage_sentence(read_leakage(tmp_path / "leakage.json")) == (
        "3 of 3 pairs of frames in different splits compared: 1 seen to share seafloor, 2 of close neighbours, "
        f"up to {worst.share_pct:.0f} % of a frame"
    )
    guarded = look_at_borders(frames, PIECES.frame([]), splits | {"f_10.jpg": "none"}, tmp_path, guard_frames=1)
    assert guarded.pairs == 1  # f_9 and f_11; a frame in no split counts for nothing
    assert guarded.overlapping == 0


def test_one_split_has_no_border(tmp_path: Path) -> None:
    frames = tow(tmp_path, {"a.jpg": (1, 0), "b.jpg": (1, 10)})
    found = look_at_borders(frames, PIECES.frame([]), dict.fromkeys(frames["frame_id"], "train"), tmp_path, 0)
    assert (found.frames, found.pairs, found.of_pairs, found.worst) == (0, 0, 0, ())
    assert leakage_sentence({**found.__dict__}).endswith("no shared seafloor seen")


def numbered(n: int, **columns: object) -> pd.DataFrame:
    blank = {
        "source": "s",
        "site": "s",
        "sequence": "t",
        "captured_at": "",
        "latitude_deg": np.nan,
        "longitude_deg": np.nan,
    }
    return pd.DataFrame([{"frame_id": f"f_{i}"} | blank for i in range(n)]).assign(**columns)


def test_the_nearest_in_their_sequence_come_first_and_the_number_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = numbered(2_000)
    splits = {f"f_{i}": "train" if i < 1_000 else "test" for i in range(2_000)}
    pairs = border_pairs(frames, splits, guard_frames=1)
    assert pairs[0] == ("f_1000", "f_999")
    # At most 1 + 5 frames apart across the border: 1 + 2 + ... + 6 pairs.
    assert len(pairs) == 21
    monkeypatch.setattr(leakage, "MOST_BORDER_PAIRS", 4)
    assert border_pairs(frames, splits, guard_frames=1) == pairs[:4]


def test_frames_of_other_tows_that_are_near_in_place_are_compared() -> None:
    # A ten-thousandth of a degree is 11 m; the tows are the same way, there and back.
    latitude = [-9.5 + 1e-4 * i for i in range(100)]
    frames = numbered(
        200, sequence=["a"] * 100 + ["b"] * 100, latitude_deg=latitude + latitude[::-1], longitude_deg=143.0
    )
    splits = {f"f_{i}": "train" if i < 100 else "test" for i in range(200)}
    pairs = border_pairs(frames, splits, guard_frames=1)
    assert ("f_0", "f_199") in pairs
    assert all(len(set(pair)) == 2 for pair in pairs)
    assert len(pairs) >= 100


def test_twenty_thousand_frames_at_one_place_take_no_time() -> None:
    frames = numbered(20_000, latitude_deg=-9.5, longitude_deg=143.0)
    splits = {f"f_{i}": ("train", "val", "test")[i % 3] for i in range(20_000)}
    pairs = border_pairs(frames, splits, guard_frames=1)
    assert len({name for pair in pairs for name in pair}) <= leakage.MOST_BORDER_FRAMES + 1
    assert len(pairs) <= leakage.MOST_BORDER_PAIRS


def test_a_damaged_record_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "leakage.json").write_text("{}")
    with pytest.raises(TableError, match="dvc repro -f split"):
        read_leakage(tmp_path / "leakage.json")
