"""Temperature scaling: one number that makes probabilities honest and leaves every class as it is.

Guo et al. 2017, "On calibration of modern neural networks", arXiv:1706.04599.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from reseed.base.errors import ReseedError
from reseed.base.probabilities import softmax

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
