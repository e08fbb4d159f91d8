"""What may differ when predictions are redone elsewhere, and what may not."""

import json
from typing import Any

import pytest

from reseed.audit.redo import BASELINES, CALIBRATION, CONDITIONS, ENGINE, NEAR, PREDICTIONS

COLUMNS = "patch_id,frame_id,split,gold,p_no_deploy,p_coral,p_deploy,predicted\n"
STORED = COLUMNS + "a#1,a,test,Deploy,0.100000,0.200000,0.700000,Deploy\n"


def near(path: str, stored: str, redone: str) -> str:
    return NEAR[path](stored.encode(), redone.encode())


@pytest.mark.parametrize(
    ("redone", "expected"),
    [
        (STORED.replace("0.700000", "0.700090"), "lie within 9e-05 of the stored ones"),
        (STORED.replace("0.700000", "0.700200"), ""),
        (STORED.replace(",Deploy\n", ",Coral\n"), ""),
        (STORED.replace("a#1", "a#2"), ""),
        (COLUMNS, ""),
    ],
)
def test_probabilities(redone: str, expected: str) -> None:
    said = near(PREDICTIONS, STORED, redone)
    assert expected in said
    assert bool(said) == bool(expected)


def test_another_engine_is_worth_a_note() -> None:
    there = {"engine": "onnx", "version": "1.32.0", "device": "cpu"}
    here = {"engine": "torch", "version": "2.14.1", "device": "cuda"}
    assert near(ENGINE, json.dumps(there), json.dumps(here)) == (
        f"{ENGINE}: claims to be predicted by onnx 1.32.0 cpu, not verified; redone by torch 2.14.1 cuda"
    )


@pytest.mark.parametrize(
    ("stored", "redone"),
    [("", "{}"), ("{}", "{}"), ('{"engine": "onnx"}', ""), ('{"engine": "onnx"}', "broken"), ("[]", "[]")],
)
def test_an_engine_that_is_not_known_is_no_note(stored: str, redone: str) -> None:
    assert near(ENGINE, stored, redone) == ""


FITTED = {"method": "temperature", "temperature": 1.5, "validation_patches": 16, "validation_loss_after": 0.25}


@pytest.mark.parametrize(
    ("change", "is_near"),
    [
        ({"temperature": 1.50001}, True),
        ({"temperature": 1.501}, False),
        ({"validation_loss_after": 0.2501}, True),
        ({"validation_patches": 17}, False),
        ({"method": "none"}, False),
        ({"more": 1}, False),
    ],
)
def test_a_temperature_follows_its_probabilities(change: dict[str, Any], is_near: bool) -> None:
    assert bool(near(CALIBRATION, json.dumps(FITTED), json.dumps(FITTED | change))) is is_near


def test_a_few_answers_of_a_baseline_may_differ_and_no_more() -> None:
    head = "baseline,patch_id,predicted\n"
    stored = head + "".join(f"colour,p{n},Coral\n" for n in range(400))
    assert near(BASELINES, stored, stored.replace("p7,Coral", "p7,Deploy")) == f"{BASELINES}: 1 of 400 answers differ"
    assert near(BASELINES, stored, stored.replace(",p1,", ",q1,")) == ""
    assert (
        near(
            BASELINES,
            stored,
            "".join([head, *(f"colour,p{n},{'Coral' if n % 100 else 'Deploy'}\n" for n in range(400))]),
        )
        == ""
    )


def test_measured_light_may_differ_in_its_last_digits() -> None:
    stored = "frame_id,light\na,0.500000\n"
    assert "numbers redone lie within" in near(CONDITIONS, stored, stored.replace("0.500000", "0.500001"))
    assert near(CONDITIONS, stored, stored.replace("0.500000", "0.600000")) == ""
    assert near(CONDITIONS, stored, stored.replace("a,", "b,")) == ""
