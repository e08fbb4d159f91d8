"""The audit: every check in order, and the verdict that follows from them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from reseed.audit.chain import check_chain
from reseed.audit.divided import check_leakage
from reseed.audit.objects import check_objects
from reseed.audit.recompute import check_derive, check_recompute
from reseed.audit.redo import Foreign
from reseed.audit.rerun import check_rerun, check_retrain, check_revision_code
from reseed.audit.sandbox import Limits
from reseed.audit.trusted import DIFFERS, FAIL, NOT_CHECKED, PASS, Check, Code, check_code, judged
from reseed.base.errors import ReseedError, TableError
from reseed.history.repository import MissingError, md5_of
from reseed.history.run import LOCK, METRICS, Run

HEADLINE: Final = "patch.macro_f1"


@dataclass(frozen=True)
class Audit:
    """What is audited, and how.

    Args:
        run: What is audited.
        trusted: The code that recomputes.
        folder: A temporary folder for this audit.
        claims: Score key -> value as it was written, percent.
        skip: Names of checks that are not wanted.
        left_out: Why one of these was left out, in words.
        sandbox: Whether code of the revision, where it is to run, runs in a sandbox.
    """

    run: Run
    trusted: Code
    folder: Path
    claims: Mapping[str, str]
    skip: frozenset[str]
    left_out: str = "left out (--skip)"
    sandbox: bool = True


def run_checks(audit: Audit) -> dict[str, Check]:
    """Do every check, in order; one that cannot be finished fails with the reason.

    What trains or runs foreign code is left out once a check has failed: it could not change the verdict.
    """
    done: dict[str, Check] = {}
    for name, check in CHECKS.items():
        failed = [other for other, found in done.items() if found.status == FAIL]
        if name in OPTIONAL and name not in audit.skip and failed:
            done[name] = Check(NOT_CHECKED, f"not done, as check {', '.join(failed)} failed")
        elif name not in EXTRA or name not in audit.skip:
            done[name] = _checked(name, check, audit)
    return done


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


def check_claim(audit: Audit) -> Check:
    """Compare the claimed scores, each to the decimals it was written with, with the one recorded at this state."""
    run = audit.run
    recorded = run.outputs.get(METRICS)
    if not run.has(METRICS) or recorded is None:
        return Check(FAIL, f"{run.name} holds no recorded score: {METRICS} or its entry in {LOCK} is missing")
    values = flat_scores(run.metrics)
    failures = []
    found = md5_of(run.source(METRICS))
    if found != recorded.get("md5"):
        failures.append(f"{METRICS} is {found}, {LOCK} recorded {recorded.get('md5')}")
    for key, claim in audit.claims.items():
        if key not in values:
            failures.append(f"{METRICS} has no {key}; it has {', '.join(values)}")
        elif not _equals(claim, values[key]):
            failures.append(f"{key}: {claim} was claimed, {values[key]} is recorded")
    named = [f"{key} {values.get(key)}" for key in audit.claims or [HEADLINE]]
    return judged(failures, [], f"{', '.join(named)}, as {LOCK} recorded it")


def flat_scores(values: dict[str, Any]) -> dict[str, Any]:
    """Return every value by `<group>.<name>`."""
    return {f"{group}.{name}": value for group, scores in values.items() for name, value in scores.items()}


def _equals(claim: str, recorded: Any) -> bool:
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


def _checked(name: str, check: Callable[[Audit], Check], audit: Audit) -> Check:
    if name in audit.skip:
        reason = "not asked for" if name in OPTIONAL else audit.left_out
        return Check(NOT_CHECKED, reason, wanted=False)
    try:
        return check(audit)
    # The system refuses a name that is too long, or a file where a folder should be.
    except (MissingError, OSError, MemoryError) as error:
        return Check(NOT_CHECKED, str(error) or type(error).__name__)
    except TableError as error:  # of another version of the project perhaps
        return Check(NOT_CHECKED, f"not readable by this version: {error}")
    except ReseedError as error:
        return Check(FAIL, str(error))
    # What is audited was written by others: a file of another shape is their failure, and no reason to stop.
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, ArithmeticError) as error:
        return Check(FAIL, f"a stored file is not of the known form: {type(error).__name__}: {error}")


# These train or run foreign code: only when asked for.
OPTIONAL: Final = frozenset({"rerun", "retrain", "revision-code"})
# Of these, what shows nothing that a rerun with the trusted code does not show: not named unless asked for.
EXTRA: Final = OPTIONAL - {"rerun"}
# In the order of the audit.
CHECKS: Final[dict[str, Callable[[Audit], Check]]] = {
    "claim": check_claim,
    "code": lambda audit: check_code(audit.run, audit.trusted),
    "chain": lambda audit: check_chain(audit.run, audit.trusted),
    "objects": lambda audit: check_objects(audit.run),
    "recompute": lambda audit: check_recompute(audit.run, audit.trusted, audit.folder),
    "re-derive": lambda audit: check_derive(audit.run, audit.trusted, audit.folder),
    "leakage": lambda audit: check_leakage(audit.run),
    "rerun": lambda audit: check_rerun(audit.run, audit.trusted, audit.folder),
    "retrain": lambda audit: check_retrain(audit.run, audit.trusted, audit.folder),
    "revision-code": lambda audit: check_revision_code(
        audit.run, audit.trusted, audit.folder, Foreign(audit.sandbox, Limits())
    ),
}

VERIFIED: Final = "VERIFIED"
FAILED: Final = "FAILED"
_EXIT: Final = {PASS: 0, DIFFERS: 3, NOT_CHECKED: 3, FAIL: 1}


@dataclass(frozen=True)
class Verdict:
    """What follows from the checks.

    Args:
        line: VERIFIED, VERIFIED EXCEPT (what), or FAILED (what).
        exit_code: 0; 3 if something that was to be done could not be, or code differs; 1 if something is wrong.
        passed: Whether all was verified.
    """

    line: str
    exit_code: int
    passed: bool


def verdict(checks: Mapping[str, Check]) -> Verdict:
    """Return what follows from the checks."""
    failed = [name for name, check in checks.items() if check.status == FAIL]
    if failed:
        return Verdict(f"{FAILED}: {', '.join(failed)}", _EXIT[FAIL], passed=False)
    words = {NOT_CHECKED: "not checked", DIFFERS: "differs from the trusted code"}
    rest = [
        f"{name} ({words[check.status] if check.wanted else check.reason})"
        for name, check in checks.items()
        if check.status != PASS
    ]
    exit_code = max((_EXIT[check.status] for check in checks.values() if check.wanted), default=0)
    if not rest:
        return Verdict(VERIFIED, exit_code, passed=True)
    return Verdict(f"{VERIFIED} EXCEPT {', '.join(rest)}", exit_code, passed=False)
