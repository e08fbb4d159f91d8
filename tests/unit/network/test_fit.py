import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from torch import nn

from reseed.base.errors import ModelError, ParamsError, ReseedError
from reseed.base.probabilities import predicted_classes, softmax
from reseed.network.epochs import EpochScore, lr_factor, make_loss
from reseed.network.model import Network, count_heads, network_logits, state_bytes, to_unit
from reseed.network.runtime import resolve_device
from reseed.network.training import FitResult, curve_rows, fit, repeat_params, train_metrics
from reseed.params.train import TrainParams
from tests.unit.network.conftest import Reef

Make = Callable[..., TrainParams]


def train(reef: Reef, params: TrainParams) -> FitResult:
    return fit(reef.images, reef.labels, reef.train_rows, reef.val_rows, params, {})


def macro_f1(network: nn.Module, reef: Reef) -> float:
    predicted = predicted_classes(softmax(network_logits(network, reef.images, 48, torch.device("cpu"), reef.val_rows)))
    return float(f1_score(reef.labels[reef.val_rows], predicted, average="macro", zero_division=0))


def test_same_parameters_same_bytes_and_another_seed_others(reef: Reef, train_params: Make) -> None:
    bytes_by_seed = [state_bytes(train(reef, train_params(seed=seed)).network.state_dict()) for seed in (0, 0, 1)]
    assert bytes_by_seed[0] == bytes_by_seed[1]
    assert bytes_by_seed[0] != bytes_by_seed[2]


def test_what_surrounds_a_training_neither_changes_it_nor_is_changed(reef: Reef, train_params: Make) -> None:
    params = train_params(epochs=1)
    first = state_bytes(train(reef, params).network.state_dict())
    torch.manual_seed(77)
    expected_draw, before = torch.rand(1, generator=torch.Generator().manual_seed(77)), torch.get_num_threads()
    assert state_bytes(train(reef, params).network.state_dict()) == first
    assert torch.rand(1) == expected_draw
    assert torch.get_num_threads() == before
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.fixture(scope="module")
def trained(reef: Reef) -> tuple[TrainParams, FitResult]:
    from tests.unit.network.conftest import TRAIN_VALUES  # noqa: PLC0415  # the fixture that makes params is per test

    params = TrainParams.model_validate(TRAIN_VALUES | {"epochs": 12})
    return params, train(reef, params)


def test_an_easy_reef_is_learnt_from_scratch(trained: tuple[TrainParams, FitResult]) -> None:
    assert trained[1].best.val_macro_f1 > 0.85
    assert trained[1].history[-1].train_loss < trained[1].history[0].train_loss / 3


def test_running_statistics_score_like_batch_statistics(trained: tuple[TrainParams, FitResult], reef: Reef) -> None:
    network = trained[1].network
    by_running = macro_f1(network, reef)
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    kept = [(norm.running_mean, norm.running_var) for norm in norms]
    for norm in norms:
        norm.running_mean = norm.running_var = None  # then evaluation mode normalises by the batch itself
    by_batch = macro_f1(network, reef)
    for norm, (mean, var) in zip(norms, kept, strict=True):
        norm.running_mean, norm.running_var = mean, var
    assert abs(by_running - by_batch) <= 0.05


def test_the_best_epoch_is_the_network_that_comes_back(trained: tuple[TrainParams, FitResult], reef: Reef) -> None:
    result = trained[1]
    assert result.best.val_macro_f1 == max(score.val_macro_f1 for score in result.history)
    assert result.best == next(s for s in result.history if s.val_macro_f1 == result.best.val_macro_f1)
    assert macro_f1(result.network, reef) == pytest.approx(result.best.val_macro_f1, abs=1e-12)
    assert not result.network.training


def test_a_later_equal_epoch_is_not_better_and_patience_ends_training(reef: Reef, train_params: Make) -> None:
    # With next to no learning every epoch scores the same: the first stays the best, and two more are waited for.
    result = train(reef, train_params(lr=1e-12, epochs=9, patience=2, bn_momentum=1e-9))
    assert len({score.val_macro_f1 for score in result.history}) == 1
    assert (result.best.epoch, len(result.history)) == (1, 3)


def test_learning_rate_falls_on_a_plateau(reef: Reef, train_params: Make) -> None:
    result = train(
        reef, train_params(lr=1e-12, epochs=4, bn_momentum=1e-9, lr_patience=1, lr_factor=0.1, batch_size=60)
    )
    # Epoch 1 is the best; two epochs without a better one are one more than lr_patience allows.
    assert [score.lr for score in result.history] == pytest.approx([1e-12, 1e-12, 1e-12, 1e-13], rel=1e-6, abs=0)


