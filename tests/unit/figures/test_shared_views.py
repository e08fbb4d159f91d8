import numpy as np
import pytest
from matplotlib.figure import Figure

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.figures.contact_sheet import PairOfViews, common_boxes, mosaic, shared_views_figure
from reseed.figures.style import png_bytes


def pair(down: int = 10, right: int = -20, second: tuple[int, int] = (96, 168)) -> PairOfViews:
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 200, (*shape, 3), dtype=np.uint8) for shape in ((96, 168), second)]
    return PairOfViews(*pictures, down, right, ("tow/a", "tow/b"), ("train", "test"), "80 % in common")


def texts(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.texts)


@pytest.mark.parametrize(
    ("down", "right", "first", "second"),
    [
        # Frames of 96 x 168; the second lies 10 lower and 20 to the left: rows 10-96 and columns 0-148 of the first are
        # rows 0-86 and columns 20-168 of the second.
        (10, -20, (0, 10, 148, 96), (20, 0, 168, 86)),
        (-10, 20, (20, 0, 168, 86), (0, 10, 148, 96)),
        (0, 0, (0, 0, 168, 96), (0, 0, 168, 96)),
    ],
)
def test_what_two_frames_have_in_common(down: int, right: int, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    assert common_boxes((96, 168, 3), (96, 168, 3), down, right) == (first, second)


def test_frames_that_do_not_touch_have_nothing_in_common() -> None:
    (x0, y0, x1, y1), _ = common_boxes((96, 168), (96, 168), 100, 0)
    assert (x1 - x0) * (y1 - y0) == 0
    shared_views_figure([pair(down=100)], "Title", "Subtitle", synthetic=False)


def test_the_mosaic_takes_tiles_in_turn() -> None:
    # 12 x 18 px: the shorter edge of 12 gives 6 tiles of 2 px.
    picture, tile = mosaic(np.zeros((12, 18, 3), np.uint8), np.ones((12, 18, 3), np.uint8))
    assert tile == 2
    assert picture[:, :, 0][::2, ::2].tolist() == [[(row + column) % 2 for column in range(9)] for row in range(6)]


def test_the_figure_says_what_it_shows_and_is_the_same_each_time() -> None:
    pairs = [pair(), pair(0, 5, second=(96, 120))]
    figure = shared_views_figure(pairs, "Two pairs", "All registered", synthetic=False)
    for expected in ("Two pairs", "All registered", "train", "test", "tow/a", "tow/b", "80 % in common"):
        assert expected in texts(figure)
    assert SYNTHETIC_NOTICE not in texts(figure)
    assert len(figure.axes) == 6
    assert png_bytes(figure) == png_bytes(shared_views_figure(pairs, "Two pairs", "All registered", synthetic=False))


def test_nothing_to_show_and_the_synthetic_notice() -> None:
    figure = shared_views_figure([], "Nothing", "None", synthetic=True)
    assert SYNTHETIC_NOTICE in texts(figure)
    assert figure.axes == []
