"""Simulated surveys: sites that differ, tows whose neighbouring frames are alike, and a network that errs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reseed.score.promise import shares

PATCHES = 28


@dataclass(frozen=True)
class Surveys:
    """S surveys of K sites with T frames each.

    Args:
        share: (S, K, T) shares of Deploy patches as the network sees them, in millionths.
        wrong: (S, K, T) True where the reference is No-Deploy.
    """

    share: NDArray[np.int64]
    wrong: NDArray[np.bool_]


def simulate(rng: np.random.Generator, surveys: int, sites: int = 6, frames: int = 200) -> Surveys:
    """Draw surveys: bottom by site and along the tow (autocorrelation 0.9), the network's error by both."""
    shape = (surveys, sites, frames)
    tow = np.empty(shape)
    noise = rng.normal(size=shape)
    tow[..., 0] = noise[..., 0]
    for t in range(1, frames):
        tow[..., t] = 0.9 * tow[..., t - 1] + np.sqrt(1 - 0.9**2) * noise[..., t]
    bottom = 0.6 * rng.normal(size=(surveys, sites, 1)) + tow
    seen = bottom + 0.5 * rng.normal(size=(surveys, sites, 1)) + 0.4 * rng.normal(size=shape)
    counts = rng.binomial(PATCHES, 1 / (1 + np.exp(-2 * seen)))
    wrong = bottom + 0.2 * rng.normal(size=shape) < 0.3
    return Surveys(shares(counts, np.full(shape, PATCHES)), wrong)


def risk(share: NDArray[np.int64], wrong: NDArray[np.bool_], alpha: int) -> float:
    """Share of all frames that are dropped on wrongly."""
    return float(((share > alpha) & wrong).mean())


def recall(share: NDArray[np.int64], wrong: NDArray[np.bool_], alpha: int) -> float:
    """Share of the good frames that are dropped on."""
    return float((share[~wrong] > alpha).mean())
