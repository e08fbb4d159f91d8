import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reseed.network.patch_set import class_counts, draw_order, epoch_generator, split_batches


def test_counts_cover_absent_classes() -> None:
    assert class_counts(np.array([0, 0, 2])).tolist() == [2, 0, 1]


def test_without_sampler_every_patch_comes_once() -> None:
    labels = np.array([0] * 7 + [1] * 2 + [2])
    order = draw_order(labels, "none", epoch_generator(0, 1))
    assert sorted(order.tolist()) == list(range(10))
    assert order.tolist() != list(range(10))


def test_balanced_sampler_draws_every_class_equally_often() -> None:
    labels = np.array([0] * 8000 + [1] * 900 + [2] * 100)
    drawn = labels[draw_order(labels, "balanced", epoch_generator(0, 1)).numpy()]
    # 9000 draws, a third each: standard deviation sqrt(9000 * 1/3 * 2/3) = 45.
    assert np.abs(class_counts(drawn) - 3000).max() < 4 * 45


def test_epochs_differ_and_seeds_differ_and_both_repeat() -> None:
    labels = np.tile(np.arange(3), 30)
    orders = [
        tuple(draw_order(labels, "balanced", epoch_generator(seed, epoch)).tolist())
        for seed, epoch in ((0, 1), (0, 2), (1, 1), (0, 1))
    ]
    assert orders[0] == orders[3]
    assert len(set(orders)) == 3


@settings(deadline=None)  # torch's first call takes longer than the rest
@given(st.integers(3, 400), st.integers(2, 70))
def test_batches_cover_the_epoch_and_none_is_a_single_patch(total: int, batch_size: int) -> None:
    batches = split_batches(torch.arange(total), batch_size)
    assert torch.equal(torch.cat(batches), torch.arange(total))
    lengths = [len(batch) for batch in batches]
    assert min(lengths) >= 2
    assert max(lengths) <= max(batch_size, 3)
    assert max(lengths) - min(lengths) <= 1
