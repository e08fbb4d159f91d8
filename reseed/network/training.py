"""`models/training.csv` and `models/train.json`: how training went, for people."""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from tqdm import tqdm

from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError, ReseedError
from reseed.base.probabilities import predicted_classes, softmax
from reseed.network.augment import Augmentation, augment, class_counts, draw_order, epoch_generator, split_batches
from reseed.network.losses import Loss, inverse_class_weights, make_loss
from reseed.network.model import Converted, Network, network_logits, to_unit
from reseed.network.runtime import reproducible, resolve_device, training_precision
from reseed.params.train import TrainParams


def macro_f1(predicted: npt.NDArray[np.int64], gold: npt.NDArray[np.int64]) -> float:
    """Return the plain mean over the three classes of F1 = 2 tp / (2 tp + fp + fn), 0 to 1; a 0/0 counts 0.

    Args:
        predicted: (N,) class indices.
        gold: (N,) class indices.
    """
    number = len(CLASSES)
    confusion = np.bincount(number * gold + predicted, minlength=number**2).reshape(number, number)
    hits, involved = confusion.diagonal(), confusion.sum(axis=0) + confusion.sum(axis=1)
    return float((2 * hits / np.maximum(involved, 1)).mean())


def accuracy(predicted: npt.NDArray[np.int64], gold: npt.NDArray[np.int64]) -> float:
    """Return the share of `predicted` that equals `gold`, 0 to 1; arguments as `macro_f1`."""
    return float((predicted == gold).mean())


T = TypeVar("T")


@dataclass(frozen=True)
class EpochScore:
    """One epoch.

    Args:
        epoch: From 1.
        lr: Learning rate used.
        train_loss: Mean over the (augmented, drawn) training patches.
        val_loss: Mean over the validation patches, same loss.
        val_macro_f1: 0 to 1.
        val_accuracy: 0 to 1.
    """

    epoch: int
    lr: float
    train_loss: float
    val_loss: float
    val_macro_f1: float
    val_accuracy: float


@dataclass(frozen=True)
class FitResult:
    """What training gave.

    Args:
        network: On `device`, in evaluation mode, with the weights of the best epoch.
        device: Where it was trained.
        history: Every epoch in order.
        best: The epoch of the highest validation macro F1, the earlier one of equals.
        train_counts: (3,) labelled training patches by class.
        val_counts: (3,) labelled validation patches by class.
        converted: Where the network comes from if it was taken over instead of trained.
    """

    network: Network
    device: torch.device
    history: tuple[EpochScore, ...]
    best: EpochScore
    train_counts: npt.NDArray[np.int64]
    val_counts: npt.NDArray[np.int64]
    converted: Converted | None = None


def fit(
    images: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    train_rows: npt.NDArray[np.int64],
    val_rows: npt.NDArray[np.int64],
    params: TrainParams,
    start_state: dict[str, Tensor],
    needed: tuple[int, ...] = tuple(range(len(CLASSES))),
) -> FitResult:
    """Train a network; the same arguments give the same network, bit for bit on one CPU.

    Args:
        images: (N, H, W, 3) uint8, RGB; may be mapped from disk.
        labels: (N,) int64 class indices; only those at the rows below are looked at.
        train_rows: Positions to learn from.
        val_rows: Positions that choose the epoch.
        params: Section `train`.
        start_state: Backbone tensors by name; empty for random weights.
        needed: Classes that must have a training patch; the decisions of whole frames know no Coral.

    Raises:
        ReseedError: If a needed class has no training patch or there is no validation patch.
        ModelError: If the loss or an output is no longer finite.
    """
    train_counts, val_counts = class_counts(labels[train_rows]), class_counts(labels[val_rows])
    require_classes(train_counts, val_counts, needed)
    device = resolve_device(params.device, "train.device")
    computing = training_precision(params.precision, device)
    with reproducible(params.threads, params.seed, device):
        network = Network(params.backbone, params.bn_momentum)
        if start_state:
            network.backbone.load_state_dict(start_state)
        network.to(device)
        weights = np.ones(len(CLASSES))
        if params.class_weights == "inverse":
            weights[list(needed)] = inverse_class_weights(train_counts[list(needed)])
        loss = make_loss(params.loss, params.gamma, torch.from_numpy(weights))
        history, state = _run_epochs(network, images, labels, (train_rows, val_rows), loss, params, computing, device)
        network.load_state_dict(state)
    network.eval()
    best = max(history, key=lambda score: score.val_macro_f1)  # the first of equals
    return FitResult(network, device, tuple(history), best, train_counts, val_counts)


