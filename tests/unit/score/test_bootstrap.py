import itertools
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.metrics import confusion_matrix, f1_score

from reseed.base.errors import TableError
from reseed.score import bootstrap
from reseed.score.bootstrap import cluster_counts, intervals, over_trainings, paired_differences, resampled_sums
from reseed.score.confusion import accuracy, macro_f1

SCORES = {"macro_f1": macro_f1, "accuracy": accuracy}
EXPANDED = {5: 0.000954, 30: 0.018754}  # normal(sqrt(G / (G - 1)) * t quantile of 2.5 % with G - 1 degrees)


def some_clusters(count: int, seed: int = 0, right: float = 0.7) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    clusters = np.repeat([f"site {index:02d}" for index in range(count)], 28)
    gold = rng.integers(0, 3, len(clusters))
    skill = np.repeat(rng.normal(right, 0.1, count), 28)
    predicted = np.where(rng.random(len(gold)) < skill, gold, rng.integers(0, 3, len(gold)))
    return clusters, gold, predicted


def test_counts_of_each_cluster_equal_scikit_learn() -> None:
    clusters, gold, predicted = some_clusters(6)
    counts = cluster_counts(clusters, gold, predicted, 3)
    for index, name in enumerate(sorted(set(clusters))):
        mine = clusters == name
        assert (counts[index] == confusion_matrix(gold[mine], predicted[mine], labels=[0, 1, 2])).all()


def test_every_resample_is_scored_like_the_items_it_holds() -> None:
    """Unfolded by hand: a resample of the clusters is the items of each, as often as it is drawn."""
    clusters, gold, predicted = some_clusters(5)
    tables = cluster_counts(clusters, gold, predicted, 3)
    sums = resampled_sums(tables, 200, seed=3)
    seen = {}
    for drawn in itertools.combinations_with_replacement(range(5), 5):
        rows = np.concatenate([np.flatnonzero(clusters == f"site {index:02d}") for index in drawn])
        f1 = f1_score(gold[rows], predicted[rows], labels=[0, 1, 2], average="macro", zero_division=0)
        seen[tables[list(drawn)].sum(axis=0).tobytes()] = f1
    for table, score in zip(sums.astype(np.int64), macro_f1(sums), strict=True):
        assert score == pytest.approx(seen[table.tobytes()])


def test_quantiles_of_five_clusters_equal_full_enumeration() -> None:
    # All 5 ** 5 = 3125 equally likely draws of the clusters.
    tables = cluster_counts(*some_clusters(5), 3)
    draws = np.asarray(list(itertools.product(range(5), repeat=5)))
    every = np.sort(accuracy(tables[draws].sum(axis=1)))
    found = intervals(tables, SCORES, 200_000, seed=0)["accuracy"]
    low, high = np.quantile(every, [EXPANDED[5], 1 - EXPANDED[5]])
    # t of 4 degrees is 2.776, sqrt(5 / 4) = 1.118
    reach, whole = 2.776 * 1.118 * every.std(), float(accuracy(tables.sum(axis=0)))
    assert found.low == pytest.approx(min(low, whole - reach), abs=0.004)
    assert found.high == pytest.approx(max(high, whole + reach), abs=0.004)
    assert found.clusters == 5
    assert found.available


def test_equals_scipy_on_single_items() -> None:
    rng = np.random.default_rng(1)
    right = rng.random(300) < 0.8
    tables = np.zeros((300, 2, 2), dtype=np.int64)
    tables[np.arange(300), 1, right.astype(int)] = 1
    ours = intervals(tables, {"accuracy": accuracy}, 20_000, seed=0)["accuracy"]
    level = 1 - 2 * float(stats.norm.cdf(stats.t.ppf(0.025, 299) * np.sqrt(300 / 299)))
    theirs = stats.bootstrap(
        (right,), np.mean, n_resamples=20_000, confidence_level=level, method="percentile", rng=rng
    ).confidence_interval
    assert (ours.low, ours.high) == (pytest.approx(theirs.low, abs=0.004), pytest.approx(theirs.high, abs=0.004))
    # and the normal approximation, 1.96 standard errors
    assert ours.high - ours.low == pytest.approx(2 * 1.96 * np.sqrt(right.mean() * (1 - right.mean()) / 300), rel=0.05)


