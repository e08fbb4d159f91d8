"""Doing stages again with the trusted code, on stored inputs, in folders of the audit.

On another machine the last digits may differ: what may, and by how much, is defined here.
"""

import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import psutil

from reseed.audit import stage_process
from reseed.audit.objects import digests, require_room
from reseed.audit.sandbox import Limits, clean_environment, run_limited, sandboxed
from reseed.audit.trusted import Code
from reseed.base.documents import parse_json
from reseed.base.errors import ReseedError
from reseed.base.parallel import ordered_map
from reseed.history.repository import MissingError, folder_digest
from reseed.history.run import Run
from reseed.sources.folder import copy_file

PREDICTIONS: Final = "data/predictions/patches.csv"
CALIBRATION: Final = "data/predictions/calibration.json"
ENGINE: Final = "data/predictions/engine.json"
FAMILIAR: Final = "data/predictions/familiar.json"
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


def near_facts(path: str, stored: bytes, redone: bytes) -> str:
    """Return that redone facts are near the stored ones, in every number; empty if they are not."""
    facts, again = _facts(stored), _facts(redone)
    return f"{path}: redone within {TOLERANCE} of the stored one" if facts and _near(facts, again) else ""


def _near(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= TOLERANCE * max(1.0, abs(a))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_near, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_near(value, b[key]) for key, value in a.items())
    return type(a) is type(b) and bool(a == b)


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
    CALIBRATION: lambda stored, redone: near_facts(CALIBRATION, stored, redone),
    FAMILIAR: lambda stored, redone: near_facts(FAMILIAR, stored, redone),
    ENGINE: other_engine,
}


# Pictures are for looking at; another version of a font would change their bytes and no score.
PICTURES: Final = ("plots/figures", "plots/report.html", "plots/contact_sheet.png")
NO_FIGURES: Final = "--no-figures"
_WEEK_S: Final = 7 * 24 * 3600.0
_MOST_MEMORY: Final = 0.8
_SPARE_BYTES: Final = 1 << 30
# Of the environment: what would change what Python imports, or what DVC and git do.
_NOT_KEPT: Final = ("PYTHON", "DVC_", "GIT_", "RESEED_")


@dataclass(frozen=True)
class Redone:
    """What redoing one stage gave: one line for each thing wrong, not comparable or worth knowing."""

    failures: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    n_same: int = 0


@dataclass(frozen=True)
class Job:
    """One stage in a folder of its own.

    Args:
        stage: Its name.
        folder: Where its inputs lie and its outputs will.
        missing: What could not be laid out, one line each.
    """

    stage: str
    folder: Path
    missing: tuple[str, ...] = field(default=())


def redo(run: Run, trusted: Code, folder: Path, lines: Sequence[Sequence[str]]) -> list[Redone]:
    """Redo stages, each on its stored inputs.

    Args:
        run: Whose inputs and parameters are taken.
        trusted: The code.
        folder: Of the audit.
        lines: Stages that run one after the other in one process; the lines run at the same time.

    Returns:
        What each stage gave, in order.
    """
    jobs = [[lay_out(run, trusted, folder, stage) for stage in line] for line in lines]
    code = trusted.ready(folder / "trusted")

    def together(line: Sequence[Job]) -> dict[str, str]:
        return run_stages(trusted, code, [job for job in line if not job.missing], recorded_bytes(run))

    done = ordered_map(together, jobs, total=len(jobs), unit="process", what="redo")
    problems = {stage: problem for line in done for stage, problem in line.items()}
    return [_compared(run, trusted, job, problems.get(job.stage, "")) for line in jobs for job in line]


def lay_out(run: Run, trusted: Code, folder: Path, stage: str) -> Job:
    """Make a folder with the parameters and the stored inputs of a stage.

    Raises:
        ReseedError: If they would fill the disk.
    """
    goal = folder / f"redo-{stage}"
    goal.mkdir()
    write_inside(goal, "params.yaml", run.source("params.yaml"))
    return Job(stage, goal, tuple(lay_out_stored(run, trusted.inputs(stage), goal)))


def lay_out_stored(run: Run, paths: Iterable[str], goal: Path) -> list[str]:
    """Copy stored outputs to a folder, all or none; return what is not stored, one line each.

    Raises:
        ReseedError: If they would fill the disk.
    """
    files: dict[str, Path] = {}
    missing: list[str] = []
    for path in paths:
        if path in run.tracked:
            write_inside(goal, path, run.source(path))
        elif path not in run.outputs:
            missing.append(f"{path}: the trusted code reads it, {run.name} has none")
        else:
            try:
                found = {member: run.object(digest) for member, digest in run.members(path)}
            except MissingError as error:
                missing.append(str(error))
                continue
            missing += [f"{member}: no object" for member, cached in found.items() if cached is None]
            files |= {member: cached for member, cached in found.items() if cached is not None}
    require_room(goal, sum(cached.stat().st_size for cached in files.values()), "the stored inputs")
    for member, cached in files.items() if not missing else ():
        (goal / member).parent.mkdir(parents=True, exist_ok=True)
        copy_file(cached, goal / member)
    return missing


