from typing import get_args

import numpy as np
import pytest
import torch
from torch import nn

from reseed.network.model import LAST_LAYER, Network, build_backbone, feature_width, to_unit
from reseed.params.train import TrainParams


def test_every_backbone_that_can_be_asked_for_is_there() -> None:
    assert set(LAST_LAYER) == set(get_args(TrainParams.model_fields["backbone"].annotation))


@pytest.mark.parametrize("name", sorted(LAST_LAYER))
def test_network_has_the_head_of_the_paper_in_place_of_the_last_layer(name: str) -> None:
    torch.manual_seed(0)
    network = Network(name, bn_momentum=0.3).eval()
    with torch.inference_mode():
        pooled = network.backbone(torch.rand(2, 3, 32, 32))
        assert pooled.shape == (2, feature_width(name))
        assert network(torch.rand(2, 3, 40, 32)).shape == (2, 3)
    first, relu, dropout, last = network.head
    assert isinstance(first, nn.Linear)
    assert isinstance(last, nn.Linear)
    assert first.weight.shape == (512, pooled.shape[1])
    assert last.weight.shape == (3, 512)
    assert isinstance(relu, nn.ReLU)
    assert isinstance(dropout, nn.Dropout)
    assert dropout.p == 0.15
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    assert norms
    assert {norm.momentum for norm in norms} == {0.3}
    convolutions = [module.weight for module in network.modules() if isinstance(module, nn.Conv2d)]
    assert all(weight.is_contiguous(memory_format=torch.channels_last) for weight in convolutions)


def test_momentum_of_torchvision_stays_where_none_is_given() -> None:
    norms = [m for m in Network("mobilenet_v3_small").modules() if isinstance(m, nn.BatchNorm2d)]
    assert {norm.momentum for norm in norms} == {0.01}


def test_images_are_normalised_inside() -> None:
    # Against the published constants: (x - mean) / std for each channel.
    network = Network("resnet18").eval()
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    by_hand = (images.numpy() - mean[None, :, None, None]) / std[None, :, None, None]
    with torch.inference_mode():
        expected = network.head(network.backbone(torch.from_numpy(by_hand.astype(np.float32))))
        torch.testing.assert_close(network(images), expected, rtol=1e-4, atol=1e-5)
    assert not {"mean", "std"} & set(network.state_dict())


def test_stored_patches_become_channels_first_shares_of_full_scale() -> None:
    stored = torch.tensor([[[[0, 51, 255]]]], dtype=torch.uint8)
    unit = to_unit(stored)
    assert unit.shape == (1, 3, 1, 1)
    assert unit.flatten().tolist() == pytest.approx([0, 0.2, 1])
    assert to_unit(torch.zeros(2, 5, 4, 3, dtype=torch.uint8)).is_contiguous(memory_format=torch.channels_last)


def test_the_last_layer_of_torchvision_is_gone_and_what_stands_before_it_stays() -> None:
    for name, last in LAST_LAYER.items():
        with torch.device("meta"):
            keys = build_backbone(name).state_dict()
        assert not [key for key in keys if key.startswith(f"{last}.")]
    # MobileNetV3 has a layer of 1024 before its last one, as in the published checkpoints.
    assert feature_width("mobilenet_v3_small") == 1024
    assert "classifier.0.weight" in build_backbone("mobilenet_v3_small").state_dict()
