from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from reseed.base.errors import ParamsError
from reseed.network.model import Network, state_bytes
from reseed.network.precision import DepthwiseConv, computing_in, prepare_for, resolve_precision
from reseed.network.training import FitResult, fit
from reseed.params.train import TrainParams
from tests.unit.network.conftest import Reef

CPU = torch.device("cpu")
Make = Callable[..., TrainParams]


@pytest.mark.parametrize(("amx", "meant"), [(True, "bfloat16"), (False, "float32")])
def test_auto_is_bfloat16_only_where_the_processor_has_units_for_it(
    monkeypatch: pytest.MonkeyPatch, *, amx: bool, meant: str
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    assert resolve_precision("auto", CPU) == meant
    assert [resolve_precision(asked, CPU) for asked in ("float32", "bfloat16")] == ["float32", "bfloat16"]


def test_auto_is_float32_where_torch_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "_is_amx_tile_supported", raising=False)
    assert resolve_precision("auto", CPU) == "float32"


def test_bfloat16_is_refused_where_it_cannot_train() -> None:
    with pytest.raises(ParamsError, match=r"train\.precision: got 'bfloat16'.* allowed here: auto, float32"):
        resolve_precision("bfloat16", torch.device("mps"))
    assert resolve_precision("auto", torch.device("mps")) == "float32"


@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (5, 1), (5, 2)])
def test_depthwise_gradients_are_those_of_float32(kernel: int, stride: int) -> None:
    torch.manual_seed(0)
    exact = nn.Conv2d(8, 8, kernel, stride, kernel // 2, groups=8, bias=False)
    features = torch.randn(2, 8, 12, 12).bfloat16().float()  # numbers that bfloat16 can hold
    with torch.no_grad():
        exact.weight.copy_(exact.weight.bfloat16())
    ours = DepthwiseConv(8, 8, kernel, stride, kernel // 2, groups=8, bias=False)
    ours.load_state_dict(exact.state_dict())

    def gradients(layer: nn.Conv2d, given: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        given = given.clone().requires_grad_()
        found = layer(given)
        found.backward(torch.ones_like(found))
        assert given.grad is not None
        assert layer.weight.grad is not None
        return found.float(), given.grad.float(), layer.weight.grad

    for theirs, mine in zip(gradients(exact, features), gradients(ours, features.bfloat16()), strict=True):
        # 8 bits of mantissa: the last of them is 1/256 of the largest number summed.
        assert torch.allclose(mine, theirs, rtol=2**-7, atol=2**-7 * float(theirs.detach().abs().max()))
    assert ours.weight.grad is not None
    assert torch.equal(ours.weight.grad, exact.weight.grad)  # the sums over the picture are not rounded at all
    assert torch.equal(ours(features), exact(features))  # in float32 it is the layer it was


def test_only_depthwise_layers_of_a_bfloat16_training_on_a_cpu_change() -> None:
    for precision, device, changed in (("float32", "cpu", 0), ("bfloat16", "cuda", 0), ("bfloat16", "cpu", 11)):
        network = Network("mobilenet_v3_small")
        before = list(network.state_dict())
        prepare_for(precision, network, torch.device(device))
        assert sum(isinstance(module, DepthwiseConv) for module in network.modules()) == changed
        assert list(network.state_dict()) == before


def test_a_batch_runs_in_the_precision_asked_for() -> None:
    layer, batch = nn.Linear(4, 2), torch.ones(1, 4)
    for precision, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        with computing_in(precision, CPU):
            assert layer(batch).dtype == dtype
    assert layer(batch).dtype == torch.float32


@pytest.mark.slow
def test_training_in_bfloat16_learns_and_repeats_itself(reef: Reef, train_params: Make) -> None:
    def train(precision: str, epochs: int) -> FitResult:
        params = train_params(precision=precision, epochs=epochs)
        return fit(reef.images, reef.labels, reef.train_rows, reef.val_rows, params, {})

    learnt = train("bfloat16", 4)
    assert learnt.history[-1].train_loss < 0.85 * learnt.history[0].train_loss
    state = learnt.network.state_dict()
    assert {tensor.dtype for tensor in state.values() if tensor.is_floating_point()} == {torch.float32}
    short = [state_bytes(train(precision, 1).network.state_dict()) for precision in ("bfloat16", "bfloat16", "float32")]
    assert short[0] == short[1]
    assert short[0] != short[2]
