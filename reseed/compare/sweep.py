"""A sweep: the experiments of a commit side by side, with the parameters that differ and the scores they gave."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from reseed.artifacts.catalog import FRAMES
from reseed.base.errors import ReseedError
from reseed.base.grid import Grid, grid_of
from reseed.history.recorded import same_value
from reseed.score.registry import BY_FULL_KEY, FRAME, HEADLINE, NOT_AVAILABLE, PATCH

# What is shown of each experiment, the headlines first; keys as in metrics.json.
SHOWN: Final = (
    f"{PATCH}.{HEADLINE}",
    f"{FRAME}.{HEADLINE}",
    f"{FRAME}.accuracy",
    f"{FRAME}.deploy_precision",
    f"{FRAME}.deploy_recall",
)
PATCH_SIZE: Final = "extract.patch_size"
_DONE: Final = "done"
# Sections that decide frames and change no patch: of a sweep over these, frame scores are the finding.
_OF_FRAMES: Final = ("aggregate.", "evaluate.")
_FRAMES_TABLE: Final = Path("data/catalog/frames.csv")
_NO_PARAMETERS: Final = frozenset({"Experiment", "rev", "typ", "Created", "parent", "State", "Executor"})
_METRICS: Final = (f"{PATCH}.", f"{FRAME}.", "data.")


@dataclass(frozen=True)
class Trial:
    """One experiment, or the commit that experiments start from.

    Args:
        name: Of the experiment; of the commit, its short digest.
        state: `done`, or as DVC says: queued, running, failed.
        params: Value of each parameter that differs among the trials.
        scores: By the keys of `SHOWN`, percent; None where there is none, and until the trial is done.
        spread: Standard deviation over trainings of the headlines; None where there is one training.
        interval: Ends of the 95 % interval of patch macro F1; None where there is none.
    """

    name: str
    state: str
    params: Mapping[str, Any]
    scores: Mapping[str, float | None]
    spread: Mapping[str, float | None]
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Sweep:
    """Trials side by side.

    Args:
        params: Names of the parameters that differ.
        trials: In the order of their parameters.
        shown: Keys of the scores that differ, or all where none does.
        notes: What is worth knowing, in sentences.
        synthetic: Whether a score is of rendered frames.
    """

    params: tuple[str, ...]
    trials: tuple[Trial, ...]
    shown: tuple[str, ...]
    notes: tuple[str, ...]
    synthetic: bool

    def report(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return asdict(self)


def read_sweep(root: Path, revisions: Sequence[str] = ()) -> Sweep:
    """Read the experiments of a commit, as DVC lists them.

    Args:
        root: Of the checkout.
        revisions: Commits whose experiments are read; of HEAD without any.

    Raises:
        ReseedError: If DVC cannot list them, or there is none.
    """
    import dvc.api  # noqa: PLC0415  a second that only this command needs
    from dvc.exceptions import DvcException  # noqa: PLC0415
    from scmrepo.exceptions import SCMError  # noqa: PLC0415

    try:
        rows = dvc.api.exp_show(repo=str(root), revs=list(revisions) or None)
    except (DvcException, SCMError) as error:
        reason = " ".join(str(error).split())
        way_out = "; if an experiment has just started or ended, run the command again"
        raise ReseedError(f"sweep: DVC cannot list the experiments: {reason}{way_out}") from error
    return sweep_of(rows, _frame_sizes(root))


def sweep_of(rows: Sequence[Mapping[str, Any]], frame_sizes: Sequence[tuple[int, int]] = ()) -> Sweep:
    """Return a sweep from the rows of `dvc.api.exp_show`.

    Args:
        rows: One for the workspace, each commit and each experiment.
        frame_sizes: Width and height of the frames, px, to tell which patch sizes give one grid.

    Raises:
        ReseedError: If there is no experiment.
    """
    kept = [row for row in rows if row.get("rev") != "workspace"]
    if not any(row.get("Experiment") for row in kept):
        raise ReseedError(
            "sweep: this commit has no experiment; `dvc exp run --queue -S aggregate.alpha=0.2,0.3` and `dvc queue "
            "start` make some, and `python -m reseed sweep REV` shows those of another commit"
        )
    # A dependency is listed by its path and digest beside the parameters.
    every = dict.fromkeys(name for row in kept for name in row)
    names = [n for n in every if n not in _NO_PARAMETERS and not n.startswith(_METRICS) and "/" not in n]
    differ = tuple(name for name in names if any(not same_value(row.get(name), kept[0].get(name)) for row in kept))
    trials = sorted((_trial(row, differ) for row in kept), key=lambda trial: _order(trial, differ))
    done = [trial for trial in trials if trial.state == _DONE]
    shown = tuple(key for key in SHOWN if len({trial.scores[key] for trial in done}) > 1) or SHOWN
    return Sweep(
        params=differ,
        trials=tuple(trials),
        shown=shown,
        notes=tuple(_notes(differ, done, shown, frame_sizes)),
        synthetic=any(str(row.get("data.synthetic")).lower() == "true" for row in kept),
    )


def _trial(row: Mapping[str, Any], differ: Sequence[str]) -> Trial:
    state = str(row.get("State") or "").lower()
    state = _DONE if state in {"", "success"} else state
    # Until a trial has ended, its folder holds the scores of the commit that it started from, and DVC lists those.
    metrics = row if state == _DONE else {}
    scores = {key: _number(metrics.get(key)) for key in SHOWN}
    ends = [_number(metrics.get(f"{SHOWN[0]}_{end}")) for end in ("low", "high")]
    return Trial(
        name=str(row.get("Experiment") or row.get("rev")),
        state=state,
        params={name: _whole(row.get(name)) for name in differ},
        scores=scores,
        spread={key: _number(metrics.get(f"{key}_sd")) for key in SHOWN[:2]},
        interval=None if ends[0] is None or ends[1] is None else (ends[0], ends[1]),
    )


def _whole(value: Any) -> Any:
    """Return a whole number as such; pandas made a float of it where a trial lacks the parameter."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _order(trial: Trial, differ: Sequence[str]) -> list[tuple[bool, float, str]]:
    """Sort by the values of the parameters, numbers before words."""
    values = [trial.params[name] for name in differ]
    return [(_number(value) is None, _number(value) or 0.0, str(value)) for value in values]


