from pathlib import Path

import pytest

from reseed.base.errors import TableError
from reseed.survey.layouts.class_folders import read_class_folders, split_of_folder
from tests.unit.survey.folders import put, read

FRAME = "20230315_020635_000_0007"


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train", "train"),
        ("Test", "test"),
        ("validation", "val"),
        ("Combined-TrainSplit", "train"),
        ("Combined-TestSplit", "test"),
        ("combined_test_split ", "test"),
        ("ValSplit", "val"),
        ("testing the waters", ""),
        ("Combined", ""),
        ("Trainwreck Reef", ""),
    ],
)
def test_split_folders(name: str, split: str) -> None:
    assert split_of_folder(name) == split


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("Coral/a_1.png", ("Coral", "", "", "")),
        ("no_deploy /a_1.png", ("No-Deploy", "", "", "")),
        ("Site 3/DEPLOY/a_1.png", ("Deploy", "Site 3", "", "Site 3")),
        ("x/train/Site 3/Deploy/a_1.png", ("Deploy", "Site 3", "train", "x/train/Site 3")),
        ("x/Combined-TestSplit/Deploy/a_1.png", ("Deploy", "", "test", "x/Combined-TestSplit")),
        ("Evaluation/Combined/Coral/a_1.png", ("Coral", "Combined", "", "Evaluation/Combined")),
        ("Coral/Site 3/a_1.png", ("Coral", "Site 3", "", "Site 3")),
        ("Coral/train/a_1.png", ("Coral", "", "train", "train")),
    ],
)
def test_what_folders_say(path: str, expected: tuple[str, ...]) -> None:
    (said,) = read_class_folders("src", [path])
    assert (said.label, said.site, said.given_split, said.folder) == expected


def test_folders_that_say_nothing_or_two_things() -> None:
    with pytest.raises(TableError, match=r"src: 2 images are in no class folder.*Depoy \(2, did you mean Deploy\?\)"):
        read_class_folders("src", ["Depoy/a_1.png", "Depoy/a_2.png", "Coral/a_3.png"])
    with pytest.raises(TableError, match="two classes or two splits"):
        read_class_folders("src", ["Coral/Deploy/a_1.png"])
    with pytest.raises(TableError, match="two classes or two splits"):
        read_class_folders("src", ["train/test/Deploy/a_1.png"])


def test_patches_become_their_frame_again(tmp_path: Path) -> None:
    # A grid of 2 x 3; index 4 is row 1, column 1. Columns are 16, 16 and, unseen, as wide as the widest; rows 12.
    put(tmp_path, f"train/Site 3/Coral/{FRAME}_0.png", 1)
    put(tmp_path, f"train/Site 3/Deploy/{FRAME}_4.png", 2)
    put(tmp_path, f"test/Site 3/Deploy/{FRAME}1_5.png", 3)
    reading = read(tmp_path, "patch-folders", grid_rows=2, grid_cols=3)
    frame = f"train/Site 3/{FRAME}"
    assert list(reading.places) == [f"test/Site 3/{FRAME}1", frame]
    place = reading.places[frame]
    assert (place.site, place.sequence, place.given_split) == ("Site 3", "", "train")
    whole = reading.assembled[frame]
    assert (whole.width_px, whole.height_px) == (48, 24)
    assert [(piece.row, piece.col, piece.box) for piece in whole.pieces] == [
        (0, 0, (0, 0, 16, 12)),
        (1, 1, (16, 12, 32, 24)),
    ]
    said = [(r.path, r.x0, r.y0, r.x1, r.y1, r.label, r.kind) for r in reading.labels.rectangles if r.path == frame]
    assert said == [(frame, 0, 0, 16, 12, "Coral", "grid"), (frame, 16, 12, 32, 24, "Deploy", "grid")]
    assert reading.counts["frames"] == 2
    assert reading.counts["patch_index_starts_at"] == 0


def test_a_missing_and_a_new_class_folder_shift_no_label(tmp_path: Path) -> None:
    put(tmp_path, "deploy/a_0.png", 1)
    put(tmp_path, "No Deploy/a_1.png", 2)
    labels = {r.path: r.label for r in read(tmp_path, "patch-folders", grid_rows=1, grid_cols=2).labels.rectangles}
    put(tmp_path, "CORAL/b_0.png", 3)
    more = read(tmp_path, "patch-folders", grid_rows=1, grid_cols=2).labels.rectangles
    assert [(r.path, r.label) for r in more] == [("a", "Deploy"), ("a", "No-Deploy"), ("b", "Coral")]
    assert labels == {"a": "No-Deploy"}


def test_an_index_that_counts_from_one(tmp_path: Path) -> None:
    for index in (1, 28):
        put(tmp_path, f"Coral/{FRAME}_{index}.png", index)
    reading = read(tmp_path, "patch-folders")
    assert reading.counts["patch_index_starts_at"] == 1
    assert [(piece.row, piece.col) for piece in reading.assembled[FRAME].pieces] == [(0, 0), (3, 6)]
    put(tmp_path, f"Coral/{FRAME}_0.png", 0)
    with pytest.raises(TableError, match=rf"1 images have an index outside the grid of 4 x 7.*{FRAME}_28.png"):
        read(tmp_path, "patch-folders")


