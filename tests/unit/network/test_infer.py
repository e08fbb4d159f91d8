import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax as scipy_softmax
from torch import Tensor, nn

from reseed.base.errors import ModelError
from reseed.base.probabilities import predicted_classes, softmax
from reseed.engines.predictions import prediction_rows
from reseed.network.model import Network, network_logits
from reseed.network.patch_set import PatchSet
from tests.unit.network.conftest import Reef

CPU = torch.device("cpu")


class Recorder(nn.Module):
    """Answers with the first pixel, so that an answer tells which patch it belongs to."""

    def __init__(self) -> None:
        super().__init__()
        self.lengths: list[int] = []

    def forward(self, images: Tensor) -> Tensor:
        self.lengths.append(len(images))
        assert not self.training
        return images[:, :, 0, 0] * 255


def numbered(total: int) -> npt.NDArray[np.uint8]:
    images = np.zeros((total, 4, 4, 3), np.uint8)
    images[:, 0, 0, 0] = np.arange(total)
    return images


@settings(deadline=None)  # torch's first call takes longer than the rest
@given(st.integers(1, 60), st.integers(1, 70))
def test_every_patch_is_answered_once_in_its_place_whatever_the_batch(total: int, batch_size: int) -> None:
    network = Recorder()
    logits = network_logits(network, numbered(total), batch_size, CPU)
    np.testing.assert_allclose(logits[:, 0], np.arange(total), atol=1e-4)
    assert sum(network.lengths) == total
    assert max(network.lengths) <= batch_size


def test_chosen_rows_come_in_the_order_asked() -> None:
    logits = network_logits(Recorder(), numbered(30), 4, CPU, rows=np.array([29, 3, 3, 0, 12]))
    np.testing.assert_allclose(logits[:, 0], [29, 3, 3, 0, 12], atol=1e-4)


def test_images_on_disk_give_the_same_and_a_network_in_training_is_evaluated(tmp_path: object, reef: Reef) -> None:
    path = f"{tmp_path}/patches.npy"
    np.save(path, reef.images)
    torch.manual_seed(0)
    network = Network("mobilenet_v3_small").train()
    mapped = softmax(network_logits(network, np.load(path, mmap_mode="r"), 50, CPU))
    assert not network.training
    np.testing.assert_array_equal(mapped, softmax(network_logits(network.eval(), reef.images, 50, CPU)))
    np.testing.assert_allclose(mapped, softmax(network_logits(network, reef.images, 168, CPU)), atol=2e-5)


def test_softmax_is_that_of_scipy_rounded_as_tables_are() -> None:
    logits = np.random.default_rng(0).normal(0, 5, (50, 3))
    logits[0] = [1000, 0, -1000]
    np.testing.assert_array_equal(softmax(logits), np.round(scipy_softmax(logits, axis=1), 6))


def test_classes_follow_the_rounded_probabilities_with_ties_to_the_lower_index() -> None:
    # ln(1.0000001) apart: 0.33333337 and 0.33333332 both round to 0.333333, so the lower index wins.
    near = softmax(np.array([[0.0, 1e-7, 0.0], [0.0, 0.0, 1e-7], [-9, 0.0, 1e-7], [0.0, 0.0, 0.1]]))
    assert predicted_classes(near).tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_output_that_is_no_number_is_an_error(value: float) -> None:
    logits = np.zeros((4, 3))
    logits[2, 1] = value
    with pytest.raises(ModelError, match=r"no finite number for 1 of 4 patches \(first: row 2\)"):
        softmax(logits)


def test_broken_weights_are_an_error(reef: Reef) -> None:
    network = Network("mobilenet_v3_small")
    with torch.no_grad():
        network.state_dict()["head.3.bias"][1] = float("nan")
    with pytest.raises(ModelError, match="168 of 168"):
        softmax(network_logits(network, reef.images, 64, CPU))


def test_rows_of_the_prediction_table() -> None:
    patches = PatchSet(
        patch_ids=np.array(["a#1", "a#2", "b#1"], object),
        frame_ids=np.array(["a", "a", "b"], object),
        gold=np.array([2, -1, 0]),
        split=np.array(["train", "train", "none"], object),
    )
    images = np.zeros((3, 4, 4, 3), np.uint8)
    images[1, 0, 0] = [0, 9, 0]
    rows = prediction_rows(patches, softmax(network_logits(Recorder(), images, 2, CPU)))
    # e^9 / (e^9 + 2) = 8103.0839 / 8105.0839 = 0.999753, each of the others 0.000123.
    assert rows[1] == {
        "patch_id": "a#2",
        "frame_id": "a",
        "split": "train",
        "gold": "",
        "p_no_deploy": 0.000123,
        "p_coral": 0.999753,
        "p_deploy": 0.000123,
        "predicted": "Coral",
    }
    assert [row["predicted"] for row in rows] == ["No-Deploy", "Coral", "No-Deploy"]
    assert [row["gold"] for row in rows] == ["Deploy", "", "No-Deploy"]
