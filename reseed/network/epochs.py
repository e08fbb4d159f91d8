"""What training minimises, and what changes from epoch to epoch: weights, optimiser, learning rate.

All of it can be stored and taken up again.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from reseed.base.errors import ModelError
from reseed.network.model import Heads, Network
from reseed.params.train import TrainParams

Loss = Callable[[Tensor, Tensor], Tensor]


def make_loss(kind: str, gamma: float, smoothing: float, weights: Tensor) -> Loss:
    """Return the loss of a batch as a function of logits (N, C) and labels (N,) int64.

    Args:
        kind: `focal` or `cross_entropy`.
        gamma: Focusing strength of the focal loss, 0 or more.
        smoothing: Share of each label that is spread over all classes, 0 to 1; of cross-entropy only.
        weights: (C,) weight of each class.
    """

    def loss(logits: Tensor, labels: Tensor) -> Tensor:
        # Precision first, then device: not every accelerator has float64.
        on_device = weights.to(logits.dtype).to(logits.device)
        if kind == "focal":
            return focal_loss(logits, labels, on_device, gamma)
        losses = functional.cross_entropy(logits, labels, reduction="none", label_smoothing=smoothing)
        return (on_device[labels] * losses).mean()

    return loss


def focal_loss(logits: Tensor, labels: Tensor, weights: Tensor, gamma: float) -> Tensor:
    """Return the mean of -w_y (1 - p_y)**gamma log(p_y); gamma 0 is weighted cross-entropy.

    The mean is over patches, not over weights: otherwise a batch of one class would cancel that class's weight.
    Lin et al. 2017, arXiv:1708.02002, eq. 5.

    Args:
        logits: (N, C) float.
        labels: (N,) int64, 0 to C - 1.
        weights: (C,) float.
        gamma: 0 or more.

    Returns:
        Scalar, 0 or more.
    """
    log_p = functional.log_softmax(logits, dim=1).gather(1, labels[:, None]).squeeze(1)
    losses = -weights[labels] * log_p
    if gamma > 0:
        # 1 - p as -expm1(log p) is exact near p = 1; the floor keeps the gradient of a power below 1 finite at 0.
        losses = losses * (-torch.expm1(log_p)).clamp_min(1e-12) ** gamma
    return losses.mean()


def inverse_class_weights(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return weights proportional to 1 / count with mean 1.

    Args:
        counts: (C,) training patches of each class, all above 0.

    Returns:
        (C,) float64.
    """
    inverse = 1.0 / counts
    weights: npt.NDArray[np.float64] = inverse / inverse.mean()
    return weights


COSINE = "cosine"


@dataclass(frozen=True)
class EpochScore:
    """One epoch.

    Args:
        epoch: From 1.
        lr: Learning rate used, of the first step under schedule plateau, of the last under cosine.
        train_loss: Mean over the (augmented, drawn) training patches.
        val_loss: Mean over the validation patches, same loss; NaN where there are none, as the next two.
        val_macro_f1: 0 to 1.
        val_accuracy: 0 to 1.
    """

    epoch: int
    lr: float
    train_loss: float
    val_loss: float
    val_macro_f1: float
    val_accuracy: float


