from fractions import Fraction

import pandas as pd
import pytest

from reseed.artifacts.catalog import FRAME_LABELS
from reseed.artifacts.patches import PATCH_INDEX, SPLITS_TABLE
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS
from reseed.base.errors import TableError
from reseed.params.aggregate import AggregateParams
from reseed.score.decisions import count_patches, decide_frames, frame_table


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


def guaranteed(alpha: str, groups: int, rule: str = "ratio", *, known: bool = True) -> pd.DataFrame:
    """One val frame of 4 patches in each group; the first has 2 Deploy patches and is No-Deploy, the others Deploy."""
    frames = {
        f"{n:02d}.jpg": ("val", ["Deploy"] * (3 if n else 2) + ["Coral"] * (1 if n else 2)) for n in range(groups)
    }
    predicted = patches(frames)
    gold = labels(*[(name, "A", "Deploy" if number else "No-Deploy", 1) for number, name in enumerate(frames)])
    split = SPLITS_TABLE.frame([{"frame_id": name, "group": name, "split": "val"} for name in frames])
    index = PATCH_INDEX.frame(
        [
            {"patch_id": row.patch_id, "frame_id": row.frame_id, "row": 0, "col": number % 4}
            | {"x0": 0, "y0": 0, "x1": 1, "y1": 1}
            for number, row in enumerate(predicted.itertuples())
        ]
    )
    params = AggregateParams.model_validate({"rule": rule, "alpha": alpha, "ask": "none"})
    return decide_frames(predicted, gold, index, params, split if known else None)


@pytest.mark.parametrize("unit", ["group", "frame"])
def test_a_guaranteed_alpha_by_hand(unit: str) -> None:
    # 0.05 x 20 - 1 = 0: of 19 units none may be a wrong drop, so alpha is 2/4. 0.1 x 20 - 1 = 1: one may be.
    assert set(guaranteed(f"guaranteed 0.05 by {unit}", 19)["alpha"]) == {0.5}
    assert set(guaranteed(f"guaranteed 0.1 by {unit}", 19)["alpha"]) == {0.0}


def test_a_guarantee_with_confidence_by_hand() -> None:
    # 0.95^45 = 0.0994 <= 0.1: 45 frames allow no wrong drop at a confidence of 0.9; 0.95^59 = 0.0485 <= 0.05.
    assert set(guaranteed("guaranteed 0.05 by frame with confidence 0.9", 45)["alpha"]) == {0.5}
    for unit, level, needed in (("frame", "0.9", 45), ("frame", "0.95", 59), ("group", "0.9", 65)):
        with pytest.raises(TableError, match=rf"confident at 5 %: needs {needed} {unit}s .*, there are 44"):
            guaranteed(f"guaranteed 0.05 by {unit} with confidence {level}", 44)


def test_a_guarantee_that_cannot_be_given() -> None:
    with pytest.raises(TableError, match="needs 19 groups with a reference decision, there are 6"):
        guaranteed("guaranteed 0.05 by group", 6)
    with pytest.raises(TableError, match=r"aggregate\.rule logistic has no alpha; set ratio"):
        guaranteed("guaranteed 0.05 by group", 19, "logistic")
    with pytest.raises(TableError, match="groups are not known here"):
        guaranteed("guaranteed 0.05 by group", 19, known=False)
