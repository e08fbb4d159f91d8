"""Every patch of the pack through the networks of a run, as rows of the prediction tables.

Probabilities are calibrated by one temperature, which leaves every class as it is: Guo et al. 2017, "On calibration of
modern neural networks", arXiv:1706.04599.

The torch engine stands here too: any network, on any device.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from reseed.artifacts.patches import VAL
from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError, ReseedError
from reseed.base.parallel import keep_freed_memory
from reseed.base.probabilities import Probabilities, predicted_classes, softmax
from reseed.engines.engine import AUTO, CPU, TORCH, UNBOUNDED, Engine, run_network
from reseed.engines.facts import ModelFacts, facts_of_geometry
from reseed.network.checkpoint import CARD_FILE, MODEL_FILE, load_model
from reseed.network.model import Network, network_logits, to_unit
from reseed.network.patch_set import PatchSet
from reseed.network.runtime import resolve_device
from reseed.params.predict import PredictParams


def load_folder(folder: Path) -> tuple[Network, ModelFacts]:
    """Return the network in a model folder, on the CPU, and what one has to know of it.

    Raises:
        ModelError: As `load_model`, or if it is a file.
    """
    if folder.is_file():
        raise ModelError(
            f"{folder}: is a file; give the folder that holds {MODEL_FILE} and {CARD_FILE}, or an .onnx file of "
            "`python -m reseed export`"
        )
    network, card = load_model(folder / MODEL_FILE, folder / CARD_FILE, None)
    return network, facts_of_geometry(card.geometry, card.backbone, card.sha256, folder)


@dataclass(frozen=True)
class TorchEngine:
    """A network in torch.

    Args:
        network: On `place`.
        place: Where it runs.
        facts: What its description says.
        version: Of torch.
    """

    network: Network
    place: torch.device
    facts: ModelFacts
    version: str = torch.__version__
    name: str = TORCH

    @property
    def device(self) -> str:
        """`cpu`, `cuda` or `mps`."""
        return self.place.type

    @classmethod
    def of(cls, network: Network, facts: ModelFacts, threads: int, device: str, key: str) -> "TorchEngine":
        """Bring a network to its device.

        Args:
            network: On any device.
            facts: What is known of it.
            threads: CPU threads, for the whole process.
            device: As `resolve_device` takes it.
            key: Where the user set it, for the message.

        Raises:
            ParamsError: If this machine does not have the device.
        """
        where = resolve_device(device, key)
        torch.set_num_threads(threads)
        torch.backends.cudnn.deterministic = True
        keep_freed_memory()
        return cls(network.to(where), where, facts)

    def logits(
        self, images: npt.NDArray[np.uint8], batch_size: int = UNBOUNDED, rows: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.float64]:
        """Return what `Engine.logits` does."""
        return network_logits(self.network, images, batch_size, self.place, rows, self.facts.flips)


_HOTTEST: Final = 20.0  # temperatures from 1/20 to 20 are looked at
_DECIMALS: Final = 6


@dataclass(frozen=True)
class Calibration:
    """How the probabilities were calibrated.

    Args:
        method: `none` or `temperature`.
        temperature: What logits are divided by; above 1 softens.
        n: Labelled validation patches it was fitted on.
        loss_before: Mean negative log likelihood of these patches without it.
        loss_after: The same with it.
    """

    method: str
    temperature: float
    n: int
    loss_before: float
    loss_after: float

    def probabilities(self, logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return calibrated softmax probabilities, (N, 3), rounded as in the tables.

        Raises:
            ModelError: If a logit is not finite.
        """
        return softmax(logits / self.temperature)

    def record(self) -> dict[str, Any]:
        """Return what `calibration.json` says."""
        how: dict[str, Any] = {"method": self.method, "temperature": self.temperature}
        if self.n == 0:
            return how
        return how | {
            "validation_patches": self.n,
            "validation_loss_before": round(self.loss_before, _DECIMALS),
            "validation_loss_after": round(self.loss_after, _DECIMALS),
        }


def uncalibrated() -> Calibration:
    """Return the calibration that leaves the probabilities as the network gives them."""
    return Calibration("none", 1.0, 0, 0.0, 0.0)


def fit_temperature(logits: npt.NDArray[np.float64], gold: npt.NDArray[np.int64]) -> Calibration:
    """Find the temperature of the highest likelihood.

    The loss is convex in 1 / temperature.

    Args:
        logits: (N, 3) of labelled validation patches, and of no other.
        gold: (N,) class indices.

    Raises:
        ReseedError: If there is no patch.
    """
    if len(gold) == 0:
        raise ReseedError(
            "predict.calibrate is temperature, but no validation patch has a reference class; "
            "set predict.calibrate to none, or label frames of the validation groups"
        )
    softmax(logits)  # refuses logits that are not finite

    def loss(sharpness: float) -> float:
        return float(-log_softmax(sharpness * logits, axis=1)[np.arange(len(gold)), gold].mean())

    found = minimize_scalar(loss, bounds=(1 / _HOTTEST, _HOTTEST), method="bounded", options={"xatol": 1e-9})
    temperature = round(1 / float(found.x), _DECIMALS)
    return Calibration("temperature", temperature, len(gold), loss(1.0), loss(1 / temperature))


