"""What may differ when predictions are redone elsewhere, and what may not."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from reseed.audit.recompute import CALIBRATION, ENGINE, NEAR, PREDICTIONS
from reseed.history.snapshot import Snapshot

COLUMNS = "patch_id,frame_id,split,gold,p_no_deploy,p_coral,p_deploy,predicted\n"
STORED = COLUMNS + "a#1,a,test,Deploy,0.100000,0.200000,0.700000,Deploy\n"


@dataclass(frozen=True)
class Stored:
    """As much of a snapshot as is asked."""

    folder: Path

    def stored(self, path: str) -> Path | None:
        file = self.folder / Path(path).name
        return file if file.is_file() else None


def near(tmp_path: Path, path: str, stored: str | None, redone: str | None) -> str:
    (tmp_path / "cache").mkdir()
    if stored is not None:
        (tmp_path / "cache" / Path(path).name).write_text(stored)
    if redone is not None:
        (tmp_path / "redone").write_text(redone)
    return NEAR[path](cast("Snapshot", Stored(tmp_path / "cache")), tmp_path / "redone")


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
def test_probabilities(tmp_path: Path, redone: str, expected: str) -> None:
    said = near(tmp_path, PREDICTIONS, STORED, redone)
    assert expected in said
    assert bool(said) == bool(expected)


def test_another_engine_is_worth_a_note(tmp_path: Path) -> None:
    there = {"engine": "onnx", "version": "1.32.0", "device": "cpu"}
    here = {"engine": "torch", "version": "2.14.1", "device": "cuda"}
    assert near(tmp_path, ENGINE, json.dumps(there), json.dumps(here)) == (
        f"{ENGINE}: predicted by onnx 1.32.0 cpu, redone by torch 2.14.1 cuda"
    )


@pytest.mark.parametrize(
    ("stored", "redone"),
    [(None, "{}"), ("{}", "{}"), ('{"engine": "onnx"}', None), ('{"engine": "onnx"}', "broken"), ("[]", "[]")],
)
def test_an_engine_that_is_not_known_is_no_note(tmp_path: Path, stored: str | None, redone: str | None) -> None:
    assert near(tmp_path, ENGINE, stored, redone) == ""


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
def test_a_temperature_follows_its_probabilities(tmp_path: Path, change: dict[str, Any], is_near: bool) -> None:
    assert bool(near(tmp_path, CALIBRATION, json.dumps(FITTED), json.dumps(FITTED | change))) is is_near