def require_classes(
    train_counts: npt.NDArray[np.int64],
    val_counts: npt.NDArray[np.int64],
    needed: tuple[int, ...] = tuple(range(len(CLASSES))),
) -> None:
    """Check that there is something to learn from and something to choose by.

    Args:
        train_counts: (3,) labelled training patches by class.
        val_counts: (3,) labelled validation patches by class.
        needed: Classes that must have a training patch.

    Raises:
        ReseedError: If a needed class has no training patch or there is no validation patch at all.
    """
    if (train_counts[list(needed)] == 0).any():
        empty = " and ".join(CLASSES[index] for index in needed if train_counts[index] == 0)
        raise ReseedError(
            f"no labelled training patch of class {empty}; labelled patches in split train: {_by_class(train_counts)}; "
            "label more frames, change split.seed or split.group_by, or lower extract.min_purity"
        )
    if not val_counts.any():
        raise ReseedError(
            "no labelled patch in split val, so no epoch can be chosen; labelled patches in split train: "
            f"{_by_class(train_counts)}; label frames of the validation groups, or change split.seed or "
            "split.val_fraction"
        )


def _run_epochs(
    network: Network,
    images: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    loss: Loss,
    params: TrainParams,
    computing: torch.autocast,
    device: torch.device,
) -> tuple[list[EpochScore], dict[str, Tensor]]:
    train_rows, val_rows = rows
    optimiser = torch.optim.Adam(
        network.parameters(), lr=params.lr, weight_decay=params.weight_decay, fused=_fused(device)
    )
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser,
        mode="max",
        factor=params.lr_factor,
        patience=params.lr_patience,
        threshold=0.0,
        threshold_mode="abs",
        eps=0.0,
    )
    history: list[EpochScore] = []
    best = 0
    state: dict[str, Tensor] = {}
    with tqdm(range(1, params.epochs + 1), desc="train", unit="epoch", disable=None) as bar:
        for epoch in bar:
            lr = float(optimiser.param_groups[0]["lr"])
            batches = _batches(images, labels, train_rows, params, epoch, device)
            train_loss = _train_epoch(network, batches, loss, optimiser, epoch, computing)
            val_loss, val_macro_f1, val_accuracy = validate(network, images, labels, val_rows, loss, params, device)
            history.append(EpochScore(epoch, lr, train_loss, val_loss, val_macro_f1, val_accuracy))
            bar.set_postfix(val_macro_f1=f"{100 * val_macro_f1:.1f} %")
            if epoch == 1 or val_macro_f1 > history[best].val_macro_f1:
                best = epoch - 1
                state = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
            if len(history) - 1 - best >= params.patience:
                break
            schedule.step(val_macro_f1)
    return history, state


def _train_epoch(
    network: Network,
    batches: Iterator[tuple[Tensor, Tensor]],
    loss: Loss,
    optimiser: torch.optim.Optimizer,
    epoch: int,
    computing: torch.autocast,
) -> float:
    network.train()
    total, seen = 0.0, 0
    for batch, gold in batches:
        optimiser.zero_grad(set_to_none=True)
        with computing:
            logits = network(batch)
        batch_loss = loss(logits.float(), gold)
        value = float(batch_loss.detach())
        if not np.isfinite(value):
            raise ModelError(f"training diverged in epoch {epoch}: the loss is {value}; lower train.lr")
        batch_loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
        optimiser.step()
        total, seen = total + value * len(gold), seen + len(gold)
    return total / seen


