from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, precision_recall_fscore_support

from reseed.base.errors import TableError
from reseed.score.alpha_curve import alpha_curve
from reseed.score.confusion import accuracy, class_scores, confusion_counts, macro_f1
from reseed.score.registry import FRAME, SCORES

lengths = st.integers(1, 50)
answers = lengths.flatmap(
    lambda n: st.tuples(
        arrays(np.int64, n, elements=st.integers(0, 2)), arrays(np.int64, n, elements=st.integers(0, 2))
    )
)


@settings(max_examples=40)  # scikit-learn takes 10 ms a time
@given(answers)
def test_equals_scikit_learn(pair: tuple[np.ndarray, np.ndarray]) -> None:
    gold, predicted = pair
    counts = confusion_counts(gold, predicted, 3)
    assert (counts == confusion_matrix(gold, predicted, labels=[0, 1, 2])).all()
    each = class_scores(counts)
    expected = precision_recall_fscore_support(gold, predicted, labels=[0, 1, 2], zero_division=0)
    for ours, theirs in zip((each.precision, each.recall, each.f1, each.support), expected, strict=True):
        assert ours == pytest.approx(theirs)
    assert (each.predicted == np.bincount(predicted, minlength=3)).all()
    assert float(accuracy(counts)) == pytest.approx(accuracy_score(gold, predicted))
    assert float(macro_f1(counts)) == pytest.approx(
        f1_score(gold, predicted, labels=[0, 1, 2], average="macro", zero_division=0)
    )


@given(arrays(np.int64, (4, 2, 3, 3), elements=st.integers(0, 9)))
def test_a_batch_scores_as_its_members(batch: np.ndarray) -> None:
    together, scores = class_scores(batch), macro_f1(batch)
    for place in np.ndindex(4, 2):
        alone = class_scores(batch[place])
        assert (together.precision[place] == alone.precision).all()
        assert (together.recall[place] == alone.recall).all()
        assert (together.f1[place] == alone.f1).all()
        assert scores[place] == macro_f1(batch[place])
        assert accuracy(batch)[place] == accuracy(batch[place])


@given(arrays(np.int64, (3, 3), elements=st.integers(0, 9)))
def test_f1_is_the_harmonic_mean(counts: np.ndarray) -> None:
    each = class_scores(counts)
    for p, r, f1 in zip(each.precision, each.recall, each.f1, strict=True):
        assert f1 == pytest.approx(2 * p * r / (p + r) if p + r else 0.0)
        assert 0 <= f1 <= 1


def test_several_variants_of_predictions_count_at_once() -> None:
    gold = np.array([0, 1, 1])
    counts = confusion_counts(gold, np.array([[[0, 1, 1]], [[1, 1, 0]]]), 2)
    assert counts.shape == (2, 1, 2, 2)
    assert counts[0, 0].tolist() == [[1, 0], [0, 2]]
    assert counts[1, 0].tolist() == [[0, 1], [1, 1]]


def test_nothing_to_score_is_zero_not_an_error() -> None:
    counts = confusion_counts(np.array([], dtype=np.int64), np.array([], dtype=np.int64), 3)
    assert counts.tolist() == [[0, 0, 0]] * 3
    assert float(macro_f1(counts)) == 0
    assert float(accuracy(counts)) == 0


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [([0, 1], [0]), ([0], [[0, 1]]), ([[0]], [[0]]), ([3], [0]), ([0], [-1])],
)
def test_bad_indices_are_refused(gold: list[int], predicted: list[int]) -> None:
    with pytest.raises(TableError):
        confusion_counts(np.array(gold), np.array(predicted), 3)


def test_frame_scores_by_hand() -> None:
    # 10 frames: 3 Deploy found, 1 missed, 2 false Deploy, 4 right No-Deploy
    scores = {key: float(entry(np.array([[4, 2], [1, 3]]))) for key, entry in SCORES[FRAME].items()}
    assert scores["accuracy"] == pytest.approx(7 / 10)
    assert scores["deploy_precision"] == pytest.approx(3 / 5)
    assert scores["deploy_recall"] == pytest.approx(3 / 4)
    assert scores["deploy_f1"] == pytest.approx(6 / 9)
    assert scores["macro_f1"] == pytest.approx((6 / 9 + 8 / 11) / 2)  # No-Deploy: 2*4 / (2*4 + 2 + 1)


def test_alpha_curve_by_hand() -> None:
    # Two frames, Deploy (2 of 4) and No-Deploy (1 of 4); deploy both, the right one, none.
    grid = (Fraction(0), Fraction(1, 4), Fraction(1, 2))
    curve = alpha_curve("val", np.array([2, 1]), np.array([4, 4]), np.array([1, 0]), grid)
    assert (curve.n, curve.n_deploy, curve.n_deployed.tolist()) == (2, 1, [2, 1, 0])
    assert curve.score("accuracy").tolist() == [0.5, 1.0, 0.5]
    assert curve.score("deploy_precision").tolist() == [0.5, 1.0, 0.0]
    assert curve.score("deploy_recall").tolist() == [1.0, 1.0, 0.0]
    assert curve.score("macro_f1") == pytest.approx([1 / 3, 1.0, 1 / 3])
    assert (curve.best().alpha, curve.best().score) == (Fraction(1, 4), 1.0)


def test_the_best_of_a_curve_breaks_ties_upwards() -> None:
    curve = alpha_curve("val", np.array([4]), np.array([4]), np.array([1]), (Fraction(0), Fraction(1, 2)))
    assert curve.best().alpha == Fraction(1, 2)


def test_a_curve_needs_a_reference_for_each_frame() -> None:
    with pytest.raises(TableError):
        alpha_curve("val", np.array([1, 2]), np.array([4, 4]), np.array([1]))
