from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import average_precision_score, confusion_matrix, mean_absolute_error, mean_squared_error, r2_score

from reseed.score.alpha import decisions
from reseed.score.alpha_curve import (
    AlphaCurve,
    alpha_curve,
    alpha_interval,
    average_precision,
    cheapest_alpha,
    expected_costs,
)
from reseed.score.plots import cover_errors, quartiles


def curve(deploy: list[int], gold: list[int]) -> AlphaCurve:
    n = np.full(len(deploy), 28)
    return alpha_curve("val", np.array(deploy, dtype=np.int64), n, np.array(gold, dtype=np.int64))


def test_fourteen_of_twenty_eight_at_one_half_is_no_deploy() -> None:
    assert decisions(np.array([14, 15]), np.array([28, 28]), 0.5).tolist() == [False, True]
    assert curve([14], [0]).n_deployed[50] == 0
    assert curve([14], [0]).n_deployed[49] == 1


def test_costs_by_hand() -> None:
    # 7, 14, 21 of 28 (0.25, 0.5, 0.75), the middle one No-Deploy; a false Deploy costs 3, a missed one 1.
    # alpha < 0.25: all deploy, one false: 3/3. From 0.25: the first is missed too: 4/3. From 0.5: 1/3. From 0.75: 2/3.
    found = curve([7, 14, 21], [1, 0, 1])
    costs = expected_costs(found, 3.0, 1.0)
    assert costs[[0, 24, 25, 49, 50, 74, 75, 100]] == pytest.approx(np.array([3, 3, 4, 4, 1, 1, 2, 2]) / 3)
    assert cheapest_alpha(found, costs) == Fraction(62, 100)  # equally cheap from 0.50 to 0.74
    assert cheapest_alpha(found, expected_costs(found, 1.0, 5.0)) == Fraction(12, 100)  # from 0.00 to 0.24
    assert np.isnan(expected_costs(curve([], []), 1.0, 1.0)).all()


@settings(max_examples=30, deadline=None)
@given(arrays(np.int64, 12, elements=st.integers(0, 28)), arrays(np.int64, 12, elements=st.integers(0, 1)))
def test_costs_equal_a_count_by_scikit_learn(deploy: np.ndarray, gold: np.ndarray) -> None:
    costs = expected_costs(curve(deploy.tolist(), gold.tolist()), 2.0, 7.0)
    for step in (0, 10, 33, 50, 99):
        matrix = confusion_matrix(gold, deploy * 100 > step * 28, labels=[0, 1])
        assert costs[step] == pytest.approx((2 * matrix[0, 1] + 7 * matrix[1, 0]) / 12)


def test_average_precision_by_hand() -> None:
    # 0.9 yes, 0.8 no, 0.8 yes, 0.1 no: recall 1/2 at precision 1/1, then 2/2 at 2/3: 1/2 + 1/2 * 2/3.
    score = np.array([0.1, 0.8, 0.9, 0.8])
    assert average_precision(np.array([False, True, True, False]), score) == pytest.approx(1 / 2 + 1 / 3)
    assert np.isnan(average_precision(np.zeros(4, dtype=bool), score))


@settings(max_examples=40, deadline=None)
@given(arrays(np.bool_, 25), arrays(np.int64, 25, elements=st.integers(0, 6)))
def test_average_precision_equals_scikit_learn(positive: np.ndarray, score: np.ndarray) -> None:
    if positive.any():
        assert average_precision(positive, score / 6) == pytest.approx(average_precision_score(positive, score / 6))


def test_cover_errors_equal_scikit_learn_and_by_hand() -> None:
    # Errors +10, -20, +30, 0 points: bias 5, MAE 15, RMSE sqrt(1400 / 4).
    table = pd.DataFrame({"annotated": [10.0, 50.0, 20.0, 80.0], "predicted": [20.0, 30.0, 50.0, 80.0]})
    found = cover_errors(table)
    assert (found.n, found.bias, found.mae) == (4, pytest.approx(0.05), pytest.approx(0.15))
    assert found.rmse == pytest.approx(np.sqrt(0.14 / 4))
    assert found.mae == pytest.approx(mean_absolute_error(table["annotated"], table["predicted"]) / 100)
    assert found.rmse == pytest.approx(np.sqrt(mean_squared_error(table["annotated"], table["predicted"])) / 100)
    assert found.r2 == pytest.approx(r2_score(table["annotated"], table["predicted"]))
    assert np.isnan(cover_errors(pd.DataFrame({"annotated": [5.0, 5.0], "predicted": [5.0, 9.0]})).r2)


def test_quartiles_by_hand() -> None:
    assert quartiles(np.arange(1.0, 9.0)).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert quartiles(np.array([np.nan, 3.0, 1.0, np.nan])).tolist() == [0, 4, 1, 0]
    assert quartiles(np.full(5, 2.0)).tolist() == [1] * 5  # equal values stay together
    assert quartiles(np.full(3, np.nan)).tolist() == [0] * 3


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-5, 5).map(lambda value: round(value, 2)), min_size=8, max_size=40, unique=True))
def test_quartiles_are_quarters_in_order(values: list[float]) -> None:
    found = quartiles(np.array(values))
    assert (np.diff(found[np.argsort(values)]) >= 0).all()
    counts = np.bincount(found, minlength=5)[1:]
    assert counts.max() - counts.min() <= 1


def test_the_interval_of_alpha_by_hand() -> None:
    # Six groups, each a Deploy frame (20 of 28) and a No-Deploy frame (7 of 28): right from 0.25 to 0.71 in any draw.
    deploy, gold = np.array([20, 7] * 6), np.array([1, 0] * 6)
    groups = [f"g{index // 2}" for index in range(12)]
    found = alpha_interval(deploy, np.full(12, 28), gold, groups, 300, 0)
    assert (found.low, found.high, found.clusters) == (0.48, 0.48, 6)
    # Where a group is decided by another threshold, resamples with and without it choose otherwise.
    deploy[0] = 9
    wide = alpha_interval(deploy, np.full(12, 28), gold, groups, 300, 0)
    assert wide.low < 0.48 <= wide.high
    few = alpha_interval(deploy[:4], np.full(4, 28), gold[:4], groups[:4], 300, 0)
    assert "an interval needs at least 5" in few.reason
