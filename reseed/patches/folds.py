"""Every group held out in turn: how much a score depends on which reef is left out."""

from dataclasses import dataclass
from typing import Final, Literal

import pandas as pd

from reseed.artifacts.splits import TEST, TRAIN
from reseed.base.errors import SplitError
from reseed.params.split import SplitParams
from reseed.patches.splits import divide

GroupBy = Literal["site", "sequence"]
_LEAST_GROUPS: Final = 3


@dataclass(frozen=True)
class Fold:
    """One group held out.

    Args:
        group: The held-out group, whose frames are the test split.
        splits: frame_id -> train, val or test.
    """

    group: str
    splits: dict[str, str]


def hold_out_each(frames: pd.DataFrame, weights: pd.DataFrame, group_by: GroupBy, params: SplitParams) -> list[Fold]:
    """Hold every group out once; validation is cut from the remaining groups, whole groups again.

    Args:
        frames: Table FRAMES; a split that the data brings is not used here.
        weights: Index frame_id, one column per label that validation should have its share of.
        group_by: What is held out and never divided.
        params: Section `split`; its val_fraction and seed are used.

    Returns:
        One fold for each group, sorted by group.

    Raises:
        SplitError: If there are too few groups to train, choose and test on different ones.
    """
    groups = sorted(set(frames[group_by]))
    if len(groups) < _LEAST_GROUPS:
        raise SplitError(
            f"--group {group_by}: {len(groups)} group(s) ({', '.join(groups)}); training, validation and test need one "
            f"each, so at least {_LEAST_GROUPS}: hold out something finer (sequence) or bring more data"
        )
    by_group = params.model_copy(update={"group_by": group_by})
    return [
        Fold(group, divide(frames.assign(given_split=_given(frames[group_by], group)), weights, by_group).splits)
        for group in groups
    ]


def _given(groups: pd.Series, held_out: str) -> list[str]:
    return [TEST if group == held_out else TRAIN for group in groups]