class Learner:
    """A network in training.

    Args:
        network: On its device.
        loss: What is minimised.
        params: Section `train`.
        steps: Of one epoch.
    """

    def __init__(self, network: Network, loss: Loss, params: TrainParams, steps: int) -> None:
        self.network = network
        self.history: list[EpochScore] = []
        self._loss, self._params, self._steps = loss, params, steps
        kind = torch.optim.AdamW if params.optimiser == "adamw" else torch.optim.Adam
        on_fused = next(network.parameters()).device.type in {"cpu", "cuda"}
        groups: list[dict[str, Any]] = [{"params": network.head.parameters(), "lr": params.lr * params.head_lr}]
        if params.freeze == "backbone":
            network.backbone.requires_grad_(requires_grad=False)
        else:
            groups.insert(0, {"params": network.backbone.parameters(), "lr": params.lr})
        self._highest: list[float] = [group["lr"] for group in groups]
        self._optimiser = kind(groups, weight_decay=params.weight_decay, fused=on_fused)
        self._plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self._optimiser,
            mode="max",
            factor=params.lr_factor,
            patience=params.lr_patience,
            threshold=0.0,
            threshold_mode="abs",
            eps=0.0,
        )
        self._average = (
            AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(params.ema), use_buffers=True)  # type: ignore[no-untyped-call]  # torch's
            if params.ema
            else None
        )
        self._kept: dict[str, Tensor] = {}

    @property
    def judged(self) -> nn.Module:
        """What is validated and kept: the network, or the average of its weights."""
        return self.network if self._average is None else self._average.module

    @property
    def best(self) -> EpochScore:
        """The epoch that is kept: the last under schedule cosine, else the first of the highest macro F1."""
        if self._params.schedule == COSINE:
            return self.history[-1]
        return max(self.history, key=lambda score: score.val_macro_f1)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or too many passed without a better score."""
        done = len(self.history)
        waits = self._params.schedule != COSINE and done > 0 and done - self.best.epoch >= self._params.patience
        return done >= self._params.epochs or waits

    def learn(self, batches: Iterator[tuple[Tensor, Tensor]], computing: torch.autocast) -> tuple[float, float]:
        """Go once over the training patches and return the mean loss and the learning rate.

        Args:
            batches: Images (N, 3, H, W) and labels (N,); of several heads features (heads, N, W) and labels (heads, N).
            computing: The precision.

        Raises:
            ModelError: If the loss is no longer finite.
        """
        self.network.train()
        if self._params.freeze == "backbone":
            self.network.backbone.eval()
        elif self._params.freeze == "norm":
            for module in self.network.modules():
                if isinstance(module, nn.BatchNorm2d):
                    module.eval()
        head = self.network.head
        total, seen, step = 0.0, 0, self._steps * len(self.history)
        for batch, gold in batches:
            if self._params.schedule == COSINE:
                factor = lr_factor(step, self._steps * self._params.epochs, self._params.warmup)
                for group, highest in zip(self._optimiser.param_groups, self._highest, strict=True):
                    group["lr"] = highest * factor
            self._optimiser.zero_grad(set_to_none=True)
            with computing:
                logits = head.each(batch).flatten(0, 1) if isinstance(head, Heads) else self.network(batch)
            batch_loss = self._loss(logits.float(), gold.flatten())
            value = float(batch_loss.detach())
            if not np.isfinite(value):
                epoch = len(self.history) + 1
                raise ModelError(f"training diverged in epoch {epoch}: the loss is {value}; lower train.lr")
            # The mean over heads, so times their number: each learns as it would alone.
            (batch_loss * self._params.heads if self._params.heads > 1 else batch_loss).backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
            self._optimiser.step()
            if self._average is not None:
                self._average.update_parameters(self.network)
            total, seen, step = total + value * gold.numel(), seen + gold.numel(), step + 1
        return total / seen, float(self._optimiser.param_groups[0]["lr"])

    def note(self, score: EpochScore) -> None:
        """Take note of what an epoch gave, keep its weights if they are the best and set the next learning rate."""
        self.history.append(score)
        if self.best is score:
            self._kept = {name: tensor.detach().clone() for name, tensor in self.judged.state_dict().items()}
        if self._params.schedule != COSINE and not self.finished:
            self._plateau.step(score.val_macro_f1)

    def result(self) -> Network:
        """Return the network with the weights that are kept, in evaluation mode."""
        self.network.load_state_dict(self._kept)
        self.network.eval()
        return self.network

    def state(self) -> dict[str, Any]:
        """Return everything that the next epoch depends on; tensors, numbers and names only."""
        finished: dict[str, Any] = {"history": [astuple(score) for score in self.history], "kept": self._kept}
        if self.finished:
            return finished
        cuda = next(self.network.parameters()).is_cuda
        return finished | {
            "network": self.network.state_dict(),
            "average": {} if self._average is None else self._average.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "plateau": self._plateau.state_dict(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state() if cuda else torch.empty(0, dtype=torch.uint8),
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on where `state` was taken."""
        self.history = [EpochScore(*score) for score in state["history"]]
        self._kept = state["kept"]
        if self.finished:
            return
        self.network.load_state_dict(state["network"])
        if self._average is not None:
            self._average.load_state_dict(state["average"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._plateau.load_state_dict(state["plateau"])
        torch.set_rng_state(state["random"].cpu())
        if len(state["random_cuda"]):
            torch.cuda.set_rng_state(state["random_cuda"].cpu())


def lr_factor(step: int, steps: int, warmup: float) -> float:
    """Return the share of the highest learning rate at a step: up in a straight line, then down along half a cosine.

    Args:
        step: From 0.
        steps: Of the whole training.
        warmup: Share of the steps that go up, 0 to below 1.
    """
    rising = round(warmup * steps)
    if step < rising:
        return (step + 1) / rising
    return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising)))
