"""Remarks on test frames: repeated ones, a network that is surer of them than of others of their place."""

import math
from typing import Any

import pandas as pd

from reseed.artifacts.catalog import FRAMES
from reseed.artifacts.patches import SPLITS_TABLE
from reseed.artifacts.predictions import PATCH_PREDICTIONS
from reseed.audit.divided import equal_frames, memorised
from tests.unit.audit.history import blank


def table(table: Any, rows: list[dict[str, object]]) -> pd.DataFrame:
    return table.frame([blank(table) | row for row in rows])


def tables(p_test: float, p_fresh: float, *, sequence: str = "s", n_fresh: int = 6) -> tuple[pd.DataFrame, ...]:
    """Six test frames and some in no split, of one sequence unless said; each with one patch of gold Coral."""
    names = [(f"t{n}", "test", p_test + n / 1000, "s") for n in range(6)]
    names += [(f"n{n}", "none", p_fresh + n / 1000, sequence) for n in range(n_fresh)]
    patches = [
        {"patch_id": f"{f}#0", "frame_id": f, "split": split, "gold": "Coral", "p_coral": p, "predicted": "Coral"}
        for f, split, p, _ in names
    ]
    frames = [{"frame_id": f, "sequence": place} for f, _, _, place in names]
    splits = [{"frame_id": f, "split": split, "group": f"{place}-{split}"} for f, split, _, place in names]
    return table(PATCH_PREDICTIONS, patches), table(FRAMES, frames), table(SPLITS_TABLE, splits)


def test_a_network_that_is_surer_of_test_frames_is_remarked() -> None:
    (line,) = memorised(*tables(0.95, 0.5))
    # Mean loss of test frames: -mean(log 0.950 .. 0.955) = 0.0487, of the others -mean(log 0.500 .. 0.505) = 0.6882.
    assert "mean loss 0.049 on 6 test frames, 0.688 on 6 frames" in line
    assert math.isclose(-math.log(0.9525), 0.0487, abs_tol=1e-4)
    # All six losses are smaller than all six others: p = 1 / C(12, 6) = 1 / 924 = 0.0011.
    assert "(p 0.0011)" in line
    assert "may have learnt the test frames" in line


def test_a_network_that_is_as_sure_of_others_is_not() -> None:
    (line,) = memorised(*tables(0.8, 0.8))
    assert "may have learnt" not in line


def test_where_there_are_no_other_frames_of_the_place_nothing_is_said() -> None:
    assert list(memorised(*tables(0.95, 0.5, sequence="elsewhere"))) == []
    assert list(memorised(*tables(0.95, 0.5, n_fresh=4))) == []


def test_test_frames_of_equal_bytes_stand_together() -> None:
    frames = table(
        FRAMES, [{"frame_id": name, "sha256": digest} for name, digest in zip("abcdef", "112231", strict=True)]
    )
    assert equal_frames(frames, set("abcde")) == [["a", "b"], ["c", "d"]]
    assert equal_frames(frames, {"a", "c"}) == []
