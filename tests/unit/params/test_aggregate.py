import pytest

from reseed.params.aggregate import AggregateParams
from reseed.params.load import section_problems


@pytest.mark.parametrize(
    "alpha", [0, 1, 0.5, 0.123456, 1e-06, "auto", "guaranteed 0.05 by group", "guaranteed .1 by frame"]
)
def test_allowed(alpha: object) -> None:
    assert section_problems({"aggregate": {"rule": "ratio", "alpha": alpha}}, "aggregate", AggregateParams) == []


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
        [0.1],
    ],
)
def test_refused_in_one_line(alpha: object) -> None:
    problems = section_problems({"aggregate": {"rule": "ratio", "alpha": alpha}}, "aggregate", AggregateParams)
    assert len(problems) == 1
    assert problems[0].startswith("aggregate.alpha: got ")
    assert "allowed: a number from 0 to 1, or auto" in problems[0]


def test_more_decimals_than_the_table_records_are_refused() -> None:
    problems = section_problems({"aggregate": {"rule": "ratio", "alpha": 0.1234567}}, "aggregate", AggregateParams)
    assert "at most 6 decimals" in problems[0]
