import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from reseed.base.errors import TableError
from reseed.score.baselines import agree, cohen_kappa


def test_kappa_by_hand() -> None:
    # 50 items: both yes 20, both no 15, 5 and 10 apart. Observed 35/50 = 0.7.
    # Expected 25/50 * 30/50 + 25/50 * 20/50 = 0.5. Kappa (0.7 - 0.5) / 0.5 = 0.4.
    assert float(cohen_kappa(np.array([[20, 5], [10, 15]]))) == pytest.approx(0.4)


@settings(max_examples=40, deadline=None)
@given(arrays(np.int64, (2, 30), elements=st.integers(0, 2)))
def test_equals_scikit_learn_and_statsmodels(answers: np.ndarray) -> None:
    first, second = answers
    found = agree(first, second, np.arange(30).astype(str), 3, 50, 0)
    assert found.agreement == pytest.approx((first == second).mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both warn of 0/0, which is asked for here
        expected = cohen_kappa_score(first, second, labels=[0, 1, 2])
        other = cohens_kappa(found.confusion).kappa
    assert found.kappa == pytest.approx(expected, nan_ok=True)
    assert found.kappa == pytest.approx(other, nan_ok=True)


def test_the_interval_of_independent_items_equals_the_asymptotic_one() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 1500)
    second = np.where(rng.random(1500) < 0.75, first, rng.integers(0, 3, 1500))
    found = agree(first, second, np.arange(1500).astype(str), 3, 5000, 0)
    expected = cohens_kappa(found.confusion)
    interval = found.intervals["kappa"]
    assert (interval.low, interval.high) == pytest.approx((expected.kappa_low, expected.kappa_upp), abs=0.004)


def test_undefined_kappa_and_batches() -> None:
    batch = cohen_kappa(np.array([[[4, 0], [0, 0]], [[2, 0], [0, 2]], [[0, 0], [0, 0]]]))
    assert np.isnan(batch[[0, 2]]).all()
    assert batch[1] == 1.0
    with pytest.raises(TableError, match="no item is labelled in both tables"):
        agree(np.array([], dtype=np.int64), np.array([], dtype=np.int64), [], 2, 10, 0)
