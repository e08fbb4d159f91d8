from pathlib import Path

import pytest
from pydantic import ValidationError

from reseed.survey.imagery import REASONS
from tests.unit.survey.surveys import catalog_params

DOCS = Path(__file__).parents[3] / "docs/layouts.md"


@pytest.mark.parametrize("value", ["label_map.yaml", "codes.yml", {"CCA": "Deploy", "Off": None}])
def test_a_label_map_is_a_file_name_or_the_map_itself(value: object) -> None:
    assert catalog_params(label_map=value).label_map == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("maps/label_map.yaml", "a file name without folders"),
        ("", "a file name without folders"),
        ({}, "a mapping of codes to classes"),
        (7, "a file name without folders"),
        ({1: "Coral"}, "in quotes"),
        ({"CCA": True}, "in quotes"),
        ({"size": "Coral"}, "where DVC would not see it change"),
    ],
)
def test_what_a_label_map_cannot_be(value: object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        catalog_params(label_map=value)


@pytest.mark.parametrize("wrong", [{"unmapped": "ignore"}, {"on_conflict": "first"}, {"grid_rows": 0}])
def test_ranges(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        catalog_params(**wrong)


def test_every_reason_stands_in_the_documentation() -> None:
    text = DOCS.read_text()
    assert [reason for reason in REASONS if f"| `{reason}` |" not in text] == []
