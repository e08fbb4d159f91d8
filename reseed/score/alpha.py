"""The deployment threshold alpha: the decision rule in exact arithmetic, and its choice on validation frames."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reseed.base.errors import TableError
from reseed.params.aggregate import ALPHA_DECIMALS

GRID_STEPS = 100
_DECIMAL = re.compile(r"[0-9.eE+-]+")

# Two scores nearer than this are one score: the same rational number summed in another order differs by about 1e-16.
_TIE = 1e-12
_INT64_MAX = 2**63 - 1


def exact(alpha: float) -> Fraction:
    """Return alpha as the fraction its decimal text says: 0.3 is 3/10, not the nearest binary number.

    Args:
        alpha: Threshold, 0 to 1.

    Raises:
        TableError: If alpha is no number from 0 to 1.
    """
    if not 0 <= alpha <= 1:  # also catches NaN
        raise TableError(f"alpha is {alpha!r}; allowed: a number from 0 to 1")
    return Fraction(repr(float(alpha)))


def parse_alpha(text: str, where: str) -> str:
    """Return the decimal text of alpha as everything records it: `0.50` is 0.5.

    Args:
        text: As somebody typed it.
        where: Name of the option, for the message.

    Raises:
        TableError: If it is no number from 0 to 1 with at most 6 decimals.
    """
    try:
        # Python also reads underscores, blanks and the digits of other scripts, which no table should hold.
        value = float(text) if _DECIMAL.fullmatch(text) else math.nan
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1 or round(value, ALPHA_DECIMALS) != value:
        raise TableError(f"{where}: got {text!r}; allowed: a number from 0 to 1 with at most {ALPHA_DECIMALS} decimals")
    return repr(value)


def alpha_grid() -> tuple[Fraction, ...]:
    """Return the thresholds that are compared: 0.00, 0.01 ... 1.00, exactly."""
    return tuple(Fraction(step, GRID_STEPS) for step in range(GRID_STEPS + 1))


def decisions(
    deploy_count: NDArray[np.int64], n_patches: NDArray[np.int64], alpha: Fraction | float
) -> NDArray[np.bool_]:
    """Decide for each frame: Deploy where `deploy_count / n_patches > alpha`, strictly.

    Compared as integers, `deploy_count * denominator > numerator * n_patches`, so 14 of 28 at 0.5 is No-Deploy and no
    rounding of a ratio ever decides.

    Args:
        deploy_count: (N,) patches predicted Deploy.
        n_patches: (N,) patches of the frame, at least 1.
        alpha: Threshold, 0 to 1; a float stands for its decimal text.

    Returns:
        (N,) True for Deploy, False for No-Deploy.

    Raises:
        TableError: If a frame has no patches, more Deploy patches than patches, or alpha is not in 0 to 1.
    """
    share = alpha if isinstance(alpha, Fraction) else exact(alpha)
    if not 0 <= share <= 1:
        raise TableError(f"alpha is {share}; allowed: a number from 0 to 1")
    deploy, total = np.asarray(deploy_count, dtype=np.int64), np.asarray(n_patches, dtype=np.int64)
    if deploy.shape != total.shape:
        raise TableError(f"{deploy.size} Deploy counts for {total.size} patch counts; one of each per frame is needed")
    if ((deploy < 0) | (deploy > total) | (total < 1)).any():
        raise TableError("patch counts of a frame must satisfy 0 <= deploy_count <= n_patches and n_patches >= 1")
    if total.size and int(total.max()) * share.denominator > _INT64_MAX:
        return np.asarray(
            [d * share.denominator > share.numerator * n for d, n in zip(deploy.tolist(), total.tolist(), strict=True)],
            dtype=np.bool_,
        )
    return np.asarray(deploy * share.denominator > share.numerator * total, dtype=np.bool_)


def decisions_over(
    deploy_count: NDArray[np.int64], n_patches: NDArray[np.int64], alphas: Sequence[Fraction]
) -> NDArray[np.bool_]:
    """Decide for each frame at each threshold.

    Args:
        deploy_count: (N,) patches predicted Deploy.
        n_patches: (N,) patches of the frame.
        alphas: A thresholds.

    Returns:
        (A, N) True for Deploy.
    """
    rows = [decisions(deploy_count, n_patches, alpha) for alpha in alphas]
    return np.stack(rows) if rows else np.zeros((0, len(deploy_count)), dtype=np.bool_)


@dataclass(frozen=True)
class Choice:
    """The threshold that was chosen, and how much ground it stands on.

    Args:
        alpha: The middle of the plateau; of two in the middle the higher, which deploys less.
        low: Lowest threshold of the plateau: all from `low` to `high` have the highest score.
        high: Highest threshold of the plateau.
        score: The highest score.
    """

    alpha: Fraction
    low: Fraction
    high: Fraction
    score: float


def choose(alphas: Sequence[Fraction], scores: NDArray[np.float64]) -> Choice:
    """Return the middle of the widest run of thresholds that all have the highest score; of equals the higher run.

    At the edge of a plateau the next frame may fall on either side; in its middle the decisions change least.

    Args:
        alphas: A thresholds, ascending.
        scores: (A,) score of each on **validation** frames, such as frame macro F1.

    Raises:
        TableError: If there is no score, not one for each threshold, or one that is not finite.
    """
    values = np.asarray(scores, dtype=np.float64)
    if len(alphas) == 0 or values.shape != (len(alphas),) or not np.isfinite(values).all():
        raise TableError(f"{values.size} scores for {len(alphas)} thresholds; one finite score for each is needed")
    low, high = widest_plateau(values)
    return Choice(alphas[(low + high + 1) // 2], alphas[low], alphas[high], float(values.max()))


def widest_plateau(values: NDArray[np.float64]) -> tuple[int, int]:
    """Return the first and last index of the widest run of highest values; of equally wide ones the last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], values >= values.max() - _TIE, [False]])))
    starts, ends = edges[::2], edges[1::2] - 1
    widest = len(starts) - 1 - int(np.argmax((ends - starts)[::-1]))
    return int(starts[widest]), int(ends[widest])
