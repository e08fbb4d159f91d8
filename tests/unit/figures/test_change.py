import pytest
from matplotlib.figure import Figure

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.figures.baselines import Step, change_figure
from reseed.figures.style import png_bytes
from reseed.score.bootstrap import Interval

NONE = Interval(float("nan"), float("nan"), 2, "2 clusters")


def drawn(*, synthetic: bool = False) -> Figure:
    steps = [
        Step("macro F1", 83.8, 85.1, Interval(0.79, 0.88, 8), Interval(0.81, 0.89, 8)),
        Step("No-Deploy", 80.3, 81.0, NONE, Interval(0.75, 0.87, 8)),
        Step("Coral", None, 79.1, NONE, NONE),
        Step("Deploy", 99.0, 92.1, Interval(0.97, 1.0, 8), Interval(0.88, 0.95, 8)),
    ]
    return change_figure(steps, "Patch macro F1 83.8 % on base", "436 labelled test patches.", synthetic=synthetic)


def test_each_score_stands_twice_with_its_interval() -> None:
    figure = drawn()
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["macro F1", "No-Deploy", "Coral", "Deploy"]
    # A dot for each score there is, base above head; a line each, without length where there is no interval.
    dots = [tuple(point) for dots in ax.collections for point in dots.get_offsets()]
    assert [x for x, _ in dots] == [83.8, 85.1, 80.3, 81.0, 79.1, 99.0, 92.1]
    assert dots[0][1] < dots[1][1]
    ends = [list(line.get_xdata()) for line in ax.lines]
    assert ends[0] == pytest.approx([79.0, 88.0])
    assert ends[2] == [80.3, 80.3]
    assert "no score" in [text.get_text() for text in ax.texts]


def test_a_rendered_reef_is_marked_and_the_same_figure_gives_the_same_bytes() -> None:
    assert SYNTHETIC_NOTICE in [text.get_text() for text in drawn(synthetic=True).texts]
    assert SYNTHETIC_NOTICE not in [text.get_text() for text in drawn().texts]
    assert png_bytes(drawn()) == png_bytes(drawn())