def test_inverse_weights_reach_the_loss(reef: Reef, train_params: Make) -> None:
    rare = replace(reef, train_rows=np.concatenate([reef.train_rows[:90], reef.train_rows[90::3]]))
    plain, weighted = (
        train(rare, train_params(epochs=1, sampler="none", class_weights=weights, loss="cross_entropy"))
        for weights in ("none", "inverse")
    )
    assert plain.train_counts.tolist() == [40, 30, 30]
    assert plain.history[0].train_loss != weighted.history[0].train_loss


def test_a_class_without_training_patch_is_named(reef: Reef, train_params: Make) -> None:
    rows = reef.train_rows[reef.labels[reef.train_rows] != 2]
    message = (
        "no labelled training patch of class Deploy; labelled patches in split train: No-Deploy 40, Coral 40, Deploy 0"
    )
    with pytest.raises(ReseedError, match=re.escape(message)):
        train(replace(reef, train_rows=rows), train_params())


def test_no_validation_patch_is_an_error(reef: Reef, train_params: Make) -> None:
    with pytest.raises(ReseedError, match="no labelled patch in split val"):
        train(replace(reef, val_rows=reef.val_rows[:0]), train_params())


def test_divergence_is_an_error(reef: Reef, train_params: Make) -> None:
    state = Network("mobilenet_v3_small").backbone.state_dict()
    state["features.0.0.weight"] = torch.full_like(state["features.0.0.weight"], torch.nan)
    with pytest.raises(ModelError, match=r"diverged in epoch 1: the loss is nan; lower train\.lr"):
        fit(reef.images, reef.labels, reef.train_rows, reef.val_rows, train_params(), state)


def test_training_starts_from_the_given_weights(reef: Reef, train_params: Make) -> None:
    torch.manual_seed(5)
    start = Network("mobilenet_v3_small").backbone.state_dict()
    result = fit(reef.images, reef.labels, reef.train_rows, reef.val_rows, train_params(lr=1e-12, epochs=1), start)
    kept = result.network.backbone.state_dict()
    for name, tensor in start.items():
        if name.endswith("weight"):
            torch.testing.assert_close(kept[name], tensor)


def test_a_device_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert [resolve_device(asked, "train.device").type for asked in ("auto", "cpu")] == ["cpu", "cpu"]
    for absent in ("cuda", "mps"):
        with pytest.raises(ParamsError, match=rf"train\.device: got '{absent}'.*allowed here: auto, cpu"):
            resolve_device(absent, "train.device")


def test_files_for_people_hold_percent(reef: Reef) -> None:
    scores = (EpochScore(1, 1e-7, 0.5, 0.25, 1 / 3, 0.5), EpochScore(2, 1e-7, 0.4, 0.2, 2 / 3, 0.75))
    network = Network("mobilenet_v3_small")
    counts = np.array([5, 3, 2]), np.array([1, 0, 3])
    result = FitResult(network, torch.device("cpu"), scores, scores[1], *counts)
    assert train_metrics(result) == {
        "best_epoch": 2,
        "epochs": 2,
        "val": {"macro_f1": 66.6667, "accuracy": 75.0, "loss": 0.2, "n": 4},
        "train": {"loss": 0.4, "n": 10, "n_no_deploy": 5, "n_coral": 3, "n_deploy": 2},
    }
    assert curve_rows(scores)[0] == {
        "epoch": 1,
        "lr": "1e-07",
        "train_loss": 0.5,
        "val_loss": 0.25,
        "val_macro_f1": 33.3333,
        "val_accuracy": 50.0,
    }


def test_the_cosine_schedule_by_hand() -> None:
    # Ten steps, two of them up: 1/2, 1, then half a cosine over the eight left: from 1 to cos(7/8 pi) = -0.92388.
    factors = [lr_factor(step, 10, 0.2) for step in range(10)]
    assert factors[:3] == [0.5, 1.0, 1.0]
    assert factors[6] == pytest.approx(0.5)
    assert factors[9] == pytest.approx((1 - 0.9238795) / 2, abs=1e-6)
    assert lr_factor(0, 10, 0.0) == 1.0


