import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reseed.base.grid import Grid, grid_of, point_boxes, point_id, tile_boxes, tile_id


def test_reefscan_frame_has_4_by_7_patches() -> None:
    # 5312 / 800 = 6.64 -> 7 columns; 3040 / 800 = 3.8 -> 4 rows
    grid = grid_of(5312, 3040, 800)
    assert (grid, grid.n_patches) == (Grid(4, 7), 28)
    boxes = tile_boxes(5312, 3040, grid)
    # floor(5312 * 1 / 7) = 758, floor(5312 * 2 / 7) = 1517, 3040 / 4 = 760
    assert boxes[0].tolist() == [0, 0, 758, 760]
    assert boxes[1].tolist() == [758, 0, 1517, 760]
    assert boxes[27].tolist() == [4553, 2280, 5312, 3040]


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(8, 900))
def test_tiles_cover_the_frame_once_and_are_no_larger_than_the_target(width: int, height: int, size: int) -> None:
    grid = grid_of(width, height, size)
    boxes = tile_boxes(width, height, grid)
    edges = boxes[:, 2:] - boxes[:, :2]
    assert edges.prod(axis=1).sum() == width * height
    assert boxes[:, 0].min() == 0
    assert boxes[:, 3].max() == height
    assert edges.max() <= size
    assert np.ptp(edges, axis=0).max() <= 1


def test_point_boxes_are_centred_and_may_reach_over_the_border() -> None:
    assert point_boxes(np.array([[10, 100]]), 40).tolist() == [[-10, 80, 30, 120]]


def test_ids() -> None:
    assert tile_id("s/a.jpg", 3, 5) == "s/a.jpg#r003c005"
    assert point_id("s/a.jpg", x=217, y=671) == "s/a.jpg#y0671x0217"
