from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reseed.base.errors import TableError
from reseed.score.alpha import alpha_grid, choose, decisions, decisions_over, exact

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def decide(deploy: int, n: int, alpha: float | Fraction) -> bool:
    return bool(decisions(np.array([deploy]), np.array([n]), alpha)[0])


@pytest.mark.parametrize(
    ("deploy", "n", "alpha", "expected"),
    [
        (14, 28, 0.5, False),  # exactly half is not above half
        (15, 28, 0.5, True),
        (3, 10, 0.3, False),  # 0.3 is 3/10; its nearest binary number lies below, and a float rule would differ
        (7, 25, 0.28, False),
        (29, 100, 0.29, False),
        (0, 28, 0.0, False),  # nothing is not above nothing
        (1, 28, 0.0, True),
        (28, 28, 1.0, False),  # at 1 nothing is ever deployed
        (28, 28, 0.99, True),
    ],
)
def test_boundaries(deploy: int, n: int, alpha: float, expected: bool) -> None:
    assert decide(deploy, n, alpha) is expected


@given(counts, st.integers(0, 10**6))
def test_decision_equals_the_rule_in_fractions(count: tuple[int, int], millionths: int) -> None:
    deploy, n = count
    alpha = millionths / 10**6
    assert decide(deploy, n, alpha) == (Fraction(deploy, n) > Fraction(str(alpha)))


@given(counts, st.floats(0, 1))
def test_a_long_decimal_does_not_overflow(count: tuple[int, int], alpha: float) -> None:
    deploy, n = count
    assert decide(deploy, n, alpha) == (Fraction(deploy, n) > Fraction(repr(alpha)))


def test_equality_is_no_deploy_beyond_64_bits_too() -> None:
    # 12345678901 / 10^11 against the same number as alpha: the products are 10^22
    assert decide(12_345_678_901, 10**11, 0.12345678901) is False
    assert decide(12_345_678_902, 10**11, 0.12345678901) is True


@given(st.lists(counts, min_size=1, max_size=20))
def test_a_higher_alpha_never_deploys_more(frames: list[tuple[int, int]]) -> None:
    deploy, n = (np.array(column) for column in zip(*frames, strict=True))
    deployed = decisions_over(deploy, n, alpha_grid()).sum(axis=1)
    assert (np.diff(deployed) <= 0).all()
    assert deployed[-1] == 0


def test_grid_is_every_hundredth_exactly() -> None:
    grid = alpha_grid()
    assert len(grid) == 101
    assert grid[0] == 0
    assert grid[29] == Fraction(29, 100)
    assert grid[-1] == 1
    assert list(grid) == sorted(grid)


def test_decisions_over_no_threshold_is_empty() -> None:
    assert decisions_over(np.array([1, 2]), np.array([28, 28]), ()).shape == (0, 2)


@pytest.mark.parametrize("alpha", [-0.01, 1.01, float("nan"), float("inf")])
def test_alpha_outside_its_range_is_refused(alpha: float) -> None:
    with pytest.raises(TableError, match="allowed: a number from 0 to 1"):
        exact(alpha)


def test_a_fraction_outside_its_range_is_refused() -> None:
    with pytest.raises(TableError, match="allowed: a number from 0 to 1"):
        decide(1, 2, Fraction(3, 2))


@pytest.mark.parametrize(("deploy", "n"), [(0, 0), (-1, 28), (29, 28)])
def test_impossible_counts_are_refused(deploy: int, n: int) -> None:
    with pytest.raises(TableError, match="0 <= deploy_count <= n_patches"):
        decide(deploy, n, 0.5)


def test_counts_of_different_length_are_refused() -> None:
    with pytest.raises(TableError, match="one of each per frame"):
        decisions(np.array([1, 2]), np.array([28]), 0.5)


@pytest.mark.parametrize(
    ("scores", "alpha", "plateau"),
    [
        ([0.9, 0.8, 0.85, 0.1], 0, (0, 0)),  # the best score wins
        ([0.5, 0.8, 0.8, 0.8], 2, (1, 3)),  # the middle of a plateau
        ([0.5, 0.8, 0.8, 0.1], 2, (1, 2)),  # of two in the middle the higher, which deploys less
        ([0.8, 0.1, 0.8, 0.8], 3, (2, 3)),  # the wider of two plateaus
        ([0.8, 0.1, 0.1, 0.8], 3, (3, 3)),  # of equally wide ones the higher
        ([0.7, np.nextafter(0.7, 0), 0.7, 0.1], 1, (0, 2)),  # one score, whatever its last bit
        ([0.0, 0.0, 0.0, 0.0], 2, (0, 3)),
    ],
)
def test_ties_go_to_the_middle_of_the_plateau(scores: list[float], alpha: int, plateau: tuple[int, int]) -> None:
    found = choose(alpha_grid()[:4], np.array(scores))
    assert found.alpha == Fraction(alpha, 100)
    assert (found.low, found.high) == tuple(Fraction(step, 100) for step in plateau)
    assert found.score == max(scores)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=101))
def test_the_choice_is_a_best_one_and_no_plateau_is_wider(scores: list[int]) -> None:
    found = choose(alpha_grid()[: len(scores)], np.array(scores, dtype=np.float64))
    low, at, high = (int(100 * value) for value in (found.low, found.alpha, found.high))
    assert low <= at <= high
    assert set(scores[low : high + 1]) == {max(scores)}
    runs = "".join("x" if score == max(scores) else " " for score in scores).split()
    assert max(map(len, runs)) == high - low + 1


@pytest.mark.parametrize("scores", [[], [0.5], [0.5, float("nan")]])
def test_missing_scores_are_refused(scores: list[float]) -> None:
    with pytest.raises(TableError, match="one finite score for each"):
        choose(alpha_grid()[:2], np.array(scores))
