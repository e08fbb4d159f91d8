import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reseed.artifacts.catalog import FRAMES
from reseed.artifacts.patches import PATCH_INDEX
from reseed.artifacts.predictions import PATCH_PREDICTIONS
from reseed.base.errors import TableError
from reseed.base.grid import Grid, point_boxes, point_id, tile_boxes, tile_id
from reseed.cli.main import main
from tests.unit.survey.folders import put, read

LABELS = ["Coral", "No-Deploy", "Deploy", "Deploy", "Coral", "No-Deploy"]


def _row(table: object, **values: object) -> dict[str, object]:
    blank = {column.name: "" if column.kind == "text" else 0 for column in table.columns}  # type: ignore[attr-defined]
    return blank | values


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A grid of 2 x 3 patches on one frame of source reef, and points at 0, 0 and 15, 11 of another."""
    boxes = [*tile_boxes(16, 12, Grid(2, 3)), *point_boxes(np.array([[0, 0], [15, 11]]), 8)]
    ids = [tile_id("reef/tow 1/a.jpg", n // 3, n % 3) for n in range(6)]
    ids += [point_id("reef/b.jpg", 0, 0), point_id("reef/b.jpg", 15, 11)]
    index, predictions = [], []
    for n, (patch, box, label) in enumerate(zip(ids, boxes, [*LABELS, "Deploy", "Coral"], strict=True)):
        frame, cell = patch.rpartition("#")[0], (n // 3, n % 3) if n < 6 else (-1, -1)
        edges = dict(zip(("x0", "y0", "x1", "y1"), map(int, box), strict=True))
        index.append(_row(PATCH_INDEX, patch_id=patch, frame_id=frame, row=cell[0], col=cell[1], **edges))
        said = label.casefold().replace("-", "_")
        chances: dict[str, object] = {
            f"p_{name}": 0.8 if name == said else 0.1 for name in ("no_deploy", "coral", "deploy")
        }
        split = "test" if n < 6 else "val"
        chances |= {"patch_id": patch, "frame_id": frame, "split": split, "predicted": label}
        predictions.append(_row(PATCH_PREDICTIONS, **chances))
    shape = {"source": "reef", "width_px": 16, "height_px": 12}
    frames = [_row(FRAMES, frame_id=f"reef/{name}", **shape) for name in ("tow 1/a.jpg", "b.jpg")]
    FRAMES.write(FRAMES.frame(frames), tmp_path / "data/catalog/frames.csv")
    PATCH_INDEX.write(PATCH_INDEX.frame(index), tmp_path / "data/patches/index.csv")
    PATCH_PREDICTIONS.write(PATCH_PREDICTIONS.frame(predictions), tmp_path / "data/predictions/patches.csv")
    return tmp_path


def _read_back(root: Path, out: Path, layout: str, name: str) -> list[tuple[object, ...]]:
    put(root, "tow 1/a.jpg")
    put(root, "b.jpg", 1)
    (root / name).write_bytes((out / "reef" / name).read_bytes())
    rectangles = read(root, layout, machine_labels="keep").labels.rectangles
    assert {(r.kind, r.annotator) for r in rectangles} == {("machine", "robot")}
    return sorted((r.path, r.x0, r.y0, r.x1, r.y1, r.label) for r in rectangles)


def test_what_is_written_is_read_back(run: Path, tmp_path: Path) -> None:
    assert main(["export-labels", str(run), "--out", str(run / "out")]) == 0
    # Tiles of 16 x 12 px in 2 rows and 3 columns: edges 0, 5, 10, 16 and 0, 6, 12.
    tiles = [(x0, y0, x1, y1) for y0, y1 in ((0, 6), (6, 12)) for x0, x1 in ((0, 5), (5, 10), (10, 16))]
    points = [("b.jpg", 0, 0, 1, 1, "Deploy"), ("b.jpg", 15, 11, 16, 12, "Coral")]
    boxes = [("tow 1/a.jpg", *tile, label) for tile, label in zip(tiles, LABELS, strict=True)]
    assert _read_back(tmp_path / "coco", run / "out", "coco", "coco.json") == sorted(boxes + points)
    centres = [((a + c) // 2, (b + d) // 2, label) for _, a, b, c, d, label in boxes]
    middles = [("tow 1/a.jpg", x, y, x + 1, y + 1, label) for x, y, label in centres]
    assert _read_back(tmp_path / "points", run / "out", "coralnet", "annotations.csv") == sorted(middles + points)


def test_suggestions_and_scores(run: Path) -> None:
    main(["export-labels", str(run), "--out", str(run / "out"), "--split", "test"])
    table = pd.read_csv(run / "out/reef/annotations.csv")
    assert len(table) == 6
    assert list(table.columns[:5]) == ["Name", "Row", "Column", "Label", "Annotator"]
    assert (table["Machine suggestion 1"] == table["Label"]).all()
    assert set(table["Machine confidence 1"]) == {80.0}
    coco = json.loads((run / "out/reef/coco.json").read_text())
    assert {annotation["score"] for annotation in coco["annotations"]} == {0.8}


def test_predictions_are_not_taken_for_labels_of_people(run: Path, tmp_path: Path) -> None:
    main(["export-labels", str(run), "--out", str(run / "out")])
    put(tmp_path / "x", "tow 1/a.jpg")
    put(tmp_path / "x", "b.jpg", 1)
    (tmp_path / "x/annotations.csv").write_bytes((run / "out/reef/annotations.csv").read_bytes())
    with pytest.raises(TableError, match="no label is left"):
        read(tmp_path / "x", "coralnet")


def test_a_split_without_patches_is_an_error(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export-labels", str(run), "--out", str(run / "out"), "--split", "train"]) == 2
    assert "no patch of split train" in capsys.readouterr().err
    assert not (run / "out").exists()