def test_the_cosine_schedule_keeps_the_last_epoch_and_needs_no_validation(reef: Reef, train_params: Make) -> None:
    params = train_params(schedule="cosine", warmup=0.1, epochs=3)
    with_val, without = train(reef, params), train(replace(reef, val_rows=reef.val_rows[:0]), params)
    assert with_val.best is with_val.history[-1]
    assert len(without.history) == 3
    assert np.isnan(without.best.val_macro_f1)
    assert state_bytes(with_val.network.state_dict()) == state_bytes(without.network.state_dict())


def test_a_frozen_backbone_stays_as_it_was_and_the_head_learns(reef: Reef, train_params: Make) -> None:
    torch.manual_seed(5)
    start = Network("mobilenet_v3_small").backbone.state_dict()
    params = train_params(schedule="cosine", freeze="backbone", epochs=1)
    result = fit(reef.images, reef.labels, reef.train_rows, reef.val_rows, params, start)
    for name, tensor in result.network.backbone.state_dict().items():
        assert torch.equal(tensor, start[name]), name
    before = fit(
        reef.images, reef.labels, reef.train_rows, reef.val_rows, params.model_copy(update={"lr": 1e-12}), start
    )
    assert not torch.equal(result.network.head[0].weight, before.network.head[0].weight)


def test_several_heads_learn_apart_and_their_logits_are_averaged(reef: Reef, train_params: Make) -> None:
    torch.manual_seed(5)
    start = Network("mobilenet_v3_small").backbone.state_dict()
    params = train_params(schedule="cosine", freeze="backbone", heads=3, epochs=2, lr=0.003)
    network = fit(reef.images, reef.labels, reef.train_rows, reef.val_rows, params, start).network
    assert count_heads(network.state_dict()) == 3
    images = to_unit(torch.from_numpy(reef.images[:40]))
    with torch.inference_mode():
        features = network.features(images)
        each = torch.stack([head(features) for head in network.head])
        assert torch.allclose(network(images), each.mean(dim=0), atol=1e-5)
    assert len({tuple(row.argmax(dim=1).tolist()) for row in each}) > 1, "the heads answer alike: they learnt the same"
    for name, tensor in network.backbone.state_dict().items():
        assert torch.equal(tensor, start[name]), name


def test_a_head_learns_beside_others_as_it_would_alone(reef: Reef, train_params: Make) -> None:
    """The gradient of one head is that of its own loss, whatever the others do."""
    torch.manual_seed(3)
    network = Network("mobilenet_v3_small", heads=2).eval()
    features, labels = torch.randn(2, 8, 1024), torch.randint(3, (2, 8))
    loss = make_loss("cross_entropy", 0.0, 0.1, torch.ones(3))
    (2 * loss(network.head.each(features).flatten(0, 1), labels.flatten())).backward()
    together = network.head[1][0].weight.grad.clone()
    network.zero_grad()
    loss(network.head[1](features[1]), labels[1]).backward()
    assert torch.allclose(together, network.head[1][0].weight.grad, atol=1e-7)


def test_frozen_statistics_stay_and_weights_learn(reef: Reef, train_params: Make) -> None:
    torch.manual_seed(5)
    start = Network("mobilenet_v3_small").backbone.state_dict()
    params = train_params(freeze="norm", epochs=1)
    kept = fit(reef.images, reef.labels, reef.train_rows, reef.val_rows, params, start).network.backbone.state_dict()
    for name, tensor in start.items():
        assert torch.equal(kept[name], tensor) == ("running" in name or "batches" in name), name


def test_averaged_weights_are_those_of_the_formula(reef: Reef, train_params: Make) -> None:
    # One step of one epoch: the average starts as the network after that step.
    params = train_params(schedule="cosine", epochs=1, batch_size=200)
    plain, averaged = (train(reef, params.model_copy(update={"ema": ema})) for ema in (0.0, 0.9))
    assert state_bytes(plain.network.state_dict()) == state_bytes(averaged.network.state_dict())
    longer = [train(reef, params.model_copy(update={"ema": ema, "epochs": 2})) for ema in (0.0, 0.9)]
    weights = [result.network.head[0].weight for result in longer]
    assert not torch.equal(*weights)


def test_repeats_differ_by_their_seed_alone(train_params: Make) -> None:
    params = train_params(seed=7)
    made = [repeat_params(params, repeat) for repeat in range(50)]
    assert made[0] == params
    assert len({each.seed for each in made}) == 50
    assert {each.model_copy(update={"seed": 7}) for each in made} == {params}
    assert {repeat_params(train_params(seed=8), repeat).seed for repeat in range(50)}.isdisjoint(
        each.seed for each in made
    )
