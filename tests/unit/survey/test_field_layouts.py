"""Real imagery in every other layout, where $RESEED_FIELD_DATA points to it."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from reseed.artifacts.raw import RawSource
from reseed.base.grid import Grid, tile_boxes
from reseed.params.catalog import CatalogParams
from reseed.params.extract import ExtractParams
from reseed.params.load import load_section
from reseed.params.pull import PullParams
from reseed.params.split import SplitParams
from reseed.patches.extract import cut, plan
from reseed.patches.splits import divide, label_weights
from reseed.survey.catalog import Catalog, build_catalog
from tests.unit.survey.surveys import catalog_params

FOLDER = os.environ.get("RESEED_FIELD_DATA", "")
RECIPE = Path(__file__).parents[3] / "params/reefscan.yaml"
GRID = Grid(rows=4, cols=7)
EXTRACT = ExtractParams(patch_size=800, input_size=32, min_purity=0.5)
pytestmark = [
    pytest.mark.field,
    pytest.mark.skipif(not FOLDER, reason="RESEED_FIELD_DATA is not set: no real frames here"),
]


def _source(name: str, layout: str) -> RawSource:
    return RawSource(name, "folder", "x", layout, "0" * 64, 1, 1, "unknown", pinned=False, synthetic=False)


@pytest.mark.parametrize(
    ("name", "images", "points", "dropped"),
    [
        ("moorea", 12, {"Coral": 1108, "Deploy": 709, "No-Deploy": 553}, 30),
        ("pulley", 24, {"Coral": 213, "Deploy": 497, "No-Deploy": 408}, 0),
    ],
)
def test_points(name: str, images: int, points: dict[str, int], dropped: int) -> None:
    params = catalog_params(max_pixels=10**8, strict=True)
    catalog = build_catalog([_source(name, "auto")], Path(FOLDER), params)
    part = catalog.counts["sources"][name]
    assert (part["read_as"], len(catalog.frames)) == ("coralnet", images)
    assert dict(catalog.annotations["label"].value_counts()) == points
    assert set(catalog.annotations["kind"]) == {"point"}
    assert set(catalog.annotations["gold"]) == {1}
    assert part["labels"]["annotation_mapped_to_null_dropped"] == dropped
    planned = plan(catalog.frames, catalog.annotations, EXTRACT.model_copy(update={"patch_size": 224}), catalog.pieces)
    first = type(planned)(planned.frames[:1], ())
    (patches,) = cut(first, Path(FOLDER), 224, 32)
    assert planned.n_patches == sum(points.values())
    assert patches.shape == (len(planned.frames[0].boxes), 32, 32, 3)
    assert patches.std(axis=(1, 2, 3)).min() > 0


@pytest.fixture(scope="module")
def survey() -> Catalog:
    params = catalog_params(annotator="A", max_pixels=10**8)
    return build_catalog([_source("reefscan", "survey")], Path(FOLDER), params)


def test_the_release_gives_the_patch_labels_of_the_survey(survey: Catalog, tmp_path: Path) -> None:
    """The folders that go with the paper, rebuilt from real frames at an eighth of their size, by `reefscan.yaml`."""
    _rebuild_release(survey, tmp_path / "release")
    pull, params = load_section(RECIPE, "pull", PullParams), load_section(RECIPE, "catalog", CatalogParams)
    assert [(source.name, source.layout) for source in pull.sources] == [
        ("patches", "patch-folders"),
        ("frames", "frame-folders"),
    ]
    (tmp_path / "raw").mkdir()
    for source in pull.sources:
        origin = source.uri.replace("$REEFSCAN_DATA", str(tmp_path / "release"))
        (tmp_path / "raw" / source.name).symlink_to(origin)
    release = build_catalog([_source(s.name, s.layout) for s in pull.sources], tmp_path / "raw", params)
    assert len(release.frames) == 34 + 34
    assert len(release.pieces) == 34 * 28 - 1  # one is missing
    assert release.counts["total"]["kept"] == 34 * 28 - 1 + 34

    of_survey, of_release = _gold_labels(survey), _gold_labels(release)
    assert len(of_survey) == 952
    missing = of_survey.keys() - of_release.keys()
    assert len(missing) == 1
    assert of_release == {key: label for key, label in of_survey.items() if key not in missing}
    decisions = {Path(row["frame_id"]).stem: row["label"] for row in release.frame_labels.to_dict("records")}
    of_a = survey.frame_labels[survey.frame_labels["gold"] == 1]
    assert decisions == {Path(row["frame_id"]).stem: row["label"] for row in of_a.to_dict("records")}

    # The split it brings is kept; no frame is divided, whatever the groups; whole days go to validation.
    patches = release.frames[release.frames["source"] == "patches"]
    assert set(patches["given_split"]) == {"train", "test"}
    weights = label_weights(release.annotations, release.frame_labels)
    division = divide(patches, weights, load_section(RECIPE, "split", SplitParams))
    split = {Path(frame_id).name: name for frame_id, name in division.splits.items()}
    assert len(split) == 34
    assert {name for stem, name in split.items() if stem.startswith("20230320")} == {"test"}
    assert len({name for stem, name in split.items() if stem.startswith("20230313")}) == 1
    assert set(split.values()) == {"train", "val", "test"}


def test_patches_cut_beforehand_are_used_as_they_are(survey: Catalog, tmp_path: Path) -> None:
    """At their own size the packed pixels are those of the files, in the order of the grid."""
    _rebuild_release(survey, tmp_path / "release", frames=1)
    source = tmp_path / "release/Evaluation/Patches"
    catalog = build_catalog([_source("Patches", "auto")], source.parent, catalog_params(max_pixels=10**8))
    planned = plan(catalog.frames, catalog.annotations, EXTRACT, catalog.pieces)
    (patches,) = cut(planned, source.parent, EXTRACT.patch_size, 95)
    assert (catalog.frames["width_px"].iloc[0], catalog.frames["height_px"].iloc[0]) == (664, 380)
    assert planned.frames[0].boxes.tolist() == [
        box for at, box in enumerate(tile_boxes(664, 380, GRID).tolist()) if at != 5
    ]
    for row, path in zip(catalog.pieces.itertuples(), catalog.pieces["path"], strict=True):
        with Image.open(source.parent / path) as image:
            index = [patch.split("#")[1] for patch in planned.frames[0].patch_ids].index(
                f"r{row.row:03d}c{row.col:03d}"
            )
            expected = np.asarray(image.convert("RGB").resize((95, 95), Image.Resampling.BICUBIC))
            assert np.abs(patches[index].astype(int) - expected).max() <= 2  # one rounds between the two passes


def _rebuild_release(survey: Catalog, root: Path, frames: int = 34) -> None:
    """Write `Evaluation/Patches/Combined-*Split/<Class>` and `Evaluation/Deployment/Combined/<Decision>`."""
    gold = survey.annotations[survey.annotations["gold"] == 1]
    decisions = survey.frame_labels[survey.frame_labels["gold"] == 1].set_index("frame_id")["label"]
    for number, frame_id in enumerate(survey.frames["frame_id"][:frames]):
        stem = Path(frame_id).stem
        part = "Combined-TestSplit" if stem.startswith("20230320") else "Combined-TrainSplit"
        with Image.open(Path(FOLDER) / frame_id) as image:
            image.draft("RGB", (664, 380))
            small = image.convert("RGB").resize((664, 380))
        whole = root / "Evaluation/Deployment/Combined" / decisions[frame_id] / f"{stem}.jpg"
        whole.parent.mkdir(parents=True, exist_ok=True)
        small.save(whole, quality=80)
        cells = gold[gold["frame_id"] == frame_id].sort_values(["y0", "x0"])["label"]
        for index, (label, box) in enumerate(zip(cells, tile_boxes(664, 380, GRID), strict=True)):
            if number == 0 and index == 5:
                continue  # a patch that was not delivered shifts no other
            patch = root / "Evaluation/Patches" / part / label / f"{stem}_{index}.png"
            patch.parent.mkdir(parents=True, exist_ok=True)
            small.crop(tuple(box.tolist())).save(patch, compress_level=1)


def _gold_labels(catalog: Catalog) -> dict[tuple[str, str], str]:
    """Label of each patch by frame name and cell."""
    frames = catalog.frames[catalog.frames["source"] != "frames"]
    planned = plan(frames, catalog.annotations, EXTRACT, catalog.pieces)
    rows = pd.DataFrame([row for frame in planned.frames for row in frame.labels])
    rows = rows[rows["gold"] == 1]
    parts = [patch_id.split("#") for patch_id in rows["patch_id"]]
    return {
        (Path(frame).name.removesuffix(".jpg"), cell): label
        for (frame, cell), label in zip(parts, rows["label"], strict=True)
    }
