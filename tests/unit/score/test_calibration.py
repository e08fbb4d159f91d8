import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from reseed.score.calibration import BINS, reliability


def drawn(seed: int, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    probabilities = np.round(rng.dirichlet(np.ones(3), n), 6)
    return probabilities, np.array([rng.choice(3, p=row / row.sum()) for row in probabilities])


def test_by_hand() -> None:
    # Bin (0.8, 0.9]: 0.9 right and 0.84 wrong: accuracy 0.5, confidence 0.87, off by 0.37, half of the patches.
    # Bin (0.5, 0.6]: 0.6 right and 0.56 right: accuracy 1, confidence 0.58, off by 0.42. Error (0.37 + 0.42) / 2.
    # Brier: 0.01 + 0.01; 0.7056 + 0.8464 (1 - 0.08); 0.16 + 0.04 + 0.04; 0.1936 + 0.04 + 0.0576.
    probabilities = np.array([[0.9, 0.1, 0.0], [0.84, 0.08, 0.08], [0.2, 0.6, 0.2], [0.2, 0.24, 0.56]])
    found = reliability(probabilities, np.array([0, 1, 1, 2]), list("abcd"), 100, 0)
    assert found.n.tolist() == [0, 0, 0, 0, 0, 2, 0, 0, 2, 0]
    assert found.confidence[[5, 8]] == pytest.approx([0.58, 0.87])
    assert found.accuracy[[5, 8]] == pytest.approx([1.0, 0.5])
    assert np.isnan(found.accuracy[0])
    assert found.expected_error == pytest.approx((0.37 + 0.42) / 2)
    brier = (0.02 + (0.84**2 + 0.92**2 + 0.08**2) + 0.24 + (0.04 + 0.24**2 + 0.44**2)) / 4
    assert found.brier == pytest.approx(brier)
    assert found.over_confidence == pytest.approx((0.9 + 0.84 + 0.6 + 0.56) / 4 - 0.75)
    assert {interval.reason for interval in found.intervals} == {"4 clusters; an interval needs at least 5"}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_equals_scikit_learn(seed: int) -> None:
    probabilities, gold = drawn(seed)
    found = reliability(probabilities, gold, [str(index % 9) for index in range(len(gold))], 100, 0)
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == gold
    accuracy, confidence = calibration_curve(right, sure, n_bins=BINS, strategy="uniform")
    assert found.accuracy[found.n > 0] == pytest.approx(accuracy)
    assert found.confidence[found.n > 0] == pytest.approx(confidence)
    share = found.n[found.n > 0] / len(gold)
    assert found.expected_error == pytest.approx((share * np.abs(accuracy - confidence)).sum())
    assert found.brier == pytest.approx(
        brier_score_loss(gold, probabilities / probabilities.sum(axis=1, keepdims=True), labels=[0, 1, 2]), abs=1e-5
    )


def test_honest_probabilities_are_found_honest_and_intervals_hold_their_accuracy() -> None:
    probabilities, gold = drawn(0, 20_000)
    found = reliability(probabilities, gold, [str(index % 40) for index in range(len(gold))], 500, 0)
    assert found.expected_error < 0.02
    for interval, accuracy in zip(found.intervals, found.accuracy, strict=True):
        if interval.available:
            assert interval.low <= accuracy <= interval.high
    assert sum(interval.available for interval in found.intervals) >= 6