@pytest.mark.parametrize("name", ["IMG0001", FRAME])
def test_a_name_without_frame_and_index(tmp_path: Path, name: str) -> None:
    put(tmp_path, f"Coral/{name}.png")
    with pytest.raises(TableError, match=rf"no name of the form <frame>_<index>, first: Coral/{name}.png"):
        read(tmp_path, "patch-folders")
    reading = read(tmp_path, "patch-folders", grid_rows=1, grid_cols=1)
    assert list(reading.places) == [name]


def test_a_patch_in_two_class_folders(tmp_path: Path) -> None:
    put(tmp_path, "Coral/a_3.png", 1)
    put(tmp_path, "Deploy/a_3.png", 1)
    put(tmp_path, "Deploy/a_4.png", 2)
    with pytest.raises(TableError, match=r"1 patches are claimed.*Coral/a_3.png / Deploy/a_3.png.*on_conflict: drop"):
        read(tmp_path, "patch-folders")
    reading = read(tmp_path, "patch-folders", on_conflict="drop")
    assert reading.ignored == dict.fromkeys(("Coral/a_3.png", "Deploy/a_3.png"), "contradicting_patch")
    assert [piece.path for piece in reading.assembled["a"].pieces] == ["Deploy/a_4.png"]
    assert reading.labels.counts["annotation_contradictions_dropped"] == 2


def test_copies_of_a_patch_are_merged_and_different_images_of_one_name_are_not(tmp_path: Path) -> None:
    put(tmp_path, "Coral/a_3.png", 1)
    (tmp_path / "Coral/a_3.PNG").write_bytes((tmp_path / "Coral/a_3.png").read_bytes())
    reading = read(tmp_path, "patch-folders")
    assert reading.ignored == {"Coral/a_3.png": "duplicate_patch"}
    put(tmp_path, "Coral/a_3.bmp", 2)
    with pytest.raises(TableError, match="claimed by images in folders of different classes, or by different images"):
        read(tmp_path, "patch-folders")


def test_a_frame_that_the_data_divides_is_counted(tmp_path: Path) -> None:
    put(tmp_path, "train/Coral/a_0.png", 1)
    put(tmp_path, "test/Coral/a_1.png", 2)
    reading = read(tmp_path, "patch-folders")
    assert list(reading.places) == ["test/a", "train/a"]
    assert reading.counts["frames_in_several_splits"] == 1


def test_frame_folders_give_decisions(tmp_path: Path) -> None:
    put(tmp_path, f"Site 3/Deploy/{FRAME}.jpg", 1)
    put(tmp_path, "Site 3/no_deploy/b.bmp", 2)
    reading = read(tmp_path, "frame-folders")
    assert [(said.path, said.label) for said in reading.labels.frame_labels] == [
        (f"Site 3/Deploy/{FRAME}.jpg", "Deploy"),
        ("Site 3/no_deploy/b.bmp", "No-Deploy"),
    ]
    assert reading.labels.rectangles == ()
    place = reading.places[f"Site 3/Deploy/{FRAME}.jpg"]
    assert (place.site, place.sequence) == ("Site 3", "")


def test_a_coral_folder_needs_weak_labels(tmp_path: Path) -> None:
    put(tmp_path, "Deploy/a.jpg", 1)
    put(tmp_path, "coral/b.jpg", 2)
    with pytest.raises(TableError, match=r"1 frames are in a folder 'coral'.*catalog.weak_labels: true"):
        read(tmp_path, "frame-folders")
    reading = read(tmp_path, "frame-folders", weak_labels=True)
    assert [(r.path, r.x0, r.y0, r.x1, r.y1, r.label, r.kind) for r in reading.labels.rectangles] == [
        ("Deploy/a.jpg", 0, 0, 16, 12, "Deploy", "weak"),
        ("coral/b.jpg", 0, 0, 16, 12, "Coral", "weak"),
    ]
    # Nobody drops a device onto live coral.
    assert [said.label for said in reading.labels.frame_labels] == ["Deploy", "No-Deploy"]


@pytest.mark.parametrize(("one", "other"), [("a.jpg", "b.jpg"), (f"{FRAME}.jpg", f"{FRAME}.bmp")])
def test_a_frame_in_both_decision_folders(tmp_path: Path, one: str, other: str) -> None:
    put(tmp_path, f"Deploy/{one}", 1)
    put(tmp_path, f"No-Deploy/{other}", 1)  # the same bytes, or the same time in the name
    put(tmp_path, "Deploy/c.jpg", 3)
    with pytest.raises(TableError, match=rf"1 frames are in folders of different classes: Deploy/{one} / No-Deploy"):
        read(tmp_path, "frame-folders")
    reading = read(tmp_path, "frame-folders", on_conflict="drop")
    assert reading.ignored == {f"No-Deploy/{other}": "duplicate_frame"}
    assert list(reading.places) == [f"Deploy/{one}", "Deploy/c.jpg"]
    assert [said.path for said in reading.labels.frame_labels] == ["Deploy/c.jpg"]


def test_the_same_name_at_two_sites_is_two_frames(tmp_path: Path) -> None:
    put(tmp_path, f"Site 1/Deploy/{FRAME}.jpg", 1)
    put(tmp_path, f"Site 2/No-Deploy/{FRAME}.jpg", 2)
    assert len(read(tmp_path, "frame-folders").labels.frame_labels) == 2
