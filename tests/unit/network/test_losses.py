import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from reseed.network.epochs import focal_loss, inverse_class_weights, make_loss

ONES = torch.ones(3, dtype=torch.float64)


def test_focal_loss_by_hand() -> None:
    # Probabilities of the gold class: 1/2 and 1/4 (logits are logs of them).
    # gamma 2: (1 - 1/2)^2 * ln 2 = 0.25 * 0.693147 = 0.173287; (1 - 1/4)^2 * ln 4 = 0.5625 * 1.386294 = 0.779791.
    # Weighted 1 and 3: (0.173287 + 3 * 0.779791) / 2 = 1.256329.
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], dtype=torch.float64))
    labels = torch.tensor([0, 2])
    assert focal_loss(logits, labels, ONES, 2.0).item() == pytest.approx((0.173287 + 0.779791) / 2, abs=1e-6)
    weights = torch.tensor([1.0, 1.0, 3.0], dtype=torch.float64)
    assert focal_loss(logits, labels, weights, 2.0).item() == pytest.approx(1.256329, abs=1e-6)


def test_without_focus_it_is_weighted_cross_entropy_averaged_over_patches() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, 3, (20,), generator=generator)
    weights = torch.tensor([0.2, 0.8, 2.0], dtype=torch.float64)
    expected = functional.cross_entropy(logits, labels, weight=weights, reduction="none").mean()
    for loss in (make_loss("cross_entropy", 2.0, 0.0, weights), make_loss("focal", 0.0, 0.0, weights)):
        assert loss(logits, labels).item() == pytest.approx(expected.item(), abs=1e-12)
    assert make_loss("focal", 2.0, 0.0, weights)(logits, labels) < expected


@settings(deadline=None)  # torch's first call takes longer than the rest
@given(st.lists(st.floats(-30, 30), min_size=3, max_size=3), st.integers(0, 2), st.floats(0, 5))
def test_focus_never_raises_the_loss(logits: list[float], label: int, gamma: float) -> None:
    batch, gold = torch.tensor([logits], dtype=torch.float64), torch.tensor([label])
    focused = focal_loss(batch, gold, ONES, gamma).item()
    assert 0 <= focused <= focal_loss(batch, gold, ONES, 0.0).item() + 1e-12
    assert math.isfinite(focused)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0])
def test_a_certain_prediction_has_a_finite_gradient(gamma: float) -> None:
    logits = torch.tensor([[200.0, 0.0, 0.0]], requires_grad=True)
    (gradient,) = torch.autograd.grad(focal_loss(logits, torch.tensor([0]), torch.ones(3), gamma), logits)
    assert torch.isfinite(gradient).all()


def test_inverse_weights_by_hand() -> None:
    # Counts 10, 5, 2: inverses 0.1, 0.2, 0.5 have mean 0.8 / 3; divided by it: 0.375, 0.75, 1.875, with mean 1.
    np.testing.assert_allclose(inverse_class_weights(np.array([10, 5, 2])), [0.375, 0.75, 1.875])


def test_smoothed_labels_by_hand() -> None:
    # Probabilities 0.5, 0.25, 0.25; a tenth of the label is spread: 0.9333 on the first class, 0.0333 on each other.
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25]], dtype=torch.float64))
    expected = -(28 / 30 * math.log(0.5) + 2 / 30 * math.log(0.25))
    loss = make_loss("cross_entropy", 2.0, 0.1, ONES)(logits, torch.tensor([0]))
    assert loss.item() == pytest.approx(expected, abs=1e-12)
