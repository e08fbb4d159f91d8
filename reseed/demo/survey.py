"""The demo reef: a procedural survey in exactly the folder layout of a real one, with known truth."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd
from PIL import Image

from reseed.base.classes import CLASSES
from reseed.base.parallel import ordered_map
from reseed.demo.annotators import class_counts, deploy_share, label_frame, label_rectangles, tile_edges
from reseed.demo.recorder import PHOTOS_PER_FRAME, FrameRecord, exif_of, sequence_name, track, write_logs
from reseed.demo.render import Frame, render_frame
from reseed.demo.scene import FrameKey, Site, describe_site, random_stream
from reseed.params.demo import DemoParams

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