def write_inside(folder: Path, path: str, content: bytes) -> None:
    """Write a file at a path below a folder; the path was checked when dvc.lock was read."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)


@dataclass(frozen=True)
class Foreign:
    """How code runs that is not trusted.

    Args:
        sandbox: Whether in a sandbox; without, it has the rights of the auditor.
        limits: What it may use.
    """

    sandbox: bool
    limits: Limits


def run_stages(
    code: Code, folder: Path, jobs: Sequence[Job], recorded_bytes: int, foreign: Foreign | None = None
) -> dict[str, str]:
    """Run stages one after the other in one process; return why each failed, empty if it did not.

    Args:
        code: What runs.
        folder: Where it lies.
        jobs: The stages; of foreign code all in one folder.
        recorded_bytes: See `trusted_limits`.
        foreign: How, if the code is not trusted.
    """
    listed = [(job.stage, str(job.folder), _options(code, job.stage)) for job in jobs]
    if not listed:
        return {}
    script = Path(stage_process.__file__).resolve()
    command = [sys.executable, "-I", str(script), str(folder), json.dumps(listed)]
    place = jobs[0].folder
    if foreign is None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_NOT_KEPT)}
        ended = run_limited(command, place, kept, trusted_limits(place, recorded_bytes))
    else:
        command = sandboxed(command, place, [folder, script]) if foreign.sandbox else command
        ended = run_limited(command, place, clean_environment(place), foreign.limits)
    ending = ended.stopped or (ended.errors.strip().splitlines() or ["its process ended without a word"])[-1]
    problems = dict(_reported(ended.output))
    return {stage: problems.get(stage, ending) for stage, _, _ in listed}


def recorded_bytes(run: Run) -> int:
    """Return how many bytes dvc.lock says that all outputs take."""
    return sum(out["size"] for out in run.outputs.values() if isinstance(out.get("size"), int))


def trusted_limits(folder: Path, recorded_bytes: int) -> Limits:
    """Return what trusted code may use on data and parameters of others, which can ask for anything.

    Args:
        folder: Where it writes.
        recorded_bytes: What dvc.lock says that inputs and outputs take.
    """
    memory = int(psutil.virtual_memory().total * _MOST_MEMORY)
    disk = min(2 * recorded_bytes + _SPARE_BYTES, shutil.disk_usage(folder).free // 2)
    return Limits(_WEEK_S, memory, disk, address_space=False)


def _reported(output: str) -> Iterator[tuple[str, str]]:
    for line in output.splitlines():
        try:
            row = parse_json(line.encode(), "report")
            yield str(row["stage"]), str(row["problem"])
        except (ReseedError, KeyError, TypeError):  # foreign code may print what it likes
            continue


def _options(code: Code, stage: str) -> list[str]:
    """Return what leaves the pictures out: drawing takes longer than all scores together."""
    return [NO_FIGURES] if b"no_figures" in code.files.get(f"stages/{stage}.py", b"") else []


def _compared(run: Run, trusted: Code, job: Job, problem: str) -> Redone:
    if job.missing:
        more = f" and {len(job.missing) - 1} more" if len(job.missing) > 1 else ""
        lost = f"{job.missing[0]}{more}; `--fetch` or `dvc pull` gets what is stored"
        return Redone(unchecked=(f"stage {job.stage}: {lost}",))
    if problem:
        return Redone(failures=(f"stage {job.stage} cannot be redone: {problem}",))
    return compared(run, trusted, job.stage, job.folder, "redone with the trusted code on its stored inputs")


def compared(run: Run, trusted: Code, stage: str, folder: Path, how: str, *, near_counts: bool = True) -> Redone:
    """Compare what a stage made in a folder with what dvc.lock recorded.

    Args:
        run: Whose record.
        trusted: What the stage should write.
        stage: Its name.
        folder: Where it ran.
        how: It was run, for messages.
        near_counts: Whether answers that differ by the last digits of another processor pass, with a note.
    """
    failures, notes, n_same = [], [], 0
    recorded = {str(out["path"]): str(out["md5"]) for out in (run.lock.get(stage) or {}).get("outs") or []}
    for path in sorted((trusted.outputs(stage) | recorded.keys()) - set(PICTURES)):
        if path not in recorded:
            failures.append(f"{path}: {run.name} has none, and the trusted code of stage {stage} writes it")
        elif path not in trusted.outputs(stage):
            failures.append(f"{path}: the trusted code of stage {stage} does not write it")
        elif (made := made_digest(folder, path)) == recorded[path]:
            n_same += 1
        elif near_counts and path in NEAR and made and (why := near(run, path, folder / path)):
            notes.append(why)
        else:
            failures.append(f"{path}: stage {stage}, {how}, gives another file")
    return Redone(tuple(failures), (), tuple(notes), n_same)


def near(run: Run, path: str, made: Path) -> str:
    """Return how near a redone file is to the stored one; empty if it is not, or is not stored here."""
    try:
        return NEAR[path](run.read(path), made.read_bytes())
    except ReseedError:
        return ""


def made_digest(folder: Path, path: str) -> str:
    """Return the md5 that DVC gives what was made, a file or a folder; empty if there is nothing."""
    made = folder / path
    if made.is_symlink() or not made.exists() or not made.resolve().is_relative_to(folder.resolve()):
        return ""
    if made.is_file():
        return digests(made)[0]
    files = sorted(file for file in made.rglob("*") if file.is_file() and not file.is_symlink())
    return folder_digest({file.relative_to(made).as_posix(): digests(file)[0] for file in files})
