import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.metrics import log_loss

from reseed.base.errors import ModelError, ReseedError
from reseed.engines.predictions import fit_temperature, uncalibrated


def overconfident(seed: int, by: float, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Logits `by` times as sharp as the chances the labels are drawn with."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (n, 3))
    chances = np.exp(log_softmax(logits, axis=1))
    gold = np.array([rng.choice(3, p=row) for row in chances])
    return by * logits, gold


def test_a_planted_temperature_is_found() -> None:
    logits, gold = overconfident(0, 2.5, n=6000)
    found = fit_temperature(logits, gold)
    assert found.temperature == pytest.approx(2.5, rel=0.08)
    assert found.loss_after < found.loss_before
    assert found.record()["validation_patches"] == 6000


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.floats(0.3, 4))
def test_equals_a_search_by_scipy(seed: int, by: float) -> None:
    logits, gold = overconfident(seed, by)

    def loss(temperature: float) -> float:
        return float(-log_softmax(logits / temperature, axis=1)[np.arange(len(gold)), gold].mean())

    expected = minimize_scalar(loss, bounds=(0.05, 20), method="bounded", options={"xatol": 1e-7})
    found = fit_temperature(logits, gold)
    assert found.temperature == pytest.approx(expected.x, rel=1e-3)
    assert found.loss_after == pytest.approx(expected.fun, abs=1e-8)
    assert found.loss_before == pytest.approx(log_loss(gold, np.exp(log_softmax(logits, axis=1)), labels=[0, 1, 2]))
    before, after = uncalibrated().probabilities(logits), found.probabilities(logits)
    np.testing.assert_allclose(after, np.exp(log_softmax(logits / found.temperature, axis=1)), atol=1e-6)
    clear = np.abs(np.diff(np.sort(before, axis=1)[:, 1:], axis=1))[:, 0] > 1e-4
    assert (before.argmax(axis=1) == after.argmax(axis=1))[clear].all()


def test_all_right_ends_at_the_sharpest() -> None:
    assert fit_temperature(np.eye(3), np.arange(3)).temperature == pytest.approx(1 / 20)


def test_nothing_to_fit_on_and_broken_logits_are_errors() -> None:
    with pytest.raises(ReseedError, match=r"predict\.calibrate is temperature, but no validation patch"):
        fit_temperature(np.zeros((0, 3)), np.array([], dtype=np.int64))
    with pytest.raises(ModelError, match="no finite number"):
        fit_temperature(np.full((2, 3), np.nan), np.array([0, 1]))
