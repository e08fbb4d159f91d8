import pytest

from reseed.base.classes import CLASSES, match_class, parse_class, parse_decision
from reseed.base.errors import TableError


def test_order_is_the_class_index() -> None:
    assert CLASSES == ("No-Deploy", "Coral", "Deploy")


@pytest.mark.parametrize("text", ["No Deploy", "no_deploy", "NoDeploy ", "NO-DEPLOY", "\tno - deploy"])
def test_spellings_of_no_deploy(text: str) -> None:
    assert match_class(text) == "No-Deploy"


@pytest.mark.parametrize("text", ["", "NA", "rock", "Deploy2"])
def test_other_labels_are_no_class(text: str) -> None:
    assert match_class(text) is None


def test_unknown_label_names_place_value_allowed_and_the_nearest() -> None:
    with pytest.raises(TableError, match=r"a\.csv, row 3: label 'Deplyo' is not a class.*did you mean Deploy\?"):
        parse_class("Deplyo", "a.csv, row 3")


def test_coral_is_no_frame_decision() -> None:
    with pytest.raises(TableError, match="neither decision; allowed: No-Deploy, Deploy"):
        parse_decision("Coral", "f.csv, row 2")
    assert parse_decision("deploy", "f.csv, row 2") == "Deploy"
