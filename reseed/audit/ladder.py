"""The audit: rungs from the claim down to the data, each PASS, FAIL or NOT CHECKED."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from reseed.audit.chain import METRICS, check_chain
from reseed.audit.checks import FAIL, NOT_CHECKED, Rung, judged
from reseed.audit.leakage import check_leakage
from reseed.audit.objects import check_objects
from reseed.audit.recompute import check_derive, check_recompute, check_rerun
from reseed.base.errors import ReseedError, TableError
from reseed.history.snapshot import LOCK, Snapshot, md5_of

HEADLINE: Final = "patch.macro_f1"


@dataclass(frozen=True)
class Asked:
    """What the audit was asked.

    Args:
        claims: Score key -> value as it was written, percent.
        skip: Names of rungs that are not wanted.
        left_out: Why one of these was not climbed, in words.
    """

    claims: Mapping[str, str]
    skip: frozenset[str]
    left_out: str = "left out (--skip)"


def climb(snapshot: Snapshot, asked: Asked) -> dict[str, Rung]:
    """Check every rung, in order; one that cannot be finished fails with the reason."""
    return {name: _checked(name, rung, snapshot, asked) for name, rung in LADDER.items()}


def read_claims(texts: Iterable[str]) -> dict[str, str]:
    """Return claims written as `patch.macro_f1=84.2` by key.

    Raises:
        ReseedError: If one is written otherwise or its value is no number.
    """
    claims = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or _number(value) is None:
            raise ReseedError(f"--claim {text}: expected KEY=NUMBER, such as {HEADLINE}=84.2")
        claims[key.strip()] = value.strip()
    return claims


def check_claim(snapshot: Snapshot, asked: Asked) -> Rung:
    """Compare the claimed scores, each to the decimals it was written with, with the one recorded at this state."""
    metrics = snapshot.tree / METRICS
    recorded = snapshot.outputs.get(METRICS)
    if not metrics.is_file() or recorded is None:
        return Rung(FAIL, f"{snapshot.name} holds no recorded score: {METRICS} or its entry in {LOCK} is missing")
    values = flat_scores(json.loads(metrics.read_bytes()))
    failures = []
    if md5_of(metrics) != recorded.get("md5"):
        failures.append(f"{METRICS} is {md5_of(metrics)}, {LOCK} recorded {recorded.get('md5')}")
    for key, claim in asked.claims.items():
        if key not in values:
            failures.append(f"{METRICS} has no {key}; it has {', '.join(values)}")
        elif not _says(claim, values[key]):
            failures.append(f"{key}: {claim} was claimed, {values[key]} is recorded")
    said = [f"{key} {values.get(key)}" for key in asked.claims or [HEADLINE]]
    return judged(failures, [], f"{', '.join(said)}, as {LOCK} recorded it")


def flat_scores(values: dict[str, Any]) -> dict[str, Any]:
    """Return every value by `<group>.<name>`."""
    return {f"{group}.{name}": value for group, scores in values.items() for name, value in scores.items()}


def _says(claim: str, recorded: Any) -> bool:
    claimed, exact = _number(claim), _number(str(recorded))
    if claimed is None or exact is None:
        return False
    return bool(round(exact, max(0, -int(claimed.as_tuple().exponent))) == claimed)


def _number(text: str) -> Decimal | None:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def _checked(name: str, rung: Callable[[Snapshot, Asked], Rung], snapshot: Snapshot, asked: Asked) -> Rung:
    if name in asked.skip:
        return Rung(NOT_CHECKED, "not asked for (--rerun)" if name in OPTIONAL else asked.left_out)
    try:
        return rung(snapshot, asked)
    except TableError as error:  # of another version of the project perhaps; its own code tells in rung recompute
        return Rung(NOT_CHECKED, f"not readable by this version: {error}")
    except ReseedError as error:
        return Rung(FAIL, str(error))
    # What is audited was written by others: a file of another shape is their failure, and no reason to stop.
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return Rung(FAIL, f"a stored file is not of the known form: {type(error).__name__}: {error}")


# Trains: only when asked for.
OPTIONAL: Final = frozenset({"rerun"})
# In the order of the audit.
LADDER: Final[dict[str, Callable[[Snapshot, Asked], Rung]]] = {
    "claim": check_claim,
    "chain": lambda snapshot, _: check_chain(snapshot),
    "objects": lambda snapshot, _: check_objects(snapshot),
    "recompute": lambda snapshot, _: check_recompute(snapshot),
    "re-derive": lambda snapshot, _: check_derive(snapshot),
    "leakage": lambda snapshot, _: check_leakage(snapshot),
    "rerun": lambda snapshot, _: check_rerun(snapshot),
}
