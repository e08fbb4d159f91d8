"""Check rerun: does the trusted code, started from the sources, make every output again?"""

from pathlib import Path
from typing import Final

from reseed.audit.checks import NOT_CHECKED, Check, judged
from reseed.audit.redo import Job, compared, lay_out_stored, run_stages, write_inside
from reseed.audit.trusted import Trusted
from reseed.history.run import RAW, Run

ORDER: Final = (
    "pull",
    "catalog",
    "split",
    "extract",
    "pretrained",
    "train",
    "predict",
    "baselines",
    "aggregate",
    "evaluate",
)
_RENDERED: Final = "demo"


def check_rerun(run: Run, trusted: Trusted, folder: Path) -> Check:
    """Run every stage from the rendered sources, else from the stored raw files, and compare every output.

    Neither DVC nor a cache takes part: what is compared was made here.
    """
    if (imported := run.params["train"]["checkpoint"]) != "none":
        return Check(NOT_CHECKED, f"the network was imported from {imported}: its training is no part of this run")
    goal = folder / "rerun"
    goal.mkdir()
    write_inside(goal, "params.yaml", run.source("params.yaml"))
    stages = list(ORDER)
    stored: list[str] = []
    notes: list[str] = []
    sources = run.params["pull"]["sources"]
    if any(source["kind"] != _RENDERED for source in sources):
        stages.remove("pull")
        stored += trusted.outputs("pull")
        notes.append("raw files were taken as stored: that their uris hold them is not verified")
    if run.params["train"]["weights"] != "none":
        stages.remove("pretrained")
        stored += trusted.outputs("pretrained")
        notes.append(f"the weights that training starts from ({run.params['train']['weights']}) were taken as stored")
    stored += [path for path in ("requirements.lock",) if run.has(path)]
    missing = lay_out_stored(run, sorted(stored), goal)
    if missing:
        return judged([], missing, "")
    problems = run_stages(trusted.code(folder), trusted, [Job(stage, goal) for stage in stages])
    failed = [f"stage {stage} failed: {problem}" for stage, problem in problems.items() if problem]
    if failed:
        return judged(failed[:1], [], "")
    done = [compared(run, trusted, stage, goal, "run with the trusted code from the sources") for stage in stages]
    return judged(
        [line for each in done for line in each.failures],
        [],
        f"{len(stages)} stages from {'the sources' if 'pull' in stages else RAW}: all "
        f"{sum(each.n_same for each in done)} outputs equal byte by byte",
        [*notes, *(line for each in done for line in each.notes)],
    )
