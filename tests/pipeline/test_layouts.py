"""The whole pipeline on the other layouts, made of the demo's pictures."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from reseed.base.grid import Grid, tile_boxes
from tests.pipeline.clone import Clone

pytestmark = pytest.mark.slow

SURVEY = "data/raw/demo"
GRID = Grid(rows=4, cols=7)


def cells(finished: Clone) -> list[tuple[str, int, str, str]]:
    """Frame, index, label and split of every labelled patch of the finished demo run."""
    labels = pd.read_csv(finished.root / "data/patches/labels.csv", keep_default_na=False)
    index = pd.read_csv(finished.root / "data/patches/index.csv").set_index("patch_id")
    splits = pd.read_csv(finished.root / "data/catalog/splits.csv").set_index("frame_id")["split"]
    gold = labels[(labels["gold"] == 1) & (labels["label"] != "")]
    return [
        (frame, int(row["row"]) * GRID.cols + int(row["col"]), label, splits[frame])
        for label, (_, row) in zip(gold["label"], index.loc[gold["patch_id"]].iterrows(), strict=True)
        for frame in [row["frame_id"]]
    ]


def entry(name: str, folder: Path, layout: str, known: dict[str, object]) -> dict[str, object]:
    return known | {"name": name, "kind": "folder", "uri": str(folder), "layout": layout, "licence": "unknown"}


def sources(clone: Clone, *wanted: tuple[str, Path, str]) -> None:
    """Name other sources in params.yaml, with whatever further keys an entry has there."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - only here

    known = dict(YAML(typ="safe").load(clone.root / "params.yaml")["pull"]["sources"][0])
    clone.set_params(pull__sources=[entry(*one, known) for one in wanted])


def test_the_papers_two_folders_from_pull_to_scores(finished: Clone, clone: Clone, tmp_path: Path) -> None:
    """Patches for training and patch scores, whole frames for deployment scores."""
    tiles = tile_boxes(664, 380, GRID)
    for frame, index, label, split in cells(finished):
        site = frame.split("/")[1]
        part = "TestSplit" if split == "test" else "TrainSplit"
        path = tmp_path / "patches" / f"Combined-{part}" / site / label / f"{Path(frame).stem}_{index}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(finished.root / "data/raw" / frame) as image:
            image.crop(tuple(tiles[index].tolist())).save(path)
    with (finished.root / SURVEY / "frame_labels_A.csv").open() as table:
        decisions = {row["frame"]: row["label"] for row in csv.DictReader(table)}
    splits = pd.read_csv(finished.root / "data/catalog/splits.csv").set_index("frame_id")["split"]
    for frame, decision in decisions.items():
        if splits[f"demo/{frame}"] == "test":
            path = tmp_path / "frames/test" / decision / Path(frame).name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((finished.root / SURVEY / frame).read_bytes())
    sources(clone, ("patches", tmp_path / "patches", "auto"), ("frames", tmp_path / "frames", "auto"))
    clone.set_params(
        catalog__annotator="auto", aggregate__alpha=0.3, train__epochs=2, train__repeats=1, split__group_by="site"
    )
    out = clone.stages()
    assert "read as patch-folders" in out
    assert "read as frame-folders" in out

    frames = pd.read_csv(clone.root / "data/predictions/frames.csv", keep_default_na=False)
    of_patches, of_frames = (frames[frames["frame_id"].str.startswith(name)] for name in ("patches/", "frames/"))
    assert len(of_patches) == len({frame for frame, *_ in cells(finished)})
    assert of_patches["n_patches"].sum() == len(cells(finished))
    assert set(of_patches["gold"]) == {""}
    assert set(of_frames["split"]) == {"test"}
    assert set(of_frames["n_patches"]) == {28}
    assert set(of_frames["gold"]) <= {"Deploy", "No-Deploy"}
    metrics = clone.json("metrics/metrics.json")
    assert metrics["patch"]["n"] == sum(split == "test" for *_, split in cells(finished))
    assert metrics["frame"]["n"] == len(of_frames)
    assert metrics["data"]["synthetic"] is True  # the whole frames carry the mark of the demo, whatever brought them
    # The same labels as the survey gave, patch by patch.
    labels = pd.read_csv(clone.root / "data/patches/labels.csv", keep_default_na=False)
    found = {
        (frame.split("/")[-1], cell): label
        for (frame, cell), label in zip(labels["patch_id"].str.split("#"), labels["label"], strict=True)
    }
    assert found == {
        (Path(frame).stem, f"r{index // 7:03d}c{index % 7:03d}"): label for frame, index, label, _ in cells(finished)
    }


def test_points_without_frame_labels_are_scored_as_patches_only(finished: Clone, clone: Clone, tmp_path: Path) -> None:
    boxes = tile_boxes(664, 380, GRID)
    codes = {"No-Deploy": "Sand", "Coral": "Porit", "Deploy": "CCA"}
    rows = ["Name,Row,Column,Label,Annotator"]
    for frame, index, label, _ in cells(finished):
        x0, y0, x1, y1 = boxes[index].tolist()
        rows.append(f"{Path(frame).name},{(y0 + y1) // 2},{(x0 + x1) // 2},{codes[label]},anna")
        image = tmp_path / "export/images" / Path(frame).name
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_bytes((finished.root / "data/raw" / frame).read_bytes())
    (tmp_path / "export/annotations.csv").write_text("\n".join(rows))
    (tmp_path / "export/label_map.yaml").write_text("Sand: No-Deploy\nPorit: Coral\nCCA: Deploy\n")
    sources(clone, ("export", tmp_path / "export", "auto"))
    clone.set_params(
        catalog__annotator="A", aggregate__alpha=0.3, train__epochs=2, train__repeats=1, split__group_by="frame"
    )
    assert "gold annotator anna" in clone.stages()
    metrics = clone.json("metrics/metrics.json")
    assert metrics["patch"]["n"] > 20
    assert {metrics["frame"][key] for key in metrics["frame"] if key not in ("alpha", "n")} == {"n/a"}
    assert metrics["frame"]["n"] == 0
    index = pd.read_csv(clone.root / "data/patches/index.csv")
    assert set(index["row"]) == {-1}
    assert (index["x1"] - index["x0"] == 100).all()


def test_weak_labels_are_named_wherever_a_score_stands(finished: Clone, clone: Clone, tmp_path: Path) -> None:
    with (finished.root / SURVEY / "frame_labels_A.csv").open() as table:
        frames = [(row["frame"], row["label"]) for row in csv.DictReader(table)]
    for number, (frame, decision) in enumerate(frames):
        label = "coral" if number % 3 == 0 else decision
        path = tmp_path / "weak" / frame.split("/")[0] / label / Path(frame).name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((finished.root / SURVEY / frame).read_bytes())
    sources(clone, ("weak", tmp_path / "weak", "frame-folders"))
    clone.set_params(
        catalog__annotator="auto", aggregate__alpha=0.3, train__epochs=2, train__repeats=1, split__group_by="frame"
    )
    assert "catalog.weak_labels: true" in clone.stages(fails=True)
    clone.set_params(catalog__weak_labels=True)
    clone.stages()
    assert clone.json("metrics/details.json")["patch"]["test"]["labels"] == "weak"
    kinds = pd.read_csv(clone.root / "data/patches/labels.csv")["kind"]
    assert set(kinds) == {"weak"}
    assert clone.run("python", "-m", "reseed", "scores").count("*** WEAK labels") == 2
    assert json.loads((clone.root / "data/catalog/counts.json").read_text())["total"]["kept"] == len(frames)
