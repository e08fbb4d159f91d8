import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from reseed.base.classes import CLASSES
from reseed.base.errors import ReseedError
from reseed.score.confusion import class_indices, compute_metrics, decision_indices

pairs = st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from(CLASSES)), min_size=1, max_size=60)


def test_by_hand() -> None:
    gold = ["No-Deploy", "No-Deploy", "No-Deploy", "Coral", "Coral", "Deploy"]
    predicted = ["No-Deploy", "No-Deploy", "Coral", "Coral", "Deploy", "Deploy"]
    # No-Deploy: P 2/2, R 2/3, F1 4/5. Coral: P 1/2, R 1/2, F1 1/2. Deploy: P 1/2, R 1/1, F1 2/3.
    # macro F1 = (4/5 + 1/2 + 2/3) / 3 = 59/90; accuracy = 4/6.
    assert compute_metrics(predicted, gold) == pytest.approx({"macro_f1": 59 / 90, "accuracy": 4 / 6})


@settings(max_examples=40)  # scikit-learn takes 10 ms a time
@given(pairs)
def test_equals_scikit_learn(answers: list[tuple[str, str]]) -> None:
    gold, predicted = zip(*answers, strict=True)
    expected = f1_score(gold, predicted, labels=list(CLASSES), average="macro", zero_division=0)
    scores = compute_metrics(predicted, gold)
    assert scores["macro_f1"] == pytest.approx(expected)
    assert scores["accuracy"] == pytest.approx(accuracy_score(gold, predicted))


@given(pairs, st.randoms(use_true_random=False))
def test_order_does_not_matter(answers: list[tuple[str, str]], random: object) -> None:
    shuffled = list(answers)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    once, again = (compute_metrics([p for _, p in rows], [g for g, _ in rows]) for rows in (answers, shuffled))
    assert once == again


@given(pairs, st.permutations(CLASSES))
def test_renaming_the_classes_changes_nothing(answers: list[tuple[str, str]], names: list[str]) -> None:
    new = dict(zip(CLASSES, names, strict=True))
    before = compute_metrics([p for _, p in answers], [g for g, _ in answers])
    after = compute_metrics([new[p] for _, p in answers], [new[g] for g, _ in answers])
    assert after == pytest.approx(before)


@given(pairs)
def test_swapping_prediction_and_gold_keeps_f1(answers: list[tuple[str, str]]) -> None:
    gold, predicted = zip(*answers, strict=True)
    assert compute_metrics(gold, predicted) == compute_metrics(predicted, gold)


def test_a_class_that_never_occurs_counts_zero() -> None:
    # No-Deploy and Coral are all right, Deploy is neither predicted nor in gold: (1 + 1 + 0) / 3
    assert compute_metrics(["Coral", "No-Deploy"], ["Coral", "No-Deploy"])["macro_f1"] == pytest.approx(2 / 3)


def test_always_the_largest_class_looks_good_only_in_accuracy() -> None:
    gold = ["No-Deploy"] * 90 + ["Deploy"] * 10
    # F1 of No-Deploy = 2 * 90 / (100 + 90) = 18/19, the others 0
    assert compute_metrics(["No-Deploy"] * 100, gold) == pytest.approx({"macro_f1": 6 / 19, "accuracy": 0.9})


def test_all_wrong_is_zero() -> None:
    assert compute_metrics(["Deploy"], ["Coral"]) == {"macro_f1": 0.0, "accuracy": 0.0}


def test_other_sequences_are_taken() -> None:
    names = ["Deploy", "Coral"]
    expected = compute_metrics(names, names)
    assert compute_metrics(np.array(names), pd.Series(names, index=[7, 3])) == expected
    assert compute_metrics(iter(names), tuple(names)) == expected
    assert all(type(value) is float for value in expected.values())


@pytest.mark.parametrize(
    ("predicted", "gold", "message"),
    [
        ([], [], "nothing to score"),
        (["Coral"], ["Coral", "Coral"], "1 predictions for 2 gold labels"),
        (["Coral"], [], "1 predictions for 0 gold labels"),
        (["Sand"], ["Coral"], "predictions, item 0: 'Sand' is unknown; allowed: No-Deploy, Coral, Deploy"),
        (["Coral", "Coral"], ["Coral", "no_deploy"], "gold, item 1: 'no_deploy'"),
        (["Coral"], [None], "gold, item 0: None"),
        (["Coral"], [float("nan")], "gold, item 0: nan"),
        ([1], ["Coral"], "predictions, item 0: 1"),
        (["Coral"], [["Coral"]], "gold, item 0"),
        ("Coral", "Coral", "item 0: 'C'"),
    ],
)
@pytest.mark.parametrize("kind", [ReseedError, ValueError])
def test_bad_input_is_an_error(predicted: list[str], gold: list[str], message: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=message):
        compute_metrics(predicted, gold)


def test_indices_follow_the_class_order() -> None:
    assert class_indices(["Deploy", "No-Deploy", "Coral"], "gold").tolist() == [2, 0, 1]
    assert decision_indices(["Deploy", "No-Deploy"], "gold").tolist() == [1, 0]
    assert class_indices([], "gold").dtype == np.int64
    with pytest.raises(ReseedError, match="'Coral' is unknown; allowed: No-Deploy, Deploy"):
        decision_indices(["Coral"], "gold")
