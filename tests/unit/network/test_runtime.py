import pytest
import torch
from torch import nn

from reseed.base.errors import ParamsError
from reseed.network.runtime import training_precision

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_bfloat16_is_for_gpus(device: str) -> None:
    with pytest.raises(
        ParamsError, match=rf"got 'bfloat16', .* train\.device is {device}; allowed here: auto, float32"
    ):
        training_precision("bfloat16", torch.device(device))


@pytest.mark.parametrize("asked", ["auto", "float32"])
def test_a_processor_computes_in_float32(asked: str) -> None:
    layer = nn.Linear(4, 2)
    with training_precision(asked, CPU):
        assert layer(torch.ones(1, 4)).dtype == torch.float32


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@pytest.mark.parametrize(("asked", "dtype"), [("auto", torch.bfloat16), ("float32", torch.float32)])
def test_a_gpu_computes_in_what_is_asked(asked: str, dtype: torch.dtype) -> None:
    layer = nn.Linear(4, 2).to(CUDA)
    with training_precision(asked, CUDA):
        assert layer(torch.ones(1, 4, device=CUDA)).dtype == dtype