PORTABLE: Final = "portable"


@dataclass(frozen=True)
class Answers:
    """What the networks of a run give for every patch.

    Args:
        probabilities: (N, 3), calibrated if asked.
        calibration: How.
        engine: What ran them.
    """

    probabilities: Probabilities
    calibration: Calibration
    engine: Engine

    def engine_record(self, params: PredictParams) -> dict[str, Any]:
        """Return what `engine.json` says: what made the predictions."""
        engine = self.engine
        portable = params.numerics == PORTABLE and (engine.name, engine.device) == (TORCH, CPU)
        return {
            "engine": engine.name,
            "version": engine.version,
            "device": engine.device,
            "flips": engine.facts.flips,
            "numerics": PORTABLE if portable else "native",
        }


def predict_all(
    network: Network,
    without_val: Network | None,
    facts: ModelFacts,
    images: npt.NDArray[np.uint8],
    patches: PatchSet,
    params: PredictParams,
) -> Answers:
    """Run the networks of a run over every patch exactly once.

    Args:
        network: Predicts every patch but those of `without_val`.
        without_val: With `train.refit`, the network that was trained without split val: it predicts that split, so that
            calibration and alpha rest on patches outside the fit.
        facts: What is known of them.
        images: (N, H, W, 3) uint8, RGB; may be mapped from disk.
        patches: What is known of each of the N patches.
        params: Section `predict`.

    Raises:
        ModelError: If an output is not finite, or the engine cannot run the network or is not there.
        ParamsError: If this machine does not have the device.
        ReseedError: If calibration has no validation patch to be fitted on.
    """
    facts = replace(facts, flips=params.flips)
    # ONNX Runtime and OpenVINO take what the processor has and cannot be held to less.
    kind = TORCH if params.engine == AUTO and params.numerics == PORTABLE else params.engine

    def engine_of(which: Network) -> Engine:
        return run_network(which, facts, kind, params.threads, params.device, "predict.")

    engine = engine_of(network)
    logits = engine.logits(images, params.batch_size)
    if without_val is not None:
        rows = np.flatnonzero(patches.split == VAL).astype(np.int64)
        logits[rows] = engine_of(without_val).logits(images, params.batch_size, rows)
    val = patches.labelled(VAL)
    calibration = fit_temperature(logits[val], patches.gold[val]) if params.calibrate != "none" else uncalibrated()
    return Answers(calibration.probabilities(logits), calibration, engine)


def prediction_rows(patches: PatchSet, probabilities: Probabilities) -> list[dict[str, object]]:
    """Return the N rows of `PATCH_PREDICTIONS`.

    Args:
        patches: What is known of each of N patches.
        probabilities: (N, 3) as `softmax` returns them.
    """
    known = zip(patches.frame_ids, patches.split, patches.gold_names, strict=True)
    return [
        {"patch_id": row["patch_id"], "frame_id": frame_id, "split": split, "gold": gold} | row
        for row, (frame_id, split, gold) in zip(answer_rows(patches, probabilities), known, strict=True)
    ]


def repeat_rows(repeat: int, patches: PatchSet, probabilities: Probabilities) -> list[dict[str, object]]:
    """Return the N rows of `REPEAT_PREDICTIONS` of one repeat; arguments as `prediction_rows`."""
    return [{"repeat": repeat} | row for row in answer_rows(patches, probabilities)]


def answer_rows(patches: PatchSet, probabilities: Probabilities) -> list[dict[str, object]]:
    """Return patch, probabilities and class of each of N patches."""
    assert len(probabilities) == len(patches.patch_ids) == len(set(patches.patch_ids))  # each exactly once
    predicted = predicted_classes(probabilities)
    return [
        {"patch_id": patch_id, "p_no_deploy": row[0], "p_coral": row[1], "p_deploy": row[2], "predicted": CLASSES[best]}
        for patch_id, row, best in zip(patches.patch_ids, probabilities, predicted, strict=True)
    ]


_FEATURE_BATCH: Final = 128


def most_alike(
    network: Network, images: npt.NDArray[np.uint8], asked: Sequence[int], among: Sequence[int], number: int
) -> npt.NDArray[np.int64]:
    """Return which patches look most alike to the network: by the cosine of the features below its head.

    Args:
        network: On the CPU, in evaluation mode.
        images: (N, S, S, 3) uint8, may be mapped from disk.
        asked: Q rows of `images`.
        among: Rows of `images` that are looked through, at least `number`.
        number: Of each answer.

    Returns:
        (Q, number) places in `among`, the most alike first.
    """

    def directions(rows: Sequence[int]) -> torch.Tensor:
        found = []
        for start in range(0, len(rows), _FEATURE_BATCH):
            batch = torch.from_numpy(np.ascontiguousarray(images[np.asarray(rows[start : start + _FEATURE_BATCH])]))
            found.append(network.features(to_unit(batch)))
        return torch.nn.functional.normalize(torch.cat(found), dim=1)

    with torch.inference_mode():
        likeness = directions(asked) @ directions(among).T
        return likeness.topk(number, dim=1).indices.numpy()
