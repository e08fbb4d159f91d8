from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reseed.audit.chain import _keys, _way_back, closure
from reseed.audit.registry import CHECKS, Audit, _equals, flat_scores, read_claims, run_checks, verdict
from reseed.audit.trusted import DIFFERS, FAIL, NOT_CHECKED, PASS, Check, judged
from reseed.base.errors import ReseedError
from reseed.history.recorded import _value, same_value
from reseed.history.run import METRICS, RAW


@pytest.mark.parametrize(
    ("claim", "recorded", "holds"),
    [
        ("84.2", 84.2137, True),
        ("84", 84.2137, True),
        ("84.2137", 84.2137, True),
        ("84.3", 84.2137, False),
        ("84.20", 84.2137, False),
        ("84.2", "n/a", False),
        ("1e2", 100.0, True),
    ],
)
def test_a_claim_holds_to_the_decimals_it_was_written_with(claim: str, recorded: object, *, holds: bool) -> None:
    assert _equals(claim, recorded) is holds


def test_claims_are_read_by_key() -> None:
    assert read_claims(["patch.macro_f1=84.2", "frame.alpha = 0.5"]) == {"patch.macro_f1": "84.2", "frame.alpha": "0.5"}
    for broken in ("patch.macro_f1", "patch.macro_f1=good", "patch.macro_f1=nan"):
        with pytest.raises(ReseedError, match="expected KEY=NUMBER"):
            read_claims([broken])


def test_a_failure_outweighs_what_was_not_checked() -> None:
    assert judged(["wrong"], ["lost"], "good").status == FAIL
    assert judged([], ["lost"], "good").status == NOT_CHECKED
    assert judged([], [], "good").status == PASS


def test_values_compare_by_kind_too() -> None:
    assert same_value({"a": [1, 2.0]}, {"a": [1.0, 2]})
    assert not same_value(1, True)
    assert not same_value("1", 1)
    assert not same_value([1], [1, 2])
    assert not same_value(None, 0)


def test_keys_are_found_inside_lists_too() -> None:
    assert set(_keys({"a": [{"size": 1}], "b": {"c": 2}})) == {"a", "a.size", "b", "b.c"}
    assert _value({"b": {"c": 2}}, "b.c") == 2


def test_scores_are_named_by_their_group() -> None:
    assert flat_scores({"patch": {"n": 3}, "frame": {"alpha": 0.5}}) == {"patch.n": 3, "frame.alpha": 0.5}


def test_the_closure_follows_every_form_of_import(tmp_path) -> None:
    for name, text in {
        "stages/__init__.py": "",
        "stages/train.py": "def main():\n    from reseed.learn import fit\n",
        "reseed/__init__.py": "",
        "reseed/learn/__init__.py": "from . import start",
        "reseed/learn/start.py": "",
        "reseed/learn/fit.py": "import os, reseed.classes\nfrom ..errors import Error\n",
        "reseed/classes.py": "",
        "reseed/errors.py": "",
        "reseed/unused.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def read(path: str) -> bytes | None:
        return (tmp_path / path).read_bytes() if (tmp_path / path).is_file() else None

    expected = {"classes", "errors", "learn/__init__", "learn/fit", "learn/start"}  # the other __init__ files are empty
    assert closure("stages.train", read) == sorted([*(f"reseed/{name}.py" for name in expected), "stages/train.py"])
    assert closure("stages.nothing", read) == []
    (tmp_path / "reseed/errors.py").write_text("def (")
    with pytest.raises(ReseedError, match=r"reseed/errors\.py"):
        closure("stages.train", read)


def test_a_check_that_was_left_out_says_how_it_came_to_that() -> None:
    nothing: Any = None  # no check looks at it
    checks = run_checks(Audit(nothing, nothing, Path(), {}, frozenset(CHECKS)))
    assert checks["re-derive"].reason == "left out (--skip)"
    assert checks["rerun"].reason == "not asked for"
    other = run_checks(Audit(nothing, nothing, Path(), {}, frozenset(CHECKS), "not asked for (--derive)"))
    assert other["re-derive"].reason == "not asked for (--derive)"


@pytest.mark.parametrize(
    ("checks", "line", "exit_code"),
    [
        ({"claim": Check(PASS, "")}, "VERIFIED", 0),
        (
            {"claim": Check(PASS, ""), "rerun": Check(NOT_CHECKED, "not asked for", wanted=False)},
            "VERIFIED EXCEPT rerun (not asked for)",
            0,
        ),
        ({"code": Check(DIFFERS, ""), "rerun": Check(PASS, "")}, "EXCEPT code (differs from the trusted code)", 3),
        ({"objects": Check(NOT_CHECKED, "")}, "VERIFIED EXCEPT objects (not checked)", 3),
        ({"objects": Check(NOT_CHECKED, ""), "chain": Check(FAIL, "")}, "FAILED: chain", 1),
    ],
)
def test_nothing_is_called_verified_that_was_not(checks: dict[str, Check], line: str, exit_code: int) -> None:
    found = verdict(checks)
    assert line in found.line
    assert (found.exit_code, found.passed) == (exit_code, found.line == "VERIFIED")


def test_what_the_system_refuses_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of files may name `a` and `a/b`, or a name that no file system takes."""
    nothing: Any = None
    for refused in (OSError(36, "File name too long", "a" * 300), MemoryError()):

        def check(_: Audit, refused: BaseException = refused) -> Check:
            raise refused

        monkeypatch.setitem(CHECKS, "claim", check)
        found = run_checks(Audit(nothing, nothing, Path(), {}, frozenset(CHECKS) - {"claim"}))["claim"]
        assert (found.status, found.reason) == (NOT_CHECKED, str(refused) or "MemoryError")


def test_a_chain_with_more_ways_than_can_be_counted_is_walked_at_once() -> None:
    layers = [[f"data/{depth}/a", f"data/{depth}/b"] for depth in range(60)]
    lock = {"pull": {"outs": [{"path": RAW}]}, "score": {"outs": [{"path": METRICS}]}}
    below = [RAW]
    for depth, layer in enumerate(layers):
        lock[f"s{depth}"] = {"deps": [{"path": p} for p in below], "outs": [{"path": p} for p in layer]}
        below = layer
    lock["score"]["deps"] = [{"path": p} for p in below]
    outputs = {out["path"]: out for stage in lock.values() for out in stage["outs"]}
    way = _way_back(SimpleNamespace(lock=lock, outputs=outputs))  # type: ignore[arg-type]
    assert (way[0], way[-1], len(way)) == (METRICS, RAW, 62)
