"""Experiments side by side, from rows as DVC lists them."""

from typing import Any

import pytest
from matplotlib.colors import to_hex

from reseed.base.errors import ReseedError
from reseed.compare.sweep import Sweep, read_sweep, sweep_lines, sweep_of
from reseed.figures.style import png_bytes
from reseed.figures.sweep import sweep_figure

SCORES = {"patch.macro_f1": 80.0, "patch.macro_f1_low": 75.0, "patch.macro_f1_high": 85.0, "patch.macro_f1_sd": 1.5}
SCORES |= {"frame.macro_f1": 70.0, "frame.macro_f1_sd": "n/a", "frame.accuracy": 71.0}
SCORES |= {"frame.deploy_precision": 72.0, "frame.deploy_recall": 73.0, "data.synthetic": True}


def row(name: str, state: str | None = None, scores: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    values = {"aggregate.alpha": "auto", "extract.patch_size": 200, "train.seed": 0.0} | params
    about = {"Experiment": name, "rev": "1234567", "typ": "branch_commit", "State": state, "data/raw": "a.dir"}
    # As DVC: the folder of a running trial still holds the scores of the commit that it started from.
    return about | (SCORES | (scores or {}) if state in {None, "Success", "Running"} else {}) | values


def base(**params: Any) -> list[dict[str, Any]]:
    head = row("", **params) | {"Experiment": None}
    return [head | {"rev": "workspace"}, head]


def alphas() -> Sweep:
    trials = [
        row("high", **{"aggregate.alpha": 0.5}, scores={"frame.macro_f1": 40.0}),
        row("low", "Success", **{"aggregate.alpha": 0.05}, scores={"frame.macro_f1": 60.0}),
        row("waits", "Queued", **{"aggregate.alpha": 0.1}),
    ]
    return sweep_of([*base(), *trials])


def test_only_what_differs_is_shown_in_the_order_of_the_parameters() -> None:
    found = alphas()
    assert found.params == ("aggregate.alpha",)
    assert [trial.name for trial in found.trials] == ["low", "waits", "high", "1234567"]  # numbers before words
    assert [trial.state for trial in found.trials] == ["done", "queued", "done", "done"]
    assert found.shown == ("frame.macro_f1",)  # patch scores are the same in all
    assert found.notes[0].startswith("These parameters decide frames and change no patch")
    assert found.trials[1].scores["frame.macro_f1"] is None
    assert found.trials[0].interval == (75.0, 85.0)
    assert (found.trials[0].spread["patch.macro_f1"], found.trials[0].spread["frame.macro_f1"]) == (1.5, None)


@pytest.mark.parametrize("mark", [True, "True", "true"])
def test_a_sweep_over_rendered_frames_says_so(mark: object) -> None:
    assert sweep_of([*base(), row("x", scores={"data.synthetic": mark})]).synthetic
    field = [{**each, "data.synthetic": False} for each in (*base(), row("x"))]
    assert not sweep_of(field).synthetic


def test_the_table_and_its_bar() -> None:
    header, rows = sweep_lines(alphas().report())
    assert header == ["", "aggregate.alpha", "frame macro F1", "0 to 100 %", "state"]
    # 60 % of 24 signs are 14.4
    assert rows[0] == ["low", "0.05", "60.0", "#" * 14 + "." * 10, "done"]
    assert rows[1] == ["waits", "0.1", "n/a", "", "queued"]


def test_the_interval_stands_beside_a_patch_score() -> None:
    found = sweep_of([*base(), row("x", **{"train.seed": 1.0}, scores={"patch.macro_f1": 79.0})])
    assert [cells[2] for cells in sweep_lines(found.report())[1]] == [
        "80.0 +- 1.5 (75.0 to 85.0)",
        "79.0 +- 1.5 (75.0 to 85.0)",
    ]


def test_a_running_trial_has_no_score_although_dvc_lists_those_of_its_commit() -> None:
    found = sweep_of([*base(), row("x", "Running", **{"aggregate.alpha": 0.3})])
    running = found.trials[0]
    assert (running.state, running.interval) == ("running", None)
    assert set(running.scores.values()) == set(running.spread.values()) == {None}


def test_a_parameter_that_the_first_commit_does_not_have_is_shown() -> None:
    found = sweep_of([*base(), row("x", **{"predict.flips": True})])
    assert found.params == ("predict.flips",)
    assert {trial.name: trial.params["predict.flips"] for trial in found.trials} == {"x": True, "1234567": None}


def test_patch_sizes_that_cut_alike_are_one_experiment() -> None:
    # 1328 / 190 and 1328 / 200 both give 7 columns, 760 / 190 and 760 / 200 4 rows; 250 gives 6 x 4
    trials = [
        row(str(size), **{"extract.patch_size": float(size)}, scores={"patch.macro_f1": size / 3})
        for size in (190, 250)
    ]
    notes = sweep_of([*base(), *trials], [(1328, 760)]).notes
    assert notes[0] == "Patch sizes 190, 200 cut the frames into the same grid, 4 x 7: they are one experiment."
    assert "is not known" in sweep_of([*base(), *trials]).notes[0]


def test_one_training_and_many_trials_are_said() -> None:
    found = sweep_of(
        [*base(), row("x", **{"train.seed": 1.0}, scores={"patch.macro_f1": 79.0, "patch.macro_f1_sd": "n/a"})]
    )
    assert "1 of 2 trials have one training" in found.notes[0]
    assert (
        found.notes[1] == "The best of several trials on the test set is an optimistic score: say how many were tried."
    )
    assert found.trials[0].params == {"train.seed": 0.0}
    assert sweep_lines(found.report())[1][0][1] == "0"


def test_without_experiments_one_line_says_how_to_make_some(tmp_path: Any) -> None:
    with pytest.raises(ReseedError, match="this commit has no experiment; `dvc exp run --queue"):
        sweep_of(base())
    with pytest.raises(ReseedError, match="sweep: DVC cannot list the experiments"):
        read_sweep(tmp_path)


def test_equal_scores_of_a_trial_do_not_hide_each_other() -> None:
    equal = {"frame.macro_f1": 50.0, "frame.accuracy": 50.0}
    figure = sweep_figure(sweep_of([*base(), row("x", **{"train.seed": 1.0}, scores=equal)]).report())
    dots = [tuple(dot) for drawn in figure.axes[0].collections for dot in drawn.get_offsets().tolist()]
    assert sorted(value for _, value in dots) == [50.0, 50.0, 70.0, 71.0]
    assert len(set(dots)) == 4


def test_a_picture_of_trials_that_wait_is_refused() -> None:
    waiting = sweep_of([*base(), row("x", "Queued", **{"aggregate.alpha": 0.3})])
    with pytest.raises(ReseedError, match="1 of 2 trials are finished: wait for `dvc queue status`"):
        sweep_figure(waiting.report())


def test_the_picture_has_a_panel_for_each_parameter_that_finished_trials_differ_in() -> None:
    trials = [
        row("a", **{"aggregate.alpha": 0.2, "train.seed": 1.0}, scores={"frame.macro_f1": 50.0}),
        row("b", "Failed", **{"extract.patch_size": 100}),
    ]
    figure = sweep_figure(sweep_of([*base(), *trials]).report())
    assert [ax.get_xlabel() for ax in figure.axes] == ["aggregate.alpha", "train.seed"]
    first = figure.axes[0].collections[0]
    assert sorted(first.get_offsets()[:, 1].tolist()) == [50.0, 70.0]
    assert to_hex(first.get_facecolor()[0]) == "#0058a3"
    words = " ".join(" ".join(text.get_text() for text in figure.texts).split())
    assert "SYNTHETIC" in words
    assert "Frame macro F1 is highest, 70.0 %, with alpha auto, seed 0" in words
    assert png_bytes(figure).startswith(b"\x89PNG")
