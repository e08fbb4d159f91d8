"""The demo reef: a procedural survey in the folder layout of a real one, with its recorder and known truth."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from reseed.base.classes import CLASS_INDEX, CLASSES, CORAL, DEPLOY, NO_DEPLOY
from reseed.base.parallel import ordered_map
from reseed.demo.render import Frame, render_frame
from reseed.demo.scene import FrameKey, Site, describe_site, random_stream
from reseed.demo.texture import smooth_noise
from reseed.params.demo import DemoParams

_DEVICE: Final = "RESEED_DEMO"
_FIRST_DAY: Final = datetime(2024, 3, 4, 22, 30, tzinfo=UTC)
# The recorder takes this many photos for each one that is delivered; the log has a row for each.
PHOTOS_PER_FRAME: Final = 5
_PHOTOS_PER_S: Final = 3
_GROUND_SPEED_M_PER_S: Final = 1.2
_M_PER_DEG: Final = 111_320.0


@dataclass(frozen=True)
class Position:
    """Where and when one photo of a track was taken."""

    number: int
    taken: datetime
    latitude_deg: float
    longitude_deg: float

    @property
    def name(self) -> str:
        """File name as the recorder writes it, `YYYYMMDD_HHMMSS_mmm_NNNN.jpg`."""
        return f"{self.taken:%Y%m%d_%H%M%S}_{self.taken.microsecond // 1000:03d}_{self.number:04d}.jpg"


@dataclass(frozen=True)
class FrameRecord:
    """What the recorder notes of a delivered frame."""

    key: FrameKey
    position: Position
    altitude_m: float
    water_depth_m: float
    exposure_us: int


def sequence_name(site: Site, sequence: int) -> str:
    """Folder of a sequence, such as `amber_tow_1`."""
    return f"{site.name.lower()}_tow_{sequence + 1}"


def track(params: DemoParams, site: int, sequence: int) -> list[Position]:
    """Return every photo of a sequence's track; each `PHOTOS_PER_FRAME`-th one is delivered."""
    rng = random_stream(params.seed, 3, site, sequence)
    begin = _FIRST_DAY + timedelta(days=2 * site, minutes=23 * sequence, seconds=int(rng.integers(0, 600)))
    heading = rng.uniform(0, 2 * np.pi)
    latitude, longitude = -18.2 + 0.031 * site + 0.004 * sequence, 147.6 + 0.043 * site + 0.003 * sequence
    positions = []
    for number in range(params.frames_per_sequence * PHOTOS_PER_FRAME):
        moved_m = _GROUND_SPEED_M_PER_S * number / _PHOTOS_PER_S
        drift_m = rng.normal(0, 0.15, 2)
        north_m, east_m = moved_m * np.cos(heading) + drift_m[0], moved_m * np.sin(heading) + drift_m[1]
        positions.append(
            Position(
                number=number,
                taken=begin + timedelta(seconds=number // _PHOTOS_PER_S),
                latitude_deg=round(float(latitude + north_m / _M_PER_DEG), 7),
                longitude_deg=round(float(longitude + east_m / (_M_PER_DEG * np.cos(np.radians(latitude)))), 7),
            )
        )
    return positions


def exif_of(record: FrameRecord) -> Image.Exif:
    """Return the EXIF block of a frame, as the recorder writes it: GPSAltitude is the water depth, without its Ref."""
    exif = Image.Exif()
    stamp = f"{record.position.taken:%Y:%m:%d %H:%M:%S}"
    exif[0x0132] = stamp  # DateTime
    exif[0xC62F] = _DEVICE  # CameraSerialNumber
    gps = exif.get_ifd(0x8825)
    gps[0] = b"\x02\x01\x00\x00"
    gps[1] = "S" if record.position.latitude_deg < 0 else "N"
    gps[2] = _degrees_minutes_seconds(record.position.latitude_deg)
    gps[3] = "E" if record.position.longitude_deg >= 0 else "W"
    gps[4] = _degrees_minutes_seconds(record.position.longitude_deg)
    gps[6] = IFDRational(round(record.water_depth_m * 100), 100)
    gps[29] = stamp
    camera_m = record.water_depth_m - record.altitude_m
    comment = (
        f"The depth at this location is {record.water_depth_m} metres as shown in the field GPSAltitude. "
        f"The camera was {camera_m:.2f} metres below the surface. The distance from the camera to the bottom "
        f"was {record.altitude_m} metres as shown in the field SubjectDistance. Synthetic frame of the demo reef."
    )
    details = exif.get_ifd(0x8769)
    details[0x9003] = details[0x9004] = stamp  # DateTimeOriginal, DateTimeDigitized
    details[0x9206] = IFDRational(round(record.altitude_m * 100), 100)  # SubjectDistance
    details[0x829A] = IFDRational(record.exposure_us, 1_000_000)  # ExposureTime
    details[0x8827] = 18  # ISOSpeedRatings
    details[0x9286] = b"ASCII\x00\x00\x00" + comment.encode("ascii")  # UserComment
    return exif


def _degrees_minutes_seconds(degrees: float) -> tuple[IFDRational, IFDRational, IFDRational]:
    """Write an angle as whole degrees, whole minutes and thousandths of a second."""
    thousandths = round(abs(degrees) * 3_600_000)
    return (
        IFDRational(thousandths // 3_600_000, 1),
        IFDRational(thousandths // 60_000 % 60, 1),
        IFDRational(thousandths % 60_000, 1000),
    )


def write_logs(params: DemoParams, site: Site, sequence: int, records: list[FrameRecord], folder: Path) -> None:
    """Write `photo_log.csv` and `survey.json` of one sequence; the log also has the photos that were not delivered."""
    positions = track(params, site.index, sequence)
    identity = f"{positions[0].taken:%Y%m%d_%H%M%S}_Seq{sequence + 1:02d}"
    rows = [_log_row(position, records[position.number // PHOTOS_PER_FRAME], identity) for position in positions]
    place = folder / sequence_name(site, sequence)
    pd.DataFrame(rows).to_csv(place / "photo_log.csv", index=False, lineterminator="\n")
    first, last = positions[0], positions[-1]
    survey = {
        "id": identity,
        "friendly_name": f"{site.name} Tow {sequence + 1} (demo)",
        "photos": len(positions),
        "start_date": f"{first.taken:%Y-%m-%dT%H:%M:%S}",
        "start_lat": round(first.latitude_deg, 5),
        "start_lon": round(first.longitude_deg, 5),
        "finish_date": f"{last.taken:%Y-%m-%dT%H:%M:%S}",
        "finish_lat": round(last.latitude_deg, 5),
        "finish_lon": round(last.longitude_deg, 5),
        "site": site.name,
        **dict.fromkeys(("operator", "observer", "sea", "wind", "cloud", "visibility", "tide"), ""),
        "comments": "Synthetic: rendered by reseed, no real place.",
    }
    (place / "survey.json").write_text(json.dumps(survey), encoding="utf-8")


def _log_row(position: Position, nearest: FrameRecord, identity: str) -> dict[str, Any]:
    """Return one row of the recorder's log; depth and height are those of the nearest delivered frame."""
    return {
        "altitude": 0.0,
        "device_id": _DEVICE,
        "error_flag": False,
        "error_message": "No Errors",
        "exposure_time": nearest.exposure_us,
        "filename_string": position.name,
        "friendly_name": "",
        "image_id": position.number,
        "latitude": position.latitude_deg,
        "longitude": position.longitude_deg,
        "navstatus": 0,
        "ping_depth": round(nearest.altitude_m * 1000),
        "pressure_depth": round(nearest.water_depth_m - nearest.altitude_m, 2),
        "recording_status": True,
        "sensor_gain": 18,
        "sensor_temperature": 49.7,
        "sequence_name": identity,
        "sequence_path": f"/media/demo/images/{identity}",
        "shutdown_status": False,
        "speed_over_ground": _GROUND_SPEED_M_PER_S,
        "time_msecs": 0,
        "time_secs": int(position.taken.timestamp()),
        "version": "1.1.0",
        "write_file": True,
    }


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