@pytest.mark.parametrize("count", EXPANDED)
def test_few_clusters_take_quantiles_further_out(count: int) -> None:
    level = float(stats.norm.cdf(stats.t.ppf(0.025, count - 1) * np.sqrt(count / (count - 1))))
    assert level == pytest.approx(EXPANDED[count], abs=1e-6)
    # Of skewed draws the upper quantile lies beyond the reach of the t interval, the lower does not.
    draws = np.linspace(0, 1, 100_001) ** 4
    reach = stats.t.ppf(0.975, count - 1) * np.sqrt(count / (count - 1)) * draws.std()
    found = bootstrap._interval(draws, float(draws.mean()), count, (-9, 9))
    assert found.low == pytest.approx(draws.mean() - reach)
    assert found.high == pytest.approx(max((1 - level) ** 4, draws.mean() + reach), abs=1e-6)
    assert bootstrap._interval(draws, float(draws.mean()), count, (0, 1)).low == 0


def test_seeded_and_independent_of_order_names_and_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    clusters, gold, predicted = some_clusters(9)
    once = intervals(cluster_counts(clusters, gold, predicted, 3), SCORES, 500, seed=4)
    order = np.random.default_rng(0).permutation(len(gold))
    renamed = np.char.add("z", clusters)[order]
    monkeypatch.setattr(bootstrap, "_CHUNK_VALUES", 50)
    again = intervals(cluster_counts(renamed, gold[order], predicted[order], 3), SCORES, 500, seed=4)
    assert once == again
    assert intervals(cluster_counts(clusters, gold, predicted, 3), SCORES, 500, seed=5) != once


@settings(max_examples=30, deadline=None)
@given(arrays(np.int64, (7, 3, 3), elements=st.integers(0, 5)))
def test_an_interval_lies_between_0_and_1_or_says_why_not(tables: np.ndarray) -> None:
    for found in intervals(tables, SCORES, 100, seed=0).values():
        if found.available:
            assert 0 <= found.low <= found.high <= 1
        else:
            assert np.isnan(found.low)
            assert found.reason


def test_fewer_than_five_clusters_give_no_interval() -> None:
    found = intervals(cluster_counts(*some_clusters(4), 3), SCORES, 100, seed=0)["macro_f1"]
    assert not found.available
    assert found.reason == "4 clusters; an interval needs at least 5"
    empty = np.zeros((9, 3, 3), dtype=np.int64)
    empty[0] = 1
    assert intervals(empty, SCORES, 100, seed=0)["accuracy"].reason.startswith("1 cluster; ")


def test_a_score_that_never_moves_gives_no_interval() -> None:
    tables = np.tile(np.diag([3, 2, 1]), (8, 1, 1))
    found = intervals(tables, SCORES, 100, seed=0)["accuracy"]
    assert found.reason == "the same in every resample of the 8 clusters: their spread cannot be seen"


def test_a_score_that_is_mostly_undefined_gives_no_interval() -> None:
    def first_half_known(sums: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(sums)) < len(sums) // 2, accuracy(sums), np.nan)

    found = intervals(cluster_counts(*some_clusters(8), 3), {"half": first_half_known}, 100, seed=0)["half"]
    assert found.reason == "undefined in 50 % of the resamples"


def paired(count: int, better: Callable[[np.ndarray], np.ndarray]) -> bootstrap.Difference:
    clusters, gold, predicted = some_clusters(count)
    first = cluster_counts(clusters, gold, predicted, 3)
    second = cluster_counts(clusters, gold, better(predicted), 3)
    return paired_differences(first, second, SCORES, 2000, seed=0)["accuracy"]


