"""The demo reef: a procedural survey in exactly the folder layout of a real one, with known truth."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image

from reseed.base.classes import CLASS_INDEX, CLASSES, CORAL, DEPLOY, NO_DEPLOY
from reseed.base.parallel import ordered_map
from reseed.demo.recorder import PHOTOS_PER_FRAME, FrameRecord, exif_of, sequence_name, track, write_logs
from reseed.demo.render import Frame, render_frame
from reseed.demo.scene import FrameKey, Site, describe_site, random_stream
from reseed.demo.texture import smooth_noise
from reseed.params.demo import DemoParams

ClassMap = npt.NDArray[np.uint8]
Edges = npt.NDArray[np.int64]

# The tiles by which the true decision on a frame is taken: the grid of a ReefScan frame.
DECISION_TILES: Final = (4, 7)

# What an annotator who errs says instead of the truth, where the rectangle itself holds one class only: people take
# turf-covered rock for rubble or algae and the other way round, and seldom miss a living coral.
_CONFUSED_WITH: Final = {
    CLASS_INDEX[NO_DEPLOY]: (0.0, 0.3, 0.7),
    CLASS_INDEX[CORAL]: (0.5, 0.0, 0.5),
    CLASS_INDEX[DEPLOY]: (0.75, 0.25, 0.0),
}
# Distance from alpha, as a share of the frame, over which the chance of a misjudged frame falls to 37 %.
_DOUBT: Final = 0.06


def tile_edges(edge_px: int, count: int) -> Edges:
    """Return the `count` + 1 borders of the tiles along an edge: tile i spans floor(W*i/n) to floor(W*(i+1)/n)."""
    return np.arange(count + 1, dtype=np.int64) * edge_px // count


def class_counts(truth: ClassMap, row_edges: Edges, col_edges: Edges) -> npt.NDArray[np.int64]:
    """Count the pixels of each class in each tile of a truth map (H, W): (rows, cols, 3)."""
    counts = []
    for index in range(len(CLASSES)):
        sums = np.add.reduceat((truth == index).astype(np.int64), row_edges[:-1], axis=0)
        counts.append(np.add.reduceat(sums, col_edges[:-1], axis=1))
    return np.stack(counts, axis=-1)


def label_rectangles(
    rng: np.random.Generator, counts: npt.NDArray[np.int64], error_rate: float
) -> npt.NDArray[np.int64]:
    """Label rectangles by the class that covers most of them, `error_rate` of them wrongly.

    Mistakes gather where a rectangle holds two classes and, as people's do, in neighbouring rectangles.

    Args:
        rng: The annotator's own random stream for the frame.
        counts: (rows, cols, 3) pixels of each class in each rectangle.
        error_rate: Share of rectangles to label wrongly.

    Returns:
        (rows, cols) class indices.
    """
    labels = counts.argmax(axis=-1)
    shape = (labels.shape[0], labels.shape[1])
    wrong_total = int(error_rate * labels.size + rng.random())
    shares = counts / counts.sum(axis=-1, keepdims=True)
    doubt = 4 * (1 - shares.max(axis=-1)) + smooth_noise(rng, shape, 2.5) + 0.3 * rng.standard_normal(shape)
    wrong = np.argsort(-doubt.ravel(), kind="stable")[:wrong_total]
    flat: npt.NDArray[np.int64] = labels.reshape(-1).copy()
    for rectangle in wrong:
        true = int(flat[rectangle])
        weight = 0.2 * np.array(_CONFUSED_WITH[true]) + shares.reshape(-1, len(CLASSES))[rectangle]
        weight[true] = 0
        flat[rectangle] = rng.choice(len(CLASSES), p=weight / weight.sum())
    return flat.reshape(shape)


def deploy_share(truth: ClassMap) -> Fraction:
    """Return the exact share of the 7 x 4 tiles of a truth map (H, W) that are Deploy by majority."""
    rows, cols = DECISION_TILES
    counts = class_counts(truth, tile_edges(truth.shape[0], rows), tile_edges(truth.shape[1], cols))
    return Fraction(int((counts.argmax(axis=-1) == CLASS_INDEX[DEPLOY]).sum()), rows * cols)


def label_frame(rng: np.random.Generator, share: Fraction, alpha: float, error_rate: float) -> str:
    """Decide on a frame: Deploy where `share` exceeds alpha, misjudged most often where it is close to alpha."""
    threshold = Fraction(str(alpha))
    truth = share > threshold
    misjudged = rng.random() < error_rate * np.exp(-abs(float(share - threshold)) / _DOUBT)
    return DEPLOY if truth != misjudged else NO_DEPLOY


ANNOTATORS: Final = ("A", "B")


@dataclass(frozen=True)
class Labels:
    """What each annotator says of a frame: rows (x0, y0, x1, y1, label) and the decision, by annotator."""

    rectangles: dict[str, list[tuple[int, int, int, int, str]]]
    decisions: dict[str, str]


def render_survey(params: DemoParams, folder: Path) -> None:
    """Render the demo survey into `folder`: sequences with frames, logs and EXIF, and both annotators' tables.

    Same parameters, same bytes, whatever the number of threads. Threads rather than processes: nothing can outlive
    a killed parent and write on.

    Args:
        params: The `demo` section.
        folder: Where to write; made if missing, expected to be empty.
    """
    sites = [describe_site(params.seed, index) for index in range(params.sites)]
    keys = [
        FrameKey(site, sequence, frame)
        for site in range(params.sites)
        for sequence in range(params.sequences_per_site)
        for frame in range(params.frames_per_sequence)
    ]
    for site in sites:
        for sequence in range(params.sequences_per_site):
            (folder / sequence_name(site, sequence)).mkdir(parents=True, exist_ok=True)

    def render(key: FrameKey) -> tuple[FrameRecord, Labels]:
        return _render_one(params, sites[key.site], key, folder)

    results = list(ordered_map(render, keys, total=len(keys), unit="frame", what="render the demo"))
    for site in sites:
        for sequence in range(params.sequences_per_site):
            here = (site.index, sequence)
            records = [record for record, _ in results if (record.key.site, record.key.sequence) == here]
            write_logs(params, site, sequence, records, folder)
    _write_labels(sites, results, folder)


def _render_one(params: DemoParams, site: Site, key: FrameKey, folder: Path) -> tuple[FrameRecord, Labels]:
    frame = render_frame(params, site, key)
    position = track(params, key.site, key.sequence)[key.frame * PHOTOS_PER_FRAME]
    record = FrameRecord(key, position, frame.altitude_m, frame.water_depth_m, frame.exposure_us)
    path = folder / sequence_name(site, key.sequence) / position.name
    Image.fromarray(frame.pixels).save(path, quality=params.jpeg_quality, exif=exif_of(record))
    return record, annotate(params, key, frame)


def annotate(params: DemoParams, key: FrameKey, frame: Frame) -> Labels:
    """Let both annotators label a frame, each from a random stream of their own."""
    height, width = frame.truth.shape
    rows = tile_edges(height, -(-height // params.annotation_px))
    cols = tile_edges(width, -(-width // params.annotation_px))
    counts = class_counts(frame.truth, rows, cols)
    share = deploy_share(frame.truth)
    rates = {
        "A": (params.rectangle_error_a, params.frame_error_a),
        "B": (params.rectangle_error_b, params.frame_error_b),
    }
    rectangles, decisions = {}, {}
    for number, (annotator, (rectangle_error, frame_error)) in enumerate(rates.items()):
        rng = random_stream(params.seed, 4, key.site, key.sequence, key.frame, number)
        labels = label_rectangles(rng, counts, rectangle_error)
        rectangles[annotator] = [
            (int(cols[col]), int(rows[row]), int(cols[col + 1]), int(rows[row + 1]), CLASSES[labels[row, col]])
            for row in range(labels.shape[0])
            for col in range(labels.shape[1])
        ]
        decisions[annotator] = label_frame(rng, share, params.frame_alpha, frame_error)
    return Labels(rectangles, decisions)


def _write_labels(sites: list[Site], results: list[tuple[FrameRecord, Labels]], folder: Path) -> None:
    """Write `annotations_<X>.csv` and `frame_labels_<X>.csv` of both annotators."""
    paths = [f"{sequence_name(sites[rec.key.site], rec.key.sequence)}/{rec.position.name}" for rec, _ in results]
    for annotator in ANNOTATORS:
        rectangles = [
            (path, *rectangle, annotator)
            for path, (_, labels) in zip(paths, results, strict=True)
            for rectangle in labels.rectangles[annotator]
        ]
        columns = ["frame", "x0", "y0", "x1", "y1", "label", "annotator"]
        pd.DataFrame(rectangles, columns=columns).to_csv(
            folder / f"annotations_{annotator}.csv", index=False, lineterminator="\n"
        )
        decisions = [
            (path, labels.decisions[annotator], annotator) for path, (_, labels) in zip(paths, results, strict=True)
        ]
        pd.DataFrame(decisions, columns=["frame", "label", "annotator"]).to_csv(
            folder / f"frame_labels_{annotator}.csv", index=False, lineterminator="\n"
        )
