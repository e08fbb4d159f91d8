"""Checks recompute and re-derive: does the trusted code, on the stored inputs, give the stored outputs?

The sentences that tell what an audit proved, and what not, stand here too.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from reseed.audit.redo import Redone, redo
from reseed.audit.trusted import DIFFERS, FAIL, PASS, Check, Code, judged
from reseed.base.errors import ReseedError
from reseed.history.run import Run

SCORING: Final = ("aggregate", "evaluate")
# Two processes: what opens pictures, and what needs the network.
DERIVING: Final = (("catalog", "split"), ("extract", "predict", "baselines"))
_RENDERED: Final = "demo"
_SIZES: Final = ("sites", "sequences_per_site", "frames_per_sequence", "width_px", "height_px")
# About 10 s on two cores.
_MOST_RENDERED_PX: Final = 10_000_000


def check_recompute(run: Run, trusted: Code, folder: Path) -> Check:
    """Redo the decisions and the scores from the stored predictions."""
    return _judge(redo(run, trusted, folder, [SCORING]), SCORING)


def check_derive(run: Run, trusted: Code, folder: Path) -> Check:
    """Redo tables, patches and labels from the raw data, the predictions from the stored model; render the demo."""
    lines = [list(line) for line in DERIVING]
    if renders_again(run.params):
        lines[0].append("pull")
    if run.params["train"]["weights"] == "none":
        lines[1].insert(0, "pretrained")
    if run.params["baselines"]["image"]:  # trains a network of its own
        lines[1].remove("baselines")
    stages = [stage for line in lines for stage in line]
    return _judge(redo(run, trusted, folder, lines), stages)


def renders_again(params: Mapping[str, Any]) -> bool:
    """Whether check re-derive renders the raw data again: where all are rendered, and quickly; a rerun always does."""
    if any(source["kind"] != _RENDERED for source in params["pull"]["sources"]):
        return False
    demo = params["demo"]
    if not all(type(demo[key]) is int for key in _SIZES):  # a list times a number is as long as somebody likes
        raise ReseedError("params.yaml: demo: sites, sequences, frames, width and height have to be whole numbers")
    n_frames = demo["sites"] * demo["sequences_per_site"] * demo["frames_per_sequence"]
    return bool(n_frames * demo["width_px"] * demo["height_px"] <= _MOST_RENDERED_PX)


def _judge(done: Sequence[Redone], stages: Sequence[str]) -> Check:
    n_same = sum(each.n_same for each in done)
    return judged(
        [line for each in done for line in each.failures],
        [line for each in done for line in each.unchecked],
        f"{', '.join(stages)} redone on stored inputs: {n_same} outputs equal byte by byte",
        [line for each in done for line in each.notes],
    )


# What a check proves if it passes, and what is open where it did not.
_PROVEN: Final[dict[str, str]] = {
    "claim": "metrics.json holds the claimed scores and is the file that dvc.lock recorded",
    "code": "what the stages would run is the trusted code, file by file",
    "chain": "dvc.lock leads from the scores to the raw data through recorded digests and parameters",
    "objects": "the stored files are those that dvc.lock, raw.json, params.yaml and frames.csv name",
    "recompute": "the trusted code gives these scores and decisions for the stored predictions",
    "re-derive": "the trusted code gives these labels, split and patches for the raw data, and these predictions for "
    "the stored model",
    "leakage": "no frame, patch or equal file lies in two splits",
    "rerun": "the trusted code, trained with these parameters on these frames, makes this network and these scores",
    "retrain": "training with the trusted code on the stored labels comes near the claimed score",
    "revision-code": "the code of the revision itself makes these outputs",
}
_TRAINING: Final = "that this network was trained as the parameters say"


def conclusions(run: Run, trusted: Code, checks: Mapping[str, Check]) -> list[str]:
    """Return one line for each thing that is proven, and that is not, the first before the second."""
    proven = [_PROVEN[name] for name, check in checks.items() if check.status == PASS]
    lines = [f"Proven: {line}." for line in proven]
    for name, check in checks.items():
        if check.status == FAIL:
            lines.append(f"Wrong: check {name}: {check.reason}")
        elif check.status == DIFFERS:
            lines.append(
                f"Not proven: that the code of the revision did what {trusted.name} does. Its scores are compared with "
                "what the trusted code gives; what its training did is not known."
            )
        elif check.status != PASS and name != "rerun":
            lines.append(f"Not proven, as check {name} was not done: {_PROVEN[name]}.")
    lines += [f"Not proven: {line}" for line in _open(run, checks)]
    if not _passed(checks, "rerun"):
        lines.append(
            "`--rerun` makes all of it again, on the machine it was made on; elsewhere `--retrain` trains again."
        )
    return lines


def _passed(checks: Mapping[str, Check], name: str) -> bool:
    return name in checks and checks[name].status == PASS


def _open(run: Run, checks: Mapping[str, Check]) -> Iterator[str]:
    """Yield what no check that was done can show."""
    if not _passed(checks, "rerun"):
        yield f"{_TRAINING}."
        yield "that device, versions and engine are as the run says: they are claims, not verified."
    try:
        sources, baselines = run.params["pull"]["sources"], run.params["baselines"]["image"]
        taken = [str(source["name"]) for source in sources if source["kind"] != "demo"]
        rendered = renders_again(run.params)
    except (ReseedError, KeyError, TypeError):
        return
    if taken:
        yield f"that source {', '.join(taken)} holds these files: they were taken as stored, no uri was opened."
    elif not rendered and not _passed(checks, "rerun"):
        yield "that the source renders these raw files and labels: it is too large to be rendered again in passing."
    if baselines and not _passed(checks, "rerun"):
        yield "the answers of the image baseline, which is trained too: they are claims, not verified."
    yield "that nobody looked at the test frames and chose among several runs: no file can show that."
