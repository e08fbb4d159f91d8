"""Checks recompute and re-derive: does the trusted code, on the stored inputs, give the stored outputs?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from reseed.audit.checks import Check, judged
from reseed.audit.redo import Redone, redo
from reseed.audit.trusted import Code
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
