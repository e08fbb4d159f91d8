"""Rungs recompute and re-derive: do stages, run again on the stored inputs, give the stored outputs?"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from ruamel.yaml import YAML

from reseed.audit.checks import FAIL, Rung, judged
from reseed.base.parallel import ordered_map
from reseed.history.snapshot import LOCK, Snapshot, md5_of
from reseed.sources.folder import copy_file

SCORING: Final = ("aggregate", "evaluate")
DERIVING: Final = ("catalog", "split", "extract", "predict")
PREDICTIONS: Final = "data/predictions/patches.csv"
CALIBRATION: Final = "data/predictions/calibration.json"
ENGINE: Final = "data/predictions/engine.json"
# Probabilities of another CPU or engine may differ in their last digits; chosen, not measured: 100 times the last one
# stored.
TOLERANCE: Final = 1e-4
_PROBABILITIES: Final = ["p_no_deploy", "p_coral", "p_deploy"]
# Pictures are for looking at; another version of a font would change their bytes and no score.
PICTURES: Final = ("plots/figures", "plots/contact_sheet.png")
# Drawing takes longer than all scores together; a stage that draws none takes no notice of the name.
_WITHOUT_PICTURES: Final = "import stages.{stage} as stage; stage.PICTURES = {{}}; stage.run_stage(stage.main)"
_TAIL_LINES: Final = 3


def check_recompute(snapshot: Snapshot) -> Rung:
    """Redo the decisions and the scores from the stored predictions."""
    return _redo(snapshot, SCORING)


def check_derive(snapshot: Snapshot) -> Rung:
    """Redo tables, patches and labels from the raw data, and the predictions from the stored model."""
    return _redo(snapshot, DERIVING)


@dataclass(frozen=True)
class Redone:
    """What redoing one stage gave: one line for each thing wrong, not comparable or worth knowing."""

    failures: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    n_same: int = 0


def _redo(snapshot: Snapshot, stages: Sequence[str]) -> Rung:
    """Redo stages, each on its stored inputs and so at the same time."""

    def redo(stage: str) -> Redone:
        return _redo_stage(snapshot, stage)

    done = list(ordered_map(redo, stages, total=len(stages), unit="stage", what="redo"))
    return judged(
        [line for each in done for line in each.failures],
        [line for each in done for line in each.unchecked],
        f"{', '.join(stages)} redone on stored inputs: {sum(each.n_same for each in done)} files equal byte by byte",
        [line for each in done for line in each.notes],
    )


def _redo_stage(snapshot: Snapshot, stage: str) -> Redone:
    if stage not in snapshot.lock:
        return Redone(failures=(f"dvc.lock has no stage {stage}",))
    folder = snapshot.tree.parent / f"redo-{stage}"
    missing = _lay_out(snapshot, stage, folder)
    if missing:
        said = f"{missing[0]} and {len(missing) - 1} more are" if len(missing) > 1 else f"{missing[0]} is"
        return Redone(unchecked=(f"stage {stage}: {said} not stored here; `--fetch` or `dvc pull` gets them",))
    problem = _run(stage, folder)
    if problem:
        return Redone(failures=(f"stage {stage} cannot be redone: {problem}",))
    failures, notes, n_same = [], [], 0
    for path, digest in _outputs(snapshot, stage):
        if (folder / path).is_file() and md5_of(folder / path) == digest:
            n_same += 1
        elif path in NEAR and (why := NEAR[path](snapshot, folder / path)):
            notes.append(why)
        else:
            failures.append(f"{path}: stage {stage} redone on its stored inputs gives another file")
    return Redone(tuple(failures), (), tuple(notes), n_same)


def _lay_out(snapshot: Snapshot, stage: str, folder: Path) -> list[str]:
    """Make a folder with the code and the stored inputs of a stage; return the inputs that are not there."""
    shutil.copytree(snapshot.tree, folder)
    missing = []
    for path in (str(dep["path"]) for dep in snapshot.lock[stage].get("deps") or []):
        if path not in snapshot.outputs or (folder / path).is_file():
            continue
        members = snapshot.members(path)
        if members is None:
            missing.append(path)
        for target, digest in members or []:
            cached = snapshot.object(digest)
            if cached is None:
                missing.append(target)
            else:
                (folder / target).parent.mkdir(parents=True, exist_ok=True)
                copy_file(cached, folder / target)
    for path, _ in _outputs(snapshot, stage):
        (folder / path).unlink(missing_ok=True)
    return missing


def _run(stage: str, folder: Path) -> str:
    """Run a stage with the code of its folder; return why it failed, empty if it did not."""
    env = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "DVC_STAGE"}}
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_PICTURES.format(stage=stage)],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else " ".join(done.stderr.strip().splitlines()[-_TAIL_LINES:])


def _outputs(snapshot: Snapshot, stage: str) -> Iterator[tuple[str, str]]:
    for out in snapshot.lock[stage].get("outs") or []:
        if out["path"] not in PICTURES:
            yield str(out["path"]), str(out["md5"])


def _within_tolerance(snapshot: Snapshot, redone: Path) -> str:
    """Return how near redone predictions are to the stored ones; empty if a class or more than that differs."""
    stored = snapshot.stored(PREDICTIONS)
    if stored is None or not redone.is_file():
        return ""
    a, b = (pd.read_csv(path, dtype=str, keep_default_na=False) for path in (stored, redone))
    rest = [name for name in a.columns if name not in _PROBABILITIES]
    if list(a.columns) != list(b.columns) or len(a) != len(b) or not a[rest].equals(b[rest]):
        return ""
    values: list[Any] = [table[_PROBABILITIES].to_numpy(dtype=np.float64) for table in (a, b)]
    apart = float(np.abs(values[0] - values[1]).max(initial=0.0))
    return (
        f"{PREDICTIONS}: probabilities redone lie within {apart:.1g} of the stored ones" if apart <= TOLERANCE else ""
    )


def _near_calibration(snapshot: Snapshot, redone: Path) -> str:
    """Return that a redone calibration is near the stored one; empty if it is not. It follows the probabilities."""
    stored, again = _facts(snapshot.stored(CALIBRATION)), _facts(redone)
    if stored.keys() != again.keys() or not stored:
        return ""
    for key, value in stored.items():
        if isinstance(value, float) and isinstance(again[key], float):
            if abs(value - again[key]) > TOLERANCE * max(1.0, abs(value)):
                return ""
        elif value != again[key]:
            return ""
    return f"{CALIBRATION}: redone within {TOLERANCE} of the stored one"


def _other_engine(snapshot: Snapshot, redone: Path) -> str:
    """Return what ran the network then and now; empty if one of them is not known. The predictions are judged apart."""
    stored, again = _facts(snapshot.stored(ENGINE)), _facts(redone)
    if not stored or stored.keys() != again.keys():
        return ""
    then, now = (" ".join(map(str, facts.values())) for facts in (stored, again))
    return f"{ENGINE}: predicted by {then}, redone by {now}"


def _facts(path: Path | None) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_bytes()) if path is not None else {}
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


# What may differ on another machine, and how that is judged: one line if it is near, else empty.
NEAR: Final[dict[str, Callable[[Snapshot, Path], str]]] = {
    PREDICTIONS: _within_tolerance,
    CALIBRATION: _near_calibration,
    ENGINE: _other_engine,
}


_RERUN_TAIL_LINES: Final = 5


def check_rerun(snapshot: Snapshot) -> Rung:
    """Run `dvc repro` without a cache and compare every output; training takes as long as it took."""
    folder = snapshot.tree.parent / "rerun"
    shutil.copytree(snapshot.tree, folder)
    for path in (LOCK, *snapshot.outputs):
        (folder / path).unlink(missing_ok=True)
    problem = _repro(folder, snapshot.repository.root)
    if problem:
        return Rung(FAIL, f"`dvc repro` from nothing failed: {problem}")
    stages = YAML(typ="safe", pure=True).load(folder / LOCK)["stages"]
    made = {out["path"]: out["md5"] for stage in stages.values() for out in stage.get("outs") or []}
    differing = [path for path, out in snapshot.outputs.items() if made.get(path) != out.get("md5")]
    return judged(
        [f"{path}: made anew it is another file" for path in differing if path not in PICTURES],
        [],
        f"{len(stages)} stages from nothing: all {len(made)} outputs equal byte by byte",
        [f"{path}: another picture" for path in differing if path in PICTURES],
    )


def _repro(folder: Path, root: Path) -> str:
    """Run the pipeline in `folder`; return why it failed, empty if it did not."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DVC_", "GIT_", "PYTHONPATH"))}
    # DVC starts stages by the name `python`; relative sources start at DVC_ROOT.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    env = kept | {"PATH": path, "DVC_ROOT": str(root.resolve()), "DVC_NO_ANALYTICS": "1"}
    for command in (["git", "init", "--quiet"], [sys.executable, "-m", "dvc", "repro"]):
        done = subprocess.run(
            command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            return " ".join(done.stderr.strip().splitlines()[-_RERUN_TAIL_LINES:])
    return ""