def _notes(
    differ: Sequence[str], done: Sequence[Trial], shown: Sequence[str], frame_sizes: Sequence[tuple[int, int]]
) -> list[str]:
    notes = []
    if differ and all(name.startswith(_OF_FRAMES) for name in differ):
        notes.append("These parameters decide frames and change no patch: frame scores are the finding.")
    if len(done) > 1 and shown == SHOWN:
        notes.append("Every finished trial has the same scores.")
    if PATCH_SIZE in differ:
        notes += _one_grid(
            sorted({int(size) for trial in done if (size := _number(trial.params[PATCH_SIZE]))}), frame_sizes
        )
    one = [trial.name for trial in done if trial.spread[SHOWN[0]] is None]
    if one:
        notes.append(
            f"{len(one)} of {len(done)} trials have one training, so how much of their score is luck is not known "
            "(train.repeats)."
        )
    if len(done) > 1:
        notes.append("The best of several trials on the test set is an optimistic score: say how many were tried.")
    return notes


def _one_grid(sizes: Sequence[int], frame_sizes: Sequence[tuple[int, int]]) -> list[str]:
    """Say which patch sizes cut all frames alike, and so are one experiment."""
    if not frame_sizes:
        return ["Which patch sizes cut the frames alike is not known: data/catalog/frames.csv is not here."]
    by_grids: dict[tuple[Grid, ...], list[int]] = {}
    for size in sizes:
        by_grids.setdefault(tuple(grid_of(*frame, size) for frame in frame_sizes), []).append(size)
    return [
        f"Patch sizes {', '.join(map(str, alike))} cut the frames into the same grid, {grids[0].rows} x {grids[0].cols}"
        f"{' and others' if len(grids) > 1 else ''}: they are one experiment."
        for grids, alike in by_grids.items()
        if len(alike) > 1
    ]


def _frame_sizes(root: Path) -> list[tuple[int, int]]:
    path = root / _FRAMES_TABLE
    if not path.is_file():
        return []
    frames = FRAMES.read(path)
    return sorted({(int(w), int(h)) for w, h in zip(frames["width_px"], frames["height_px"], strict=True)})


_BAR: Final = 24


def sweep_lines(sweep: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table; the first score is drawn as a bar too."""
    keys = [key for key in sweep["shown"] if any(trial["scores"][key] is not None for trial in sweep["trials"])]
    labels = [BY_FULL_KEY[key].full_label for key in keys]
    header = ["", *sweep["params"], *labels, "0 to 100 %", "state"]
    rows = []
    for trial in sweep["trials"]:
        values = [value_text(trial["params"][name]) for name in sweep["params"]]
        scores = [_score(trial, key) for key in keys]
        first = trial["scores"][keys[0]] if keys else None
        bar = "" if first is None else ("#" * round(_BAR * first / 100)).ljust(_BAR, ".")
        rows.append([trial["name"], *values, *scores, bar, trial["state"]])
    return header, rows


def _score(trial: Mapping[str, Any], key: str) -> str:
    value, spread = trial["scores"][key], trial["spread"].get(key)
    if value is None:
        return NOT_AVAILABLE
    interval = trial["interval"] if key == SHOWN[0] else None
    over_groups = "" if interval is None else f" ({interval[0]:.1f} to {interval[1]:.1f})"
    return f"{value:.1f}" + ("" if spread is None else f" +- {spread:.1f}") + over_groups


def value_text(value: Any) -> str:
    """Return the value of a parameter."""
    return "none" if value is None else str(value)
