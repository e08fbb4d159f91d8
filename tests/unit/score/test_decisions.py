from fractions import Fraction

import pandas as pd
import pytest

from reseed.artifacts.catalog import FRAME_LABELS
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS
from reseed.base.errors import TableError
from reseed.score.decisions import count_patches, frame_table


def patches(frames: dict[str, tuple[str, list[str]]]) -> pd.DataFrame:
    return PATCH_PREDICTIONS.frame(
        [
            {
                "patch_id": f"{frame}#r000c{index:03d}",
                "frame_id": frame,
                "split": split,
                "gold": "",
                "p_no_deploy": 0.2,
                "p_coral": 0.3,
                "p_deploy": 0.5,
                "predicted": name,
            }
            for frame, (split, names) in frames.items()
            for index, name in enumerate(names)
        ]
    )


def labels(*rows: tuple[str, str, str, int]) -> pd.DataFrame:
    keys = ("frame_id", "annotator", "label", "gold")
    return FRAME_LABELS.frame([dict(zip(keys, row, strict=True)) for row in rows])


FRAMES = {
    "b.jpg": ("test", ["Deploy", "Coral", "Deploy", "No-Deploy"]),
    "a.jpg": ("val", ["Coral", "Coral", "No-Deploy"]),
}


def test_counts_by_hand() -> None:
    counts = count_patches(patches(FRAMES), labels(("b.jpg", "A", "Deploy", 1), ("b.jpg", "B", "No-Deploy", 0)))
    assert counts.frame_id.tolist() == ["a.jpg", "b.jpg"]
    assert counts.split.tolist() == ["val", "test"]
    assert counts.n_patches.tolist() == [3, 4]
    assert counts.deploy_count.tolist() == [0, 2]
    assert counts.coral_count.tolist() == [2, 1]
    assert counts.gold.tolist() == ["", "Deploy"]  # annotator B is not the reference
    assert counts.labelled("test").tolist() == [False, True]
    assert counts.labelled("val").tolist() == [False, False]


def test_table_by_hand() -> None:
    table = frame_table(count_patches(patches(FRAMES), labels()), Fraction(1, 2))
    assert list(table.columns) == FRAME_PREDICTIONS.names
    # b.jpg: 2 of 4 is not above one half
    assert table["decision"].tolist() == ["No-Deploy", "No-Deploy"]
    assert table["deploy_ratio"].tolist() == [0.0, 0.5]
    assert table["coral_cover"].round(6).tolist() == [0.666667, 0.25]
    assert table["alpha"].tolist() == [0.5, 0.5]
    below = frame_table(count_patches(patches(FRAMES), labels()), Fraction(49, 100))
    assert below["decision"].tolist() == ["No-Deploy", "Deploy"]


def test_the_order_of_rows_does_not_matter() -> None:
    rows = patches(FRAMES)
    once = frame_table(count_patches(rows, labels()), Fraction(1, 4))
    again = frame_table(count_patches(rows.sample(frac=1, random_state=1), labels()), Fraction(1, 4))
    pd.testing.assert_frame_equal(once, again)


def test_a_divided_frame_is_refused() -> None:
    rows = patches(FRAMES)
    rows.loc[0, "split"] = "train"
    with pytest.raises(TableError, match=r"1 frames have patches in several splits, first: b\.jpg in test, train"):
        count_patches(rows, labels())


def test_no_predictions_are_refused() -> None:
    with pytest.raises(TableError, match="holds no patch"):
        count_patches(patches({}), labels())


def test_an_unknown_class_is_refused() -> None:
    with pytest.raises(TableError, match="'Sand' is unknown"):
        count_patches(patches({"a.jpg": ("test", ["Sand"])}), labels())


def test_an_unknown_decision_is_refused() -> None:
    with pytest.raises(TableError, match=r"a\.jpg: label 'Coral' is neither decision"):
        count_patches(patches(FRAMES), labels(("a.jpg", "A", "Coral", 1)))


def test_two_references_for_a_frame_are_refused() -> None:
    with pytest.raises(TableError, match=r"a\.jpg: two reference decisions"):
        count_patches(patches(FRAMES), labels(("a.jpg", "A", "Deploy", 1), ("a.jpg", "B", "Deploy", 1)))
