"""Checks rerun, retrain and revision-code: is the run made again, from its sources or from its labels?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from reseed.artifacts.patches import TEST
from reseed.artifacts.predictions import PATCH_PREDICTIONS, REPEAT_PREDICTIONS
from reseed.audit.drift import UNKNOWN_SPREAD_POINTS, apart_points
from reseed.audit.redo import (
    Foreign,
    Job,
    compared,
    lay_out_stored,
    made_digest,
    recorded_bytes,
    run_stages,
    write_inside,
)
from reseed.audit.sandbox import require_sandbox
from reseed.audit.trusted import FAIL, NOT_CHECKED, Check, Code, judged, revision_code
from reseed.base.documents import parse_json
from reseed.history.run import METRICS, Run
from reseed.score.confusion import macro_f1
from reseed.score.evidence import item_confusion, labelled
from reseed.score.registry import PATCH

_RETRAINED: Final = ("train", "predict", "aggregate", "evaluate")
_RENDERED: Final = "demo"
_REPEATS: Final = "data/predictions/repeats.csv"
# So many trainings tell how far two lie apart; fewer do not.
_FEWEST_TRAININGS: Final = 3
_MODEL: Final = "models/model.pt"


def check_rerun(run: Run, trusted: Code, folder: Path) -> Check:
    """Run every stage with the trusted code and compare every output."""
    return _again(run, trusted, trusted.ready(folder / "trusted"), folder / "rerun", None, "the trusted code")


def check_revision_code(run: Run, trusted: Code, folder: Path, foreign: Foreign) -> Check:
    """Run every stage with the code of the revision, as foreign code, and compare every output.

    Raises:
        ReseedError: If it is to run in a sandbox and there is none.
    """
    if foreign.sandbox:
        require_sandbox()
    own = revision_code(run)
    for stage, entry in run.pipeline.items():
        if entry.get("cmd") != f"python -m stages.{stage}" or stage not in trusted.pipeline:
            return Check(NOT_CHECKED, f"stage {stage} runs `{entry.get('cmd')}`, which is not run here")
    return _again(run, own, own.ready(folder / "foreign"), folder / "foreign-run", foreign, "the code of the revision")


def check_retrain(run: Run, trusted: Code, folder: Path) -> Check:
    """Train with the trusted code from the stored labels and patches, and set its score beside the claimed one."""
    if refused := _imported(run):
        return refused
    goal = folder / "retrain"
    goal.mkdir()
    write_inside(goal, "params.yaml", run.source("params.yaml"))
    made = {path for stage in _RETRAINED for path in trusted.outputs(stage)}
    read = {path for stage in _RETRAINED for path in trusted.inputs(stage)}
    missing = lay_out_stored(run, sorted(read - made), goal)
    if missing:
        return judged([], missing, "")
    size = recorded_bytes(run)
    problems = run_stages(trusted, trusted.ready(folder / "trusted"), [Job(stage, goal) for stage in _RETRAINED], size)
    failed = [f"stage {stage} failed: {problem}" for stage, problem in problems.items() if problem]
    if failed:
        return judged(failed[:1], [], "")
    unknown = _start_weights(run)
    if made_digest(goal, _MODEL) == run.digests.get(_MODEL):
        return judged([], unknown, "trained again from the stored labels: the same network byte by byte")
    again: Any = parse_json((goal / METRICS).read_bytes(), METRICS)["patch"]["macro_f1"]
    found = compare_scores(float(run.metrics["patch"]["macro_f1"]), float(again), recorded_scores(run))
    return found if found.status == FAIL or not unknown else judged([], unknown, "", [found.reason])


def recorded_scores(run: Run) -> list[float]:
    """Return the patch macro F1, percent, of every further training that the run recorded; none of an older run."""
    if _REPEATS not in run.outputs or int(run.params["train"].get("repeats", 1)) < 2:
        return []
    first = run.table("data/predictions/patches.csv", PATCH_PREDICTIONS)
    known = labelled(first, TEST)[["patch_id", "gold"]]
    every = run.table(_REPEATS, REPEAT_PREDICTIONS)[["repeat", "patch_id", "predicted"]].merge(known, on="patch_id")
    return [100 * float(macro_f1(item_confusion(PATCH, answers))) for _, answers in every.groupby("repeat", sort=True)]


def compare_scores(claimed: float, again: float, others: Sequence[float] = ()) -> Check:
    """Judge a score by that of another training: is it nearer than two trainings of one recipe lie apart?

    The spread comes from the further trainings that the run recorded and the one done here, where there are three.

    Args:
        claimed: Patch macro F1, percent.
        again: That of the training done here.
        others: Those of the further trainings that the run recorded; the claimed one is what is in doubt.
    """
    scores = [again, *others]
    if len(scores) >= _FEWEST_TRAININGS:
        spread = apart_points(float(np.std(scores, ddof=1)), len(scores))
        source = f"by {len(scores)} trainings, {len(others)} of them claims of the run"
    else:
        spread, source = UNKNOWN_SPREAD_POINTS, "no spread is recorded with this run"
    line = (
        f"patch macro F1 {claimed:.2f} is claimed, trained again it is {again:.2f}: {claimed - again:+.2f} points; two "
        f"trainings lie up to {spread:.2g} apart ({source})"
    )
    return judged([line] if claimed - again > spread else [], [], line)


def _again(run: Run, code: Code, place: Path, goal: Path, foreign: Foreign | None, whose: str) -> Check:
    """Run every stage from the rendered sources, else from the stored raw files. Neither DVC nor a cache takes part."""
    if refused := _imported(run):
        return refused
    goal.mkdir()
    write_inside(goal, "params.yaml", run.source("params.yaml"))
    stages, stored, notes = code.order(), list[str](), list[str]()
    if any(source["kind"] != _RENDERED for source in run.params["pull"]["sources"]):
        stages.remove("pull")
        stored += code.outputs("pull")
        notes.append("raw files were taken as stored: that their uris hold them is not verified")
    if (weights := run.params["train"]["weights"]) != "none":
        stages.remove("pretrained")
        stored += code.outputs("pretrained")
        notes.append(f"the weights that training starts from ({weights}) were taken as stored")
    missing = lay_out_stored(run, sorted(stored), goal)
    if missing:
        return judged([], missing, "")
    problems = run_stages(code, place, [Job(stage, goal) for stage in stages], recorded_bytes(run), foreign)
    failed = [f"stage {stage} failed with {whose}: {problem}" for stage, problem in problems.items() if problem]
    if failed:
        return judged(failed[:1], [], "")
    how = f"run with {whose} from the start"
    done = [compared(run, code, stage, goal, how, near_counts=False) for stage in stages]
    return judged(
        _lines(each.failures for each in done),
        _start_weights(run),
        f"{len(stages)} stages from the start with {whose}: all {sum(each.n_same for each in done)} outputs equal byte "
        "by byte",
        [*notes, *_lines(each.notes for each in done)],
    )


def _start_weights(run: Run) -> list[str]:
    """Return what is not known of weights that were taken as stored; nothing where training starts from chance."""
    weights = run.params["train"]["weights"]
    return (
        []
        if weights == "none"
        else [f"where the start weights ({weights}) come from, and that they never learnt test frames"]
    )


def _imported(run: Run) -> Check | None:
    """Return that the training of an imported network cannot be done again, None if it was trained here."""
    checkpoint = str(run.params["train"]["checkpoint"])
    if checkpoint == "none":
        return None
    return Check(NOT_CHECKED, f"the network was imported from {checkpoint}: its training is no part of this run")


def _lines(groups: Any) -> Sequence[str]:
    return [line for group in groups for line in group]
