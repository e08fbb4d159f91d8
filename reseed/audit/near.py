"""What may differ when a stage is redone on another machine, and how near it has to be."""

import io
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd

from reseed.base.documents import parse_json
from reseed.base.errors import ReseedError

PREDICTIONS: Final = "data/predictions/patches.csv"
CALIBRATION: Final = "data/predictions/calibration.json"
ENGINE: Final = "data/predictions/engine.json"
BASELINES: Final = "data/predictions/baselines.csv"
CONDITIONS: Final = "data/predictions/conditions.csv"
# Probabilities of another CPU or engine may differ in their last digits; chosen, not measured: 100 times the last one
# stored.
TOLERANCE: Final = 1e-4
_PROBABILITIES: Final = ("p_no_deploy", "p_coral", "p_deploy")
# A baseline is fitted anew: of its answers so many may fall to the other side.
_ANSWERS: Final = 0.005


def near_table(path: str, stored: bytes, redone: bytes, numbers: tuple[str, ...] = ()) -> str:
    """Return how near redone numbers are to the stored ones; empty if something else or more than that differs.

    Args:
        path: The table, for the message.
        stored: Its content.
        redone: Likewise.
        numbers: The columns that may differ; by default all that hold numbers.
    """
    a, b = (pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False) for content in (stored, redone))
    if list(a.columns) != list(b.columns) or len(a) != len(b):
        return ""
    names = [name for name in a.columns if name in numbers or (not numbers and _numeric(a[name]) and _numeric(b[name]))]
    rest = [name for name in a.columns if name not in names]
    if not a[rest].equals(b[rest]):
        return ""
    values: list[Any] = [table[names].to_numpy(dtype=np.float64) for table in (a, b)]
    apart = float(np.abs(values[0] - values[1]).max(initial=0.0))
    what = "probabilities" if numbers == _PROBABILITIES else "numbers"
    return f"{path}: {what} redone lie within {apart:.1g} of the stored ones" if apart <= TOLERANCE else ""


def near_answers(stored: bytes, redone: bytes) -> str:
    """Return how many answers of the baselines differ; empty if that is more than a few or something else differs."""
    a, b = (pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False) for content in (stored, redone))
    if list(a.columns) != list(b.columns) or len(a) != len(b) or "predicted" not in a:
        return ""
    if not a.drop(columns="predicted").equals(b.drop(columns="predicted")):
        return ""
    differing = int((a["predicted"] != b["predicted"]).sum())
    return f"{BASELINES}: {differing} of {len(a)} answers differ" if differing <= _ANSWERS * len(a) else ""


def near_calibration(stored: bytes, redone: bytes) -> str:
    """Return that a redone calibration is near the stored one; empty if it is not. It follows the probabilities."""
    facts, again = _facts(stored), _facts(redone)
    if facts.keys() != again.keys() or not facts:
        return ""
    for key, value in facts.items():
        if isinstance(value, float) and isinstance(again[key], float):
            if abs(value - again[key]) > TOLERANCE * max(1.0, abs(value)):
                return ""
        elif value != again[key]:
            return ""
    return f"{CALIBRATION}: redone within {TOLERANCE} of the stored one"


def other_engine(stored: bytes, redone: bytes) -> str:
    """Return what ran the network then and now; empty if one of them is not known. The predictions are judged apart."""
    facts, again = _facts(stored), _facts(redone)
    if not facts or facts.keys() != again.keys():
        return ""
    then, now = (" ".join(map(str, each.values())) for each in (facts, again))
    return f"{ENGINE}: claims to be predicted by {then}, not verified; redone by {now}"


def _numeric(column: pd.Series) -> bool:
    return bool(pd.to_numeric(column, errors="coerce").notna().all())


def _facts(content: bytes) -> dict[str, Any]:
    try:
        facts = parse_json(content, "facts")
    except ReseedError:
        return {}
    return facts if isinstance(facts, dict) else {}


# One line if it is near, else empty.
NEAR: Final[dict[str, Callable[[bytes, bytes], str]]] = {
    PREDICTIONS: lambda stored, redone: near_table(PREDICTIONS, stored, redone, _PROBABILITIES),
    CONDITIONS: lambda stored, redone: near_table(CONDITIONS, stored, redone),
    BASELINES: near_answers,
    CALIBRATION: near_calibration,
    ENGINE: other_engine,
}
