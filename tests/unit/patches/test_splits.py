import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reseed.base.errors import SplitError
from reseed.params.split import SplitParams
from reseed.patches.splits import divide


def params(**changes: object) -> SplitParams:
    values: dict[str, object] = {
        "group_by": "site",
        "val_fraction": 0.25,
        "test_fraction": 0.25,
        "block_frames": 40,
        "guard_frames": 1,
        "seed": 0,
    }
    return SplitParams.model_validate(values | changes)


def frames(counts: dict[str, int], given_split: str = "") -> pd.DataFrame:
    """Frames of sequences `site/sequence`, as many as `counts` says."""
    rows = [
        {
            "frame_id": f"{sequence}/{i:04d}.jpg",
            "site": sequence.split("/")[0],
            "sequence": sequence,
            "captured_at": "",
            "given_split": given_split,
        }
        for sequence, n in counts.items()
        for i in range(n)
    ]
    return pd.DataFrame(rows)


def no_labels(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(index=table["frame_id"])


@pytest.mark.parametrize("group_by", ["site", "sequence", "frame"])
def test_no_group_is_divided_and_fractions_hold(group_by: str) -> None:
    table = frames({f"site{s}/seq{q}": 5 for s in range(8) for q in range(2)})
    found = divide(table, no_labels(table), params(group_by=group_by))
    key = table["frame_id"] if group_by == "frame" else table[group_by]
    of_group = pd.Series(found.splits).reindex(table["frame_id"]).groupby(key.to_numpy()).nunique()
    assert (of_group == 1).all()
    # 80 frames: a quarter each to val and test
    assert Counter(found.splits.values()) == {"train": 40, "val": 20, "test": 20}


def test_too_few_groups_is_an_error_that_says_what_to_do() -> None:
    table = frames({"a/1": 5, "b/1": 5})
    with pytest.raises(SplitError, match=r"site gives 2 group\(s\) \(a, b\).*finer split.group_by"):
        divide(table, no_labels(table), params())
    with pytest.raises(SplitError, match="more frames are needed"):
        divide(table[:2], no_labels(table[:2]), params(group_by="frame"))


def test_labels_are_spread_over_the_splits() -> None:
    # Deploy at 3 of 9 sites only: an even division puts one of them into each split.
    table = frames({f"site{s}/q": 4 for s in range(9)})
    weights = pd.DataFrame({"Deploy": [float(i // 4 < 3) for i in range(36)]}, index=table["frame_id"])
    found = divide(table, weights, params(val_fraction=1 / 3, test_fraction=1 / 3))
    with_deploy = {found.splits[frame_id] for frame_id in weights.index[weights["Deploy"] > 0]}
    assert with_deploy == {"train", "val", "test"}
    assert found.remarks == ()


def test_a_class_missing_from_a_split_is_said() -> None:
    table = frames({f"site{s}/q": 4 for s in range(4)})
    weights = pd.DataFrame({"Deploy": [float(i < 4) for i in range(16)]}, index=table["frame_id"])
    found = divide(table, weights, params())
    assert len(found.remarks) == 2  # one site has it: two splits are without
    assert all("no Deploy in" in remark for remark in found.remarks)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(7, 60), min_size=1, max_size=4), st.integers(0, 2), st.integers(7, 50))
def test_blocks_are_runs_with_guards_and_every_sequence_gives_to_every_split(
    lengths: list[int], guard: int, block: int
) -> None:
    table = frames({f"s/{i}": n for i, n in enumerate(lengths)})
    found = divide(table, no_labels(table), params(group_by="block", guard_frames=guard, block_frames=block))
    for _, part in table.groupby("sequence"):
        order = [found.splits[frame_id] for frame_id in part["frame_id"]]
        assert set(order) - {"none"} == {"train", "val", "test"}
        kept = [(i, split) for i, split in enumerate(order) if split != "none"]
        for (i, left), (j, right) in itertools.pairwise(kept):
            assert left == right or j - i > guard
            if found.groups[part["frame_id"].iloc[i]] == found.groups[part["frame_id"].iloc[j]]:
                assert left == right
                assert j == i + 1


def test_a_sequence_too_short_for_its_blocks_is_named() -> None:
    table = frames({"s/short": 4})
    with pytest.raises(SplitError, match=r"sequence s/short: a stretch of 4 frame\(s\)"):
        divide(table, no_labels(table), params(group_by="block"))


def test_a_given_split_is_kept_and_val_is_cut_from_train_by_group() -> None:
    train, test = frames({f"site{s}/q": 4 for s in range(4)}, "train"), frames({"far/q": 4}, "test")
    table = pd.concat([train, test])
    found = divide(table, no_labels(table), params())
    splits = pd.Series(found.splits)
    assert (splits[test["frame_id"]] == "test").all()
    of_site = splits[train["frame_id"]].groupby(train["site"].to_numpy()).unique()
    assert Counter(str(values[0]) for values in of_site) == {"train": 3, "val": 1}  # a quarter of 4 sites
    assert all(len(values) == 1 for values in of_site)


def test_order_of_rows_does_not_matter_and_the_seed_does() -> None:
    table = frames({f"site{s}/q": 3 for s in range(9)})
    shuffled = table.sample(frac=1, random_state=1)
    one = divide(table, no_labels(table), params(seed=1))
    assert one == divide(shuffled, no_labels(shuffled), params(seed=1))
    others = [divide(table, no_labels(table), params(seed=seed)).splits for seed in range(2, 6)]
    assert any(other != one.splits for other in others)
    assert np.all([Counter(other.values()) == Counter(one.splits.values()) for other in others])