def validate(
    network: Network,
    images: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    loss: Loss,
    params: TrainParams,
    device: torch.device,
) -> tuple[float, float, float]:
    """Score a network on validation patches, by the same rounding and ties as stored predictions.

    Args:
        network: On `device`.
        images: (N, H, W, 3) uint8, RGB.
        labels: (N,) int64 class indices.
        rows: Positions to score, at least one.
        loss: What training minimises.
        params: Section `train`.
        device: Where `network` is.

    Returns:
        Loss, macro F1 and accuracy, the latter two 0 to 1.
    """
    logits = network_logits(network, images, params.batch_size, device, rows)
    predicted, gold = predicted_classes(softmax(logits)), labels[rows]
    value = float(loss(torch.from_numpy(logits), torch.from_numpy(gold)))
    return value, macro_f1(predicted, gold), accuracy(predicted, gold)


def _batches(
    images: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    params: TrainParams,
    epoch: int,
    device: torch.device,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the augmented batches of one epoch; only the thread that prepares them touches their random stream."""
    generator = epoch_generator(params.seed, epoch)
    settings = Augmentation(params.flip, params.red_shift, params.contrast, params.brightness, params.blur)
    gold = labels[rows]
    order = draw_order(gold, params.sampler, generator)

    def prepare(chosen: Tensor) -> tuple[Tensor, Tensor]:
        positions = chosen.numpy()
        batch = torch.from_numpy(images[rows[positions]]).to(device)
        return augment(to_unit(batch), settings, generator), torch.from_numpy(gold[positions]).to(device)

    return _one_ahead(prepare, split_batches(order, params.batch_size))


def _one_ahead(make: Callable[[Tensor], T], items: list[Tensor]) -> Iterator[T]:
    """Yield make(item) in order, the next one being made by another thread meanwhile."""
    # One core for it: two teams of threads on the same cores would wait for each other at every operation.
    with ThreadPoolExecutor(max_workers=1, initializer=torch.set_num_threads, initargs=(1,)) as thread:
        following = thread.submit(make, items[0])
        for item in items[1:]:
            ready = following.result()
            following = thread.submit(make, item)
            yield ready
        yield following.result()


def _fused(device: torch.device) -> bool:
    return device.type in {"cpu", "cuda"}


def _by_class(counts: npt.NDArray[np.int64]) -> str:
    return ", ".join(f"{name} {count}" for name, count in zip(CLASSES, counts, strict=True))


def curve_rows(history: tuple[EpochScore, ...]) -> list[dict[str, object]]:
    """Return one row of `TRAINING_CURVE` for each epoch."""
    return [
        {
            "epoch": score.epoch,
            "lr": f"{score.lr:.6g}",
            "train_loss": score.train_loss,
            "val_loss": score.val_loss,
            "val_macro_f1": percent(score.val_macro_f1),
            "val_accuracy": percent(score.val_accuracy),
        }
        for score in history
    ]


def train_metrics(result: FitResult) -> dict[str, Any]:
    """Return what `models/train.json` holds: scores of the best epoch in percent, and counts.

    What a network that was only taken over does not have is `n/a`, the way of `metrics.json`.
    """
    return {
        "best_epoch": result.best.epoch,
        "epochs": len(result.history),
        "val": {
            "macro_f1": _known(percent(result.best.val_macro_f1)),
            "accuracy": _known(percent(result.best.val_accuracy)),
            "loss": _known(round(result.best.val_loss, 6)),
            "n": int(result.val_counts.sum()),
        },
        "train": {
            "loss": _known(round(result.best.train_loss, 6)),
            "n": int(result.train_counts.sum()),
        }
        | {
            f"n_{name.lower().replace('-', '_')}": int(count)
            for name, count in zip(CLASSES, result.train_counts, strict=True)
        },
    }


def percent(fraction: float) -> float:
    """Return a fraction as percent with 4 decimals."""
    return round(100 * fraction, 4)


def _known(value: float) -> float | str:
    return "n/a" if math.isnan(value) else value
