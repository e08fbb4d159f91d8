import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reseed.patches.extract import label_boxes

BOX = np.array([[0, 0, 10, 10]])


def test_the_class_that_covers_most_wins() -> None:
    # Deploy covers 6 x 10 = 60, Coral 2 x 10 = 20 of the box: purity 60 / 80
    rects = np.array([[0, 0, 6, 10], [8, 0, 20, 10]])
    found = label_boxes(BOX, rects, np.array([2, 1]), min_purity=0.5)
    assert found.class_index.tolist() == [2]
    assert found.purity.tolist() == [0.75]


def test_below_min_purity_there_is_no_label_but_the_purity_is_told() -> None:
    rects = np.array([[0, 0, 6, 10], [8, 0, 20, 10]])
    found = label_boxes(BOX, rects, np.array([2, 1]), min_purity=0.8)
    assert found.class_index.tolist() == [-1]
    assert found.purity.tolist() == [0.75]


def test_nothing_annotated_is_no_label() -> None:
    found = label_boxes(BOX, np.array([[10, 0, 20, 10]]), np.array([2]), min_purity=0.0)
    assert found.class_index.tolist() == [-1]
    assert np.isnan(found.purity).all()


def test_equal_areas_go_to_the_safe_side() -> None:
    rects = np.array([[5, 0, 10, 10], [0, 0, 5, 10]])
    assert label_boxes(BOX, rects, np.array([2, 0]), min_purity=0.5).class_index.tolist() == [0]


@given(st.lists(st.tuples(*[st.integers(0, 19)] * 2, *[st.integers(1, 12)] * 2, st.integers(0, 2)), max_size=8))
def test_areas_agree_with_counting_pixels(drawn: list[tuple[int, int, int, int, int]]) -> None:
    boxes = np.array([[0, 0, 10, 10], [10, 0, 20, 10], [3, 4, 17, 19]])
    rects = np.array([[x, y, x + w, y + h] for x, y, w, h, _ in drawn]).reshape(-1, 4)
    classes = np.array([c for *_, c in drawn], dtype=np.int64)
    counts = np.zeros((3, 40, 40), int)
    for (x0, y0, x1, y1), c in zip(rects, classes, strict=True):
        counts[c, y0:y1, x0:x1] += 1
    found = label_boxes(boxes, rects, classes, min_purity=0.0)
    for (x0, y0, x1, y1), index, purity in zip(boxes, found.class_index, found.purity, strict=True):
        area = counts[:, y0:y1, x0:x1].sum(axis=(1, 2))
        if area.sum() == 0:
            assert index == -1
        else:
            assert index == area.argmax()
            assert purity == area.max() / area.sum()
