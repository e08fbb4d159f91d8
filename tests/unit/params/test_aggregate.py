from fractions import Fraction

import pytest

from reseed.params.aggregate import AggregateParams
from reseed.params.load import section_problems


def problems_of(**values: object) -> list[str]:
    section = {"rule": "ratio", "alpha": "auto", "ask": "none"} | values
    return section_problems({"aggregate": section}, "aggregate", AggregateParams)


@pytest.mark.parametrize(
    "alpha",
    [
        0,
        1,
        0.5,
        0.123456,
        1e-06,
        "auto",
        "guaranteed 0.05 by group",
        "guaranteed .1 by frame",
        "guaranteed 0.05 by group with confidence 0.9",
    ],
)
def test_allowed(alpha: object) -> None:
    assert problems_of(alpha=alpha) == []


def test_a_confidence_is_the_chance_that_the_bound_holds() -> None:
    alpha = "guaranteed 0.05 by group with confidence 0.9"
    params = AggregateParams.model_validate({"rule": "ratio", "alpha": alpha, "ask": "none"})
    assert (params.guaranteed, params.may_fail) == ((Fraction(1, 20), True), Fraction(1, 10))
    on_average = params.model_copy(update={"alpha": "guaranteed 0.05 by group"})
    assert (on_average.guaranteed, on_average.may_fail) == ((Fraction(1, 20), True), None)


@pytest.mark.parametrize(
    "alpha",
    [
        -0.1,
        1.01,
        2,
        float("nan"),
        True,
        None,
        "0.5",
        "best",
        "guaranteed",
        "guaranteed 0.0 by group",
        "guaranteed 0.05 by site",
        "guaranteed 0.05 by group with confidence 0.0",
        "guaranteed 0.05 by group with confidence 90 %",
        [0.1],
    ],
)
def test_refused_in_one_line(alpha: object) -> None:
    problems = section_problems(
        {"aggregate": {"rule": "ratio", "alpha": alpha, "ask": "none"}}, "aggregate", AggregateParams
    )
    assert len(problems) == 1
    assert problems[0].startswith("aggregate.alpha: got ")
    assert "allowed: a number from 0 to 1, or auto" in problems[0]


def test_more_decimals_than_the_table_records_are_refused() -> None:
    problems = section_problems(
        {"aggregate": {"rule": "ratio", "alpha": 0.1234567, "ask": "none"}}, "aggregate", AggregateParams
    )
    assert "at most 6 decimals" in problems[0]


@pytest.mark.parametrize("ask", ["none", 0.05, 0.5, 1e-3])
def test_a_share_to_ask_about(ask: object) -> None:
    assert problems_of(ask=ask) == []


@pytest.mark.parametrize("ask", [0, 1, -0.1, 2, True, None, "off", "0.1", float("nan")])
def test_no_share_to_ask_about(ask: object) -> None:
    assert [problem.split(":")[0] for problem in problems_of(ask=ask)] == ["aggregate.ask"]
