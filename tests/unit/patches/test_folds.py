import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reseed.base.errors import SplitError
from reseed.params.split import SplitParams
from reseed.patches.splits import hold_out_each

PARAMS = SplitParams(group_by="block", val_fraction=0.25, test_fraction=0.25, block_frames=40, guard_frames=1, seed=0)


def frames(sites: list[int]) -> pd.DataFrame:
    rows = [
        {
            "frame_id": f"s{site}/f{n}",
            "site": f"s{site}",
            "sequence": f"s{site}/q{n % 2}",
            "captured_at": "",
            "given_split": "train",
        }
        for site, count in enumerate(sites)
        for n in range(count)
    ]
    return pd.DataFrame(rows)


def weights(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"Deploy": 1.0}, index=table["frame_id"])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=3, max_size=5))
def test_every_group_is_tested_once_and_nothing_is_divided(sites: list[int]) -> None:
    table = frames(sites)
    folds = hold_out_each(table, weights(table), "site", PARAMS)
    assert [fold.group for fold in folds] == sorted(set(table["site"]))
    for fold in folds:
        assert set(fold.splits) == set(table["frame_id"])
        by_site: dict[str, set[str]] = {}
        for frame, split in fold.splits.items():
            by_site.setdefault(frame.split("/")[0], set()).add(split)
        assert all(len(splits) == 1 for splits in by_site.values())
        assert [site for site, splits in by_site.items() if splits == {"test"}] == [fold.group]
        assert {split for splits in by_site.values() for split in splits} == {"train", "val", "test"}


def test_by_sequence() -> None:
    table = frames([2, 2])
    folds = hold_out_each(table, weights(table), "sequence", PARAMS)
    assert [fold.group for fold in folds] == ["s0/q0", "s0/q1", "s1/q0", "s1/q1"]
    assert folds[0].splits["s0/f0"] == "test"
    assert folds[0].splits["s0/f1"] != "test"


def test_too_few_groups() -> None:
    table = frames([4, 4])
    with pytest.raises(SplitError, match=r"--group site: 2 group\(s\) \(s0, s1\); .* at least 3"):
        hold_out_each(table, weights(table), "site", PARAMS)
