from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from reseed.artifacts.catalog import ANNOTATIONS, FRAMES, PIECES
from reseed.base.errors import TableError
from reseed.params.extract import ExtractParams
from reseed.patches.extract import coarser_labels, cut, cut_beforehand, mixed_footprint, plan, plan_frame

PARAMS = ExtractParams(patch_size=8, input_size=32, min_purity=0.5)


def said(*rows: tuple[str, int, int, int, int, str, str]) -> pd.DataFrame:
    """Annotator, box, label and kind."""
    names = ("annotator", "x0", "y0", "x1", "y1", "label", "kind")
    fixed = {"frame_id": "f", "source_label": "", "gold": 1}
    return ANNOTATIONS.frame([dict(zip(names, row, strict=True)) | fixed for row in rows])


def pieces(*cells: tuple[int, int], edge: int = 10) -> pd.DataFrame:
    return PIECES.frame(
        [
            {"frame_id": "f", "row": row, "col": col, "path": f"s/{row}_{col}.png"}
            | dict(
                zip(("x0", "y0", "x1", "y1"), (col * edge, row * edge, (col + 1) * edge, (row + 1) * edge), strict=True)
            )
            for row, col in cells
        ]
    )


def frame(width: int, height: int) -> dict[str, object]:
    empty = dict.fromkeys(FRAMES.names, "") | {"synthetic": 0}
    return empty | {"frame_id": "f", "width_px": width, "height_px": height}


def test_a_weak_label_is_weak_in_every_patch_it_reaches() -> None:
    planned = plan_frame("f", 16, 8, said(("A", 0, 0, 16, 8, "Coral", "weak")), 8, 0.5)
    assert planned is not None
    assert [(row["patch_id"], row["label"], row["kind"]) for row in planned.labels] == [
        ("f#r000c000", "Coral", "weak"),
        ("f#r000c001", "Coral", "weak"),
    ]
    # Of two kinds by one annotator the weaker counts, whatever their order.
    mixed = said(("A", 0, 0, 8, 8, "Coral", "grid"), ("A", 0, 0, 16, 8, "Coral", "weak"))
    assert {row["kind"] for row in plan_frame("f", 16, 8, mixed, 8, 0.5).labels} == {"weak"}  # type: ignore[union-attr]


def test_pieces_are_the_patches_of_their_frame() -> None:
    annotations = said(("A", 10, 0, 20, 10, "Deploy", "grid"), ("A", 0, 10, 10, 20, "Coral", "grid"))
    planned = plan_frame("f", 20, 20, annotations, 800, 0.5, pieces((1, 0), (0, 1)))
    assert planned is not None
    assert planned.grid is None
    assert planned.files == ("s/0_1.png", "s/1_0.png")
    assert [(row["patch_id"], row["row"], row["col"], row["x0"], row["y0"]) for row in planned.index_rows] == [
        ("f#r000c001", 0, 1, 10, 0),
        ("f#r001c000", 1, 0, 0, 10),
    ]
    assert [(row["patch_id"], row["label"], row["purity"]) for row in planned.labels] == [
        ("f#r000c001", "Deploy", 1.0),
        ("f#r001c000", "Coral", 1.0),
    ]


