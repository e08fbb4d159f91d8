from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter1d
from torch import Tensor

from reseed.network.patch_set import Augmentation, augment, epoch_generator, gaussian_blur

NOTHING = Augmentation(flip=0, red_shift=0, contrast=0, brightness=0, blur=0)
EVERYTHING = Augmentation(flip=0.5, red_shift=0.3, contrast=0.5, brightness=0.5, blur=0.5)


@pytest.fixture
def images() -> Tensor:
    batch = torch.rand((40, 12, 10, 3), generator=torch.Generator().manual_seed(0))
    return (0.4 + 0.2 * batch).permute(0, 3, 1, 2)  # away from 0 and 1, so that nothing is cut off


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_nothing_asked_changes_nothing(images: Tensor) -> None:
    assert torch.allclose(augment(images, NOTHING, generator()), images, atol=1e-6)


def test_certain_flip_mirrors_both_ways(images: Tensor) -> None:
    flipped = augment(images, replace(NOTHING, flip=1), generator())
    assert torch.allclose(flipped, images.flip(2, 3), atol=1e-6)


def test_flip_takes_half_of_the_patches_each_way() -> None:
    ramp = torch.arange(16.0).view(1, 1, 4, 4).expand(4000, 3, 4, 4) / 16
    corners = augment(ramp, replace(NOTHING, flip=0.5), generator())[:, 0, 0, 0] * 16
    shares = [(corners.round() == corner).float().mean().item() for corner in (0, 3, 12, 15)]
    assert shares == pytest.approx([0.25] * 4, abs=0.03)


def test_red_shift_moves_red_alone_and_stays_within_its_range(images: Tensor) -> None:
    moved = augment(images, replace(NOTHING, red_shift=0.1), generator()) - images
    assert torch.allclose(moved[:, 1:], torch.zeros(()), atol=1e-6)
    shift = moved[:, 0].mean(dim=(1, 2))
    assert torch.allclose(moved[:, 0], shift[:, None, None].expand(-1, 12, 10), atol=1e-6)
    assert shift.abs().max() <= 0.1 + 1e-6
    assert shift.min() < -0.05
    assert shift.max() > 0.05


def test_contrast_stretches_about_the_patch_mean(images: Tensor) -> None:
    changed = augment(images, replace(NOTHING, contrast=0.5), generator())
    mean = images.mean(dim=(1, 2, 3), keepdim=True)
    assert torch.allclose(changed.mean(dim=(1, 2, 3), keepdim=True), mean, atol=1e-5)
    gain = changed.std(dim=(1, 2, 3)) / images.std(dim=(1, 2, 3))
    assert torch.allclose(changed, mean + gain[:, None, None, None] * (images - mean), atol=1e-5)
    assert 0.5 - 1e-4 <= gain.min() < 0.8
    assert 1.2 < gain.max() <= 1.5 + 1e-4


def test_brightness_scales_every_channel_alike(images: Tensor) -> None:
    ratio = augment(images, replace(NOTHING, brightness=0.2), generator()) / images
    assert torch.allclose(ratio, ratio[:, :1, :1, :1].expand_as(ratio), atol=1e-4)
    assert 0.8 - 1e-4 <= ratio.min() < 0.9
    assert 1.1 < ratio.max() <= 1.2 + 1e-4


def test_red_shift_then_contrast_then_brightness_by_hand() -> None:
    # One flat patch (0.2, 0.4, 0.6), red moved by r, then its mean (1.2 + r) / 3 is the pivot of the contrast.
    patch = torch.tensor([0.2, 0.4, 0.6]).view(1, 3, 1, 1).expand(1, 3, 4, 4)
    draws = torch.rand((7, 1), generator=generator())
    r, c, b = (
        float(0.1 * (2 * draws[2] - 1)),
        float(1 + 0.1 * (2 * draws[3] - 1)),
        float(1 + 0.1 * (2 * draws[4] - 1)),
    )
    pivot = (1.2 + r) / 3
    expected = [b * (pivot + c * (value - pivot)) for value in (0.2 + r, 0.4, 0.6)]
    changed = augment(patch, replace(NOTHING, red_shift=0.1, contrast=0.1, brightness=0.1), generator())
    assert changed[0, :, 2, 2].tolist() == pytest.approx(expected, abs=1e-6)


def test_blur_is_the_gaussian_of_scipy(images: Tensor) -> None:
    sigmas = torch.linspace(0.5, 1.5, len(images))
    expected = [
        gaussian_filter1d(
            gaussian_filter1d(image, s, axis=1, mode="mirror", radius=2), s, axis=2, mode="mirror", radius=2
        )
        for image, s in zip(images.numpy(), sigmas.tolist(), strict=True)
    ]
    np.testing.assert_allclose(gaussian_blur(images, sigmas).numpy(), np.stack(expected), atol=1e-5)


def test_blur_chooses_patches_by_chance(images: Tensor) -> None:
    changed = augment(images, replace(NOTHING, blur=0.5), generator())
    touched = (changed - images).abs().amax(dim=(1, 2, 3)) > 1e-4
    assert 10 <= int(touched.sum()) <= 30


def test_values_stay_in_range_and_in_channels_last_memory() -> None:
    extreme = torch.randint(0, 2, (30, 8, 8, 3), generator=generator()).float().permute(0, 3, 1, 2)
    changed = augment(extreme, EVERYTHING, generator())
    assert changed.min() >= 0
    assert changed.max() <= 1
    assert changed.is_contiguous(memory_format=torch.channels_last)
    assert set(extreme.flatten().tolist()) == {0.0, 1.0}, "the input was changed"


def test_each_patch_changes_in_its_own_way() -> None:
    same = torch.rand((1, 3, 8, 8), generator=generator()).expand(12, 3, 8, 8)
    changed = augment(same, EVERYTHING, generator())
    assert len({tuple(image.flatten().tolist()) for image in changed}) == 12


def test_the_same_stream_repeats_and_the_next_epoch_differs(images: Tensor) -> None:
    first, again, following = (augment(images, EVERYTHING, epoch_generator(3, epoch)) for epoch in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.allclose(first, following)


def test_switching_one_change_off_leaves_the_draws_of_the_others(images: Tensor) -> None:
    streams = [generator(), generator()]
    for stream, settings in zip(streams, (NOTHING, EVERYTHING), strict=True):
        augment(images, settings, stream)
    assert torch.equal(streams[0].get_state(), streams[1].get_state())
