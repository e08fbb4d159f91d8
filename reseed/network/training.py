"""Training: from patches and a recipe to a network, and how it went."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from tqdm import tqdm

from reseed.artifacts.patches import TRAINING_CURVE
from reseed.base.classes import CLASSES
from reseed.base.errors import ReseedError
from reseed.base.parallel import progress, tell
from reseed.base.probabilities import predicted_classes, softmax
from reseed.network.checkpoint import read_training, training_key, write_training
from reseed.network.epochs import COSINE, EpochScore, Learner, Loss, inverse_class_weights, make_loss
from reseed.network.model import Converted, Network, State, network_logits, to_unit
from reseed.network.patch_set import (
    augment,
    augmentation,
    class_counts,
    draw_order,
    epoch_generator,
    feature_batches,
    n_batches,
    split_batches,
)
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


T = TypeVar("T")
_VERSIONS = 2  # of a patch for each epoch of several heads: what all heads share, their mean does not even out


@dataclass(frozen=True)
class FitResult:
    """What training gave.

    Args:
        network: On `device`, in evaluation mode, with the weights of the epoch that is kept.
        device: Where it was trained.
        history: Every epoch in order.
        best: The epoch that is kept.
        train_counts: (3,) labelled training patches by class.
        val_counts: (3,) labelled validation patches by class.
        converted: Where the network comes from if it was taken over instead of trained.
        stored: The file by which this training would go on; to be removed once the network is safe.
    """

    network: Network
    device: torch.device
    history: tuple[EpochScore, ...]
    best: EpochScore
    train_counts: npt.NDArray[np.int64]
    val_counts: npt.NDArray[np.int64]
    converted: Converted | None = None
    stored: Path | None = None


@dataclass(frozen=True)
class Trained:
    """The network of a run, and the one that never saw the validation patches.

    Args:
        final: What predicts; with `train.refit` trained on train and val together.
        without_val: With `train.refit`, what was trained on train alone: it predicts val, so that calibration and
            alpha never rest on patches in the fit. None without refit, where `final` is that network.
    """

    final: FitResult
    without_val: FitResult | None

    @property
    def without_val_network(self) -> Network | None:
        """The network of `without_val`, if there is one."""
        return None if self.without_val is None else self.without_val.network

    @property
    def chosen(self) -> FitResult:
        """The training that validation scores are of."""
        return self.without_val or self.final


def train_network(
    images: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    train_rows: npt.NDArray[np.int64],
    val_rows: npt.NDArray[np.int64],
    params: TrainParams,
    start_state: State,
    keep: Path | None = None,
    curve: Path | None = None,
) -> Trained:
    """Train as section `train` says, once more on train and val together if it says so; arguments as `fit`."""
    first = fit(images, labels, train_rows, val_rows, params, start_state, keep=keep, curve=curve)
    if not params.refit or not len(val_rows):
        return Trained(first, None)
    both = np.sort(np.concatenate([train_rows, val_rows]))
    return Trained(fit(images, labels, both, val_rows[:0], params, start_state, keep=keep), first)


def repeat_params(params: TrainParams, repeat: int) -> TrainParams:
    """Return the recipe of one repeat: repeat 0 is the recipe itself, each other has a seed made of `train.seed`."""
    seed = int(np.random.SeedSequence([params.seed, repeat]).generate_state(1)[0])
    return params.model_copy(update={"seed": seed}) if repeat else params


def fit(
    images: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    train_rows: npt.NDArray[np.int64],
    val_rows: npt.NDArray[np.int64],
    params: TrainParams,
    start_state: State,
    needed: tuple[int, ...] = tuple(range(len(CLASSES))),
    keep: Path | None = None,
    curve: Path | None = None,
) -> FitResult:
    """Train a network; the same arguments give the same network, bit for bit on one CPU, also after interruptions.

    Args:
        images: (N, H, W, 3) uint8, RGB; may be mapped from disk.
        labels: (N,) int64 class indices; only those at the rows below are looked at.
        train_rows: Positions to learn from.
        val_rows: Positions that are scored after each epoch; under schedule plateau they choose the epoch.
        params: Section `train`.
        start_state: Backbone tensors by name; empty for random weights.
        needed: Classes that must have a training patch; the decisions of whole frames know no Coral.
        keep: Folder that holds the training after every epoch, so that the next call goes on there; None for none.
        curve: File that shows every epoch as soon as it is done; None for none.

    Raises:
        ReseedError: If a needed class has no training patch or, under schedule plateau, there is no validation patch.
        ModelError: If the loss or an output is no longer finite.
    """
    train_counts, val_counts = class_counts(labels[train_rows]), class_counts(labels[val_rows])
    require_classes(train_counts, val_counts, needed, params.schedule)
    device = resolve_device(params.device, "train.device")
    computing = training_precision(params.precision, device)
    with reproducible(params.threads, params.seed, device):
        stored = None
        if keep is not None:
            key = training_key(images, labels, (train_rows, val_rows), params, start_state, device.type)
            stored = keep / f"{key}.pt"
        network = Network(params.backbone, params.bn_momentum, params.heads)
        if start_state:
            network.backbone.load_state_dict(start_state)
        network.to(device)
        weights = np.ones(len(CLASSES))
        if params.class_weights == "inverse":
            weights[list(needed)] = inverse_class_weights(train_counts[list(needed)])
        loss = make_loss(params.loss, params.gamma, params.label_smoothing, torch.from_numpy(weights))
        learner = Learner(network, loss, params, n_batches(len(train_rows), params.batch_size))
        _run_epochs(learner, images, labels, (train_rows, val_rows), loss, params, computing, device, stored, curve)
        network = learner.result()
    return FitResult(network, device, tuple(learner.history), learner.best, train_counts, val_counts, stored=stored)


def require_classes(
    train_counts: npt.NDArray[np.int64],
    val_counts: npt.NDArray[np.int64],
    needed: tuple[int, ...],
    schedule: str,
) -> None:
    """Check that there is something to learn from and, where an epoch is chosen, something to choose by.

    Args:
        train_counts: (3,) labelled training patches by class.
        val_counts: (3,) labelled validation patches by class.
        needed: Classes that must have a training patch.
        schedule: `train.schedule`.

    Raises:
        ReseedError: If a needed class has no training patch or, under plateau, there is no validation patch at all.
    """
    if (train_counts[list(needed)] == 0).any():
        empty = " and ".join(CLASSES[index] for index in needed if train_counts[index] == 0)
        raise ReseedError(
            f"no labelled training patch of class {empty}; labelled patches in split train: {_by_class(train_counts)}; "
            "label more frames, change split.seed or split.group_by, or lower extract.min_purity"
        )
    if schedule != COSINE and not val_counts.any():
        raise ReseedError(
            "no labelled patch in split val, so no epoch can be chosen; labelled patches in split train: "
            f"{_by_class(train_counts)}; label frames of the validation groups, change split.seed or "
            "split.val_fraction, or set train.schedule to cosine, which chooses none"
        )


def _run_epochs(
    learner: Learner,
    images: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    loss: Loss,
    params: TrainParams,
    computing: torch.autocast,
    device: torch.device,
    stored: Path | None,
    curve: Path | None,
) -> None:
    train_rows, val_rows = rows
    found = None if stored is None else read_training(stored)
    if found is not None:
        learner.resume(found)
        done = "is finished" if learner.finished else f"goes on after epoch {len(learner.history)} of {params.epochs}"
        tell(f"train: {done}, stored in {stored}")
    features = None
    if params.heads > 1 and not learner.finished:
        features = _features(learner.network, images, train_rows, params, computing, device)

    def batches(epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        if features is None:
            return _batches(images, labels, train_rows, params, epoch, device)
        return feature_batches(features, labels[train_rows], params, epoch)

    terminal = sys.stderr.isatty()
    with tqdm(total=params.epochs, initial=len(learner.history), desc="train", unit="epoch", disable=None) as bar:
        while not learner.finished:
            began, epoch = time.monotonic(), len(learner.history) + 1
            train_loss, lr = learner.learn(batches(epoch), computing)
            scores = (math.nan, math.nan, math.nan)
            if len(val_rows):
                scores = validate(learner.judged, images, labels, val_rows, loss, params, device)
            learner.note(EpochScore(epoch, lr, train_loss, *scores))
            if stored is not None:
                write_training(stored, learner.state())
            if curve is not None:
                TRAINING_CURVE.write(TRAINING_CURVE.frame(curve_rows(tuple(learner.history))), curve)
            val = f", validation macro F1 {100 * scores[1]:.1f} %" if len(val_rows) else ""
            bar.update()
            bar.set_postfix_str(val[2:])
            if not terminal:
                taken_s = time.monotonic() - began
                tell(f"train: epoch {epoch} of {params.epochs}: loss {train_loss:.4f}{val}, {taken_s:.1f} s")


def validate(
    network: nn.Module,
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
    return value, macro_f1(predicted, gold), float((predicted == gold).mean())


def _batches(
    images: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    params: TrainParams,
    epoch: int,
    device: torch.device,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the augmented batches of one epoch; only the thread that prepares them touches their random stream."""
    generator, settings = epoch_generator(params.seed, epoch), augmentation(params)
    gold = labels[rows]
    order = draw_order(gold, params.sampler, generator)

    def prepare(chosen: Tensor) -> tuple[Tensor, Tensor]:
        positions = chosen.numpy()
        batch = torch.from_numpy(images[rows[positions]]).to(device)
        return augment(to_unit(batch), settings, generator), torch.from_numpy(gold[positions]).to(device)

    return _one_ahead(prepare, split_batches(order, params.batch_size))


def _features(
    network: Network,
    images: npt.NDArray[np.uint8],
    rows: npt.NDArray[np.int64],
    params: TrainParams,
    computing: torch.autocast,
    device: torch.device,
) -> Tensor:
    """Return (V, N, W) features of the training patches: two changed versions of each for every epoch.

    The frozen backbone runs over them once, however many heads learn from them.
    """
    network.eval()
    versions, numbers = [], range(1, _VERSIONS * params.epochs + 1)
    for version in progress(numbers, total=len(numbers), what="features", unit="version"):
        generator, found = epoch_generator(params.seed, version), []
        for part in split_batches(torch.arange(len(rows)), params.batch_size):
            batch = to_unit(torch.from_numpy(images[rows[part.numpy()]]).to(device))
            with torch.no_grad(), computing:
                found.append(network.features(augment(batch, augmentation(params), generator)).float())
        versions.append(torch.cat(found))
    return torch.stack(versions)


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