def test_pieces_are_cut_from_their_own_files(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    for name, value in (("0_1", 10), ("1_0", 200)):
        Image.new("RGB", (10, 10), (value, 0, 0)).save(tmp_path / f"s/{name}.png")
    planned = plan(FRAMES.frame([frame(20, 20)]), said(), PARAMS, pieces((1, 0), (0, 1)))
    (patches,) = cut(planned, tmp_path, 8, 32)
    assert patches.shape == (2, 32, 32, 3)
    assert [int(patch[..., 0].mean()) for patch in patches] == [10, 200]
    assert "2 patches were cut before they came here, with edges of 10 to 10 px" in str(cut_beforehand(planned, 8))
    assert mixed_footprint(planned, 8) is None
    Image.new("RGB", (9, 10)).save(tmp_path / "s/1_0.png")
    with pytest.raises(TableError, match="9 x 10 px, but the catalog has 10 x 10"):
        list(cut(planned, tmp_path, 8, 32))


def test_points_become_squares_around_them() -> None:
    annotations = said(("A", 3, 5, 4, 6, "Coral", "point"), ("B", 3, 5, 4, 6, "Deploy", "point"))
    planned = plan_frame("f", 40, 30, annotations, 8, 0.5)
    assert planned is not None
    assert planned.index_rows == [
        {"patch_id": "f#y0005x0003", "frame_id": "f", "row": -1, "col": -1, "x0": -1, "y0": 1, "x1": 7, "y1": 9}
    ]
    assert [(row["annotator"], row["label"], row["kind"]) for row in planned.labels] == [
        ("A", "Coral", "point"),
        ("B", "Deploy", "point"),
    ]


def test_a_frame_smaller_than_a_patch_is_quarantined_and_a_run_of_none_but_such_stops() -> None:
    both = FRAMES.frame([frame(7, 20), frame(16, 16) | {"frame_id": "g"}])
    planned = plan(both, said(), PARAMS)
    assert [one.frame_id for one in planned.frames] == ["g"]
    assert planned.quarantined == (
        {"path": "f", "reason": "smaller_than_patch", "detail": "7 x 20 px, extract.patch_size 8 px"},
    )
    with pytest.raises(TableError, match=r"all 1 frame\(s\) are smaller than one patch"):
        plan(both[both["frame_id"] == "f"], said(), PARAMS)


def test_boxes_tile_as_before() -> None:
    planned = plan_frame("f", 17, 9, said(), 8, 0.5)
    assert planned is not None
    # ceil(17/8) = 3 columns: 0, 5, 11, 17; ceil(9/8) = 2 rows: 0, 4, 9.
    assert planned.boxes.tolist()[:3] == [[0, 0, 5, 4], [5, 0, 11, 4], [11, 0, 17, 4]]
    assert np.array_equal(planned.cells, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]])


def test_patches_that_inherit_the_label_of_a_larger_cell_are_counted() -> None:
    """32 x 16 px in patches of 8: 4 x 2. Cells of 16 x 16 span four patches each, cells of 8 x 16 two, of 8 x 8 one."""

    def remark(*rows: tuple[str, int, int, int, int, str, str]) -> str | None:
        annotations = said(*rows)
        return coarser_labels(plan(FRAMES.frame([frame(32, 16)]), annotations, PARAMS), annotations, 8)

    one_left = ("A", 0, 0, 16, 16, "Coral", "grid")
    small = ("A", 16, 0, 24, 8, "Deploy", "grid")
    text = str(remark(one_left, small))
    assert "4 of 5 labelled patches are in annotated cells that span several patches (up to 16 x 16 px" in text
    assert "extract.patch_size 16 fits these cells" in text
    assert "2 of 2 labelled patches" in str(remark(("A", 0, 0, 8, 16, "Coral", "grid")))
    assert remark(small) is None
    assert remark(("A", 0, 0, 16, 16, "Coral", "rect")) is None, "drawn around one class, it says so of every part"
    assert remark() is None


def test_points_of_a_machine_are_points_and_marked() -> None:
    rows = said(("A", 3, 3, 4, 4, "Coral", "machine"), ("A", 9, 5, 10, 6, "Deploy", "point"))
    planned = plan_frame("f", 16, 12, rows, 4, 0.5)
    assert planned is not None
    assert planned.grid is None
    assert [(row["label"], row["kind"]) for row in planned.labels] == [("Coral", "machine"), ("Deploy", "point")]


def test_an_area_of_a_machine_marks_every_patch_it_reaches() -> None:
    rows = said(("A", 0, 0, 8, 8, "Coral", "machine"), ("A", 8, 0, 16, 8, "Deploy", "rect"))
    planned = plan_frame("f", 16, 8, rows, 8, 0.5)
    assert planned is not None
    assert {row["kind"] for row in planned.labels} == {"machine"}
