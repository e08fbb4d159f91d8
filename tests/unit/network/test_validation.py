import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from reseed.network.training import macro_f1


def test_by_hand_with_a_class_that_is_absent() -> None:
    # gold 0 0 1 1, predicted 0 1 1 1: class 0 has tp 1, fp 0, fn 1: 2 / 3; class 1 tp 2, fp 1, fn 0: 4 / 5;
    # class 2 neither: 0. Mean (0.666667 + 0.8 + 0) / 3 = 0.488889.
    gold, predicted = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    assert macro_f1(predicted, gold) == pytest.approx(0.488889, abs=1e-6)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=50))
def test_it_is_the_macro_f1_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    predicted, gold = np.array(pairs).T
    expected = f1_score(gold, predicted, labels=[0, 1, 2], average="macro", zero_division=0)
    assert macro_f1(predicted, gold) == pytest.approx(expected, abs=1e-12)
