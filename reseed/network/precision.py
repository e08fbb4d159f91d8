"""Training in bfloat16, where the processor has units for it: half the memory traffic, which is most of the time.

Weights, sums of gradients and the loss stay in float32, and so does everything outside of training.
"""

from typing import Any, Final

import torch
from torch import Tensor, nn

from reseed.base.errors import ParamsError

FLOAT32: Final = "float32"
BFLOAT16: Final = "bfloat16"
_BACKWARD = torch.ops.aten.convolution_backward


def resolve_precision(asked: str, device: torch.device) -> str:
    """Return what `train.precision` means on this machine.

    Args:
        asked: `auto` (bfloat16 where the device has matrix units for it), `float32` or `bfloat16`.
        device: Where the network is trained.

    Raises:
        ParamsError: If bfloat16 is asked of a device without it.
    """
    there = _has_bfloat16(device)
    if asked == BFLOAT16 and device.type == "mps":
        raise ParamsError(
            "train.precision: got 'bfloat16', which device mps does not train in; allowed here: auto, float32"
        )
    if asked == "auto":
        return BFLOAT16 if there else FLOAT32
    return asked


def _has_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # On processors that only have instructions for it, and no matrix units, it was not measured to be faster.
    amx = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return device.type == "cpu" and amx is not None and bool(amx())


def prepare_for(precision: str, network: nn.Module, device: torch.device) -> None:
    """Let depthwise layers learn in float32 on a CPU: oneDNN takes up to fifty times longer for it in bfloat16."""
    if precision == BFLOAT16 and device.type == "cpu":
        for module in network.modules():
            if isinstance(module, nn.Conv2d) and module.groups > 1:
                module.__class__ = DepthwiseConv


def computing_in(precision: str, device: torch.device) -> torch.autocast:
    """Return the context in which a training batch runs forward."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == BFLOAT16)


class DepthwiseConv(nn.Conv2d):
    """A depthwise convolution that runs forward in the precision of its input, and backward in float32."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  # torch's name
        """Return what `nn.Conv2d` returns."""
        if input.dtype != torch.bfloat16:
            return super().forward(input)
        result: Tensor = _Depthwise.apply(input, self.weight, self)
        return result


class _Depthwise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, layer: nn.Conv2d) -> Tensor:
        ctx.save_for_backward(features, weight)
        ctx.layer = layer
        return torch.conv2d(
            features, weight.to(features.dtype), None, layer.stride, layer.padding, layer.dilation, layer.groups
        )

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        features, weight = ctx.saved_tensors
        layer = ctx.layer
        geometry = (layer.stride, layer.padding, layer.dilation, False, (0, 0), layer.groups, (True, True, False))
        to_features, to_weight, _ = _BACKWARD(gradients[0].float(), features.float(), weight, None, *geometry)
        return to_features.to(features.dtype), to_weight, None
