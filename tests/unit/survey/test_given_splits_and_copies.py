"""Other spellings of copies, cameras and splits."""

import pytest

from reseed.sources.inventory import BACKUP_COPY, repeats
from reseed.survey.geotag import facts_from_log
from reseed.survey.identity import is_camera_folder
from reseed.survey.layouts.export import _is_divided, _place


@pytest.mark.parametrize(
    "name", ["Copy of a.jpg", "a - Kopie.jpg", "a - Copie (2).jpg", "a-edited.jpg", "a_thumb.JPG", "a - Copy.JPG"]
)
def test_a_copy_in_the_words_of_other_programs_is_no_frame(name: str) -> None:
    assert repeats(name, {"a.jpg"}) == BACKUP_COPY
    assert repeats(name, {"b.jpg"}) == ""


@pytest.mark.parametrize("name", ["Left", "right", "Starboard", "GoPro 1", "GoPro_2"])
def test_the_folder_of_a_side_is_that_of_a_camera(name: str) -> None:
    assert is_camera_folder(name)


def test_an_export_keeps_the_splits_of_its_folders() -> None:
    assert _is_divided(["train/images/a.jpg", "valid/images/b.jpg"])
    assert not _is_divided(["train/a.jpg", "other/b.jpg"])
    assert not _is_divided(["train/a.jpg"])
    place = _place("s", "valid/images/b.jpg", None, divided=True)
    assert (place.site, place.given_split) == ("s", "val")


def test_a_position_that_nobody_can_read_is_not_called_missing() -> None:
    facts = facts_from_log({"latitude": "10° 30' 0\" S", "longitude": "143.5E"})
    assert "log_position_not_a_number" in facts.problems
    assert "log_position_missing" in facts_from_log({"latitude": "n/a", "longitude": "n/a"}).problems
