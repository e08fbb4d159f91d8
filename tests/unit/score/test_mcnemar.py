import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar

from reseed.base.errors import TableError
from reseed.score.paired import mcnemar_exact


def test_by_hand() -> None:
    first = np.array([True, True, True, True, False, False, False])
    second = np.array([True, False, False, False, True, False, False])
    found = mcnemar_exact(first, second)
    assert (found.both_right, found.only_first, found.only_second, found.neither) == (1, 3, 1, 2)
    # of 4: P(0 or 1) = (1 + 4) / 16, both tails 10/16
    assert found.p == pytest.approx(0.625)


def test_right_on_the_same_items_gives_1() -> None:
    assert mcnemar_exact(np.array([True, False]), np.array([True, False])).p == 1.0


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_against_statsmodels(pairs: list[tuple[bool, bool]]) -> None:
    first, second = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    found = mcnemar_exact(first, second)
    table = [[found.both_right, found.only_first], [found.only_second, found.neither]]
    assert np.sum(table) == len(pairs)
    assert found.p == pytest.approx(mcnemar(table, exact=True).pvalue)
    assert found.p == pytest.approx(mcnemar_exact(second, first).p)


def test_misfits() -> None:
    with pytest.raises(TableError, match="one pair for each item"):
        mcnemar_exact(np.array([True]), np.array([True, False]))
    with pytest.raises(TableError, match="one pair for each item"):
        mcnemar_exact(np.array([], dtype=bool), np.array([], dtype=bool))
