"""What an audit says it proved, and what it says it did not."""

from types import SimpleNamespace
from typing import Any

from reseed.audit.recompute import conclusions, renders_again
from reseed.audit.registry import CHECKS
from reseed.audit.trusted import DIFFERS, FAIL, NOT_CHECKED, PASS, Check, Code

DEMO = {"sites": 5, "sequences_per_site": 1, "frames_per_sequence": 4, "width_px": 664, "height_px": 380}
TRUSTED = Code("this checkout", {})


def lines(checks: dict[str, Check], *, kind: str = "demo", image: bool = False, sites: int = 5) -> list[str]:
    params = {
        "pull": {"sources": [{"name": "reef", "kind": kind}]},
        "baselines": {"image": image},
        "demo": DEMO | {"sites": sites},
    }
    run: Any = SimpleNamespace(params=params)
    return conclusions(run, TRUSTED, checks)


def everything(**changes: Check) -> dict[str, Check]:
    return {name: Check(PASS, "") for name in CHECKS} | {name.replace("_", "-"): c for name, c in changes.items()}


def test_a_whole_audit_leaves_one_thing_open() -> None:
    found = lines(everything())
    assert len([line for line in found if line.startswith("Proven: ")]) == len(CHECKS)
    assert [line for line in found if not line.startswith("Proven: ")] == [
        "Not proven: that nobody looked at the test frames and chose among several runs: no file can show that."
    ]


def test_without_a_rerun_training_and_machines_are_not_proven() -> None:
    found = lines(everything(rerun=Check(NOT_CHECKED, "not asked for", wanted=False)), image=True)
    assert "Not proven: that this network was trained as the parameters say." in found
    assert any("device, versions and engine" in line and "claims" in line for line in found)
    assert any("image baseline" in line for line in found)
    assert found[-1].startswith("`--rerun` makes all of it again")


def test_code_that_differs_and_checks_that_were_not_done_are_named() -> None:
    found = lines(everything(code=Check(DIFFERS, "x"), objects=Check(NOT_CHECKED, "y"), chain=Check(FAIL, "broken")))
    assert any(
        line.startswith("Not proven: that the code of the revision did what this checkout does") for line in found
    )
    assert any(line.startswith("Not proven, as check objects was not done: ") for line in found)
    assert "Wrong: check chain: broken" in found
    assert not any(line.startswith("Proven: dvc.lock leads") for line in found)


def test_where_raw_files_come_from_is_proven_only_by_rendering_them() -> None:
    no_rerun = everything(rerun=Check(NOT_CHECKED, "not asked for", wanted=False))
    assert any("source reef holds these files" in line for line in lines(no_rerun, kind="folder"))
    assert any("too large to be rendered again" in line for line in lines(no_rerun, sites=50))
    assert not any("render" in line for line in lines(no_rerun))
    assert not any("too large" in line for line in lines(everything(), sites=50)), "the rerun rendered it"


def test_a_small_demo_is_rendered_again() -> None:
    sources = {"pull": {"sources": [{"kind": "demo"}]}}
    assert renders_again(sources | {"demo": DEMO})  # 5 * 1 * 4 * 664 * 380 = 5,046,400 pixels
    assert not renders_again(sources | {"demo": DEMO | {"sites": 10}})  # 10,092,800
    assert not renders_again({"pull": {"sources": [{"kind": "demo"}, {"kind": "url"}]}, "demo": DEMO})