def test_identical_predictions_differ_by_nothing() -> None:
    same = paired(8, lambda predicted: predicted)
    assert (same.difference, same.interval.low, same.interval.high, same.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_planted_improvement_is_found_and_a_planted_nothing_is_not() -> None:
    clusters, gold, _ = some_clusters(12)
    rng = np.random.default_rng(5)
    fixed = rng.random(len(gold)) < 0.15
    improved = paired(12, lambda predicted: np.where(fixed, gold, predicted))
    assert improved.difference > 0
    assert improved.interval.low > 0
    assert improved.p < 0.01
    swapped = paired(12, lambda predicted: np.where(rng.random(len(gold)) < 0.02, (predicted + 1) % 3, predicted))
    assert -0.03 < swapped.difference < 0.01
    assert len(clusters) == 12 * 28


def test_p_and_interval_say_the_same() -> None:
    rng = np.random.default_rng(0)
    for shift in np.linspace(0, 3, 31):
        draws = rng.normal(shift, 1, 4000)
        found = bootstrap._interval(draws, float(draws.mean()), 15, (-99, 99))
        p = bootstrap._p_value(draws, float(draws.mean()), 15)
        if abs(p - 0.05) > 0.005:
            assert (p < 0.05) == (found.low > 0)


def test_p_of_a_normal_mean_is_that_of_the_t_test() -> None:
    sample = np.random.default_rng(2).normal(0.4, 1.0, 40)
    tables = np.stack([np.zeros((40, 2)), np.column_stack([sample, np.ones(40)])])
    scores = {"mean": lambda sums: np.divide(sums[:, 0], 40)}
    found = paired_differences(tables[0], tables[1], scores, 40_000, seed=0, limits=(-9, 9))["mean"]
    expected = stats.ttest_1samp(sample, 0)
    assert found.difference == pytest.approx(sample.mean())
    assert found.p == pytest.approx(expected.pvalue, abs=0.01)
    low, high = expected.confidence_interval(0.95)
    assert (found.interval.low, found.interval.high) == (pytest.approx(low, abs=0.03), pytest.approx(high, abs=0.03))


def test_paired_needs_the_same_clusters_and_enough_of_them() -> None:
    few = cluster_counts(*some_clusters(3), 3)
    with pytest.raises(TableError, match="same clusters"):
        paired_differences(few, cluster_counts(*some_clusters(4), 3), SCORES, 10, seed=0)
    found = paired_differences(few, few[::-1], SCORES, 10, seed=0)["accuracy"]
    assert found.difference == 0
    assert np.isnan(found.p)
    assert found.interval.reason == "3 clusters; an interval needs at least 5"


def test_lengths_must_fit() -> None:
    with pytest.raises(TableError, match="2 cluster names for 1 gold labels"):
        cluster_counts(["a", "b"], np.array([0]), np.array([0]), 3)


def test_ninety_five_percent_of_small_surveys_hold_the_truth() -> None:
    """The same in full, for more kinds of surveys: benchmarks/interval_coverage.py."""
    rng = np.random.default_rng(0)
    held = []
    for seed in range(300):
        skill = np.clip(rng.normal(0.75, 0.08, 6), 0, 1)  # of six sites; the mean of all sites is 0.75
        right = rng.binomial(100, skill)
        tables = np.zeros((6, 2, 2), dtype=np.int64)
        tables[:, 1, 1], tables[:, 1, 0] = right, 100 - right
        found = intervals(tables, {"accuracy": accuracy}, 400, seed)["accuracy"]
        held.append(found.low <= 0.75 <= found.high)
    assert 0.92 <= np.mean(held) <= 0.98


def test_thirty_thousand_patches_ten_thousand_times_within_five_seconds() -> None:
    rng = np.random.default_rng(0)
    tables = rng.multinomial(28, np.full(9, 1 / 9), size=1072).reshape(-1, 3, 3)
    start = time.process_time()  # of this process: a busy machine is not our fault
    intervals(tables, SCORES, 10_000, seed=0)
    assert time.process_time() - start < 5


def survey(rng: np.random.Generator, groups: int, trainings: int, spread: float, gain: float) -> list[np.ndarray]:
    """Counts (G, T, 2, 2) of two recipes on the same groups, of accuracy 0.75 and 0.75 + gain over all surveys.

    Groups differ by 6 points, groups under a recipe by 3, trainings of a recipe by `spread`; 40 items a group.
    """
    place, sides = rng.normal(0, 0.06, groups), []
    for mean in (0.75, 0.75 + gain):
        own, luck = rng.normal(0, 0.03, groups), rng.normal(0, spread, trainings)
        right = rng.binomial(40, np.clip(mean + (place + own)[:, None] + luck[None], 0, 1))
        counts = np.zeros((groups, trainings, 2, 2), dtype=np.int64)
        counts[..., 0, 0], counts[..., 0, 1] = right, 40 - right
        sides.append(counts)
    return sides


@pytest.mark.parametrize(
    ("groups", "trainings", "spread", "below"),
    [(12, 3, 0.04, 0.8), (12, 5, 0.04, 0.8), (8, 5, 0.04, 0.8), (24, 3, 0.02, 0.9)],
)
def test_over_trainings_the_interval_holds_the_truth_as_often_as_it_should(
    groups: int, trainings: int, spread: float, below: float
) -> None:
    # The interval over groups alone, from one training of each recipe, holds it less often than `below`.
    rng, inside, groups_alone, runs = np.random.default_rng(1), 0, 0, 500
    for _ in range(runs):
        first, second = survey(rng, groups, trainings, spread, 0.03)
        found = over_trainings([(first, -1.0), (second, 1.0)], accuracy, 300, 0, (-1.0, 1.0)).interval
        inside += found.low <= 0.03 <= found.high
        one = paired_differences(first[:, 0], second[:, 0], {"accuracy": accuracy}, 300, 0)["accuracy"].interval
        groups_alone += one.low <= 0.03 <= one.high
    assert 0.93 <= inside / runs <= 0.97
    assert groups_alone / runs < below


def test_over_trainings_by_hand() -> None:
    # Five equal groups of 10 items; one recipe has 6 and 8 right in each, the other 7 and 9: means 0.7 and 0.8. Groups
    # add nothing, so the standard error is that of the trainings: two sides of variance 0.02 / 2 each, with 2 degrees
    # of freedom by Welch, of which t is 4.303: 0.1 +- 0.608.
    first, second = np.zeros((5, 2, 2, 2), dtype=np.int64), np.zeros((5, 2, 2, 2), dtype=np.int64)
    for counts, right in ((first, (6, 8)), (second, (7, 9))):
        counts[:, :, 0, 0], counts[:, :, 0, 1] = right, 10 - np.array(right)
    found = over_trainings([(first, -1.0), (second, 1.0)], accuracy, 2000, 0, (-1.0, 1.0))
    assert found.difference == pytest.approx(0.1)
    assert found.interval.low == pytest.approx(0.1 - 4.303 * np.sqrt(0.02), abs=1e-3)
    assert found.interval.high == pytest.approx(0.1 + 4.303 * np.sqrt(0.02), abs=1e-3)
    assert found.p == pytest.approx(2 * stats.t.sf(0.1 / np.sqrt(0.02), 2), abs=0.02) or found.p > 0.5


def test_over_trainings_needs_two_trainings_and_the_same_groups() -> None:
    one, two = np.ones((6, 1, 2, 2), dtype=np.int64), np.ones((5, 2, 2, 2), dtype=np.int64)
    with pytest.raises(TableError, match="the same groups and two trainings each are needed"):
        over_trainings([(one, 1.0)], accuracy, 100, 0, (0.0, 1.0))
    with pytest.raises(TableError, match="the same groups"):
        over_trainings([(two, -1.0), (np.ones((6, 2, 2, 2), dtype=np.int64), 1.0)], accuracy, 100, 0, (-1.0, 1.0))
    few = over_trainings([(two[:4], 1.0)], accuracy, 100, 0, (0.0, 1.0))
    assert "an interval needs at least 5" in few.interval.reason
    # The same answers under every training and in every group leave nothing to doubt.
    assert over_trainings([(two, -1.0), (two, 1.0)], accuracy, 100, 0, (-1.0, 1.0)).interval.low == 0.0
