"""The demo reef: the layout of a real survey, the same bytes each time, and labels that follow from the truth."""

import hashlib
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from pydantic import ValidationError

from reseed.base import parallel
from reseed.base.classes import CLASS_INDEX, CLASSES, DEPLOY, NO_DEPLOY
from reseed.demo.render import render_frame
from reseed.demo.scene import (
    CLASS_OF_SUBSTRATE,
    FrameKey,
    Substrate,
    describe_site,
    lay_out,
    random_stream,
    shows_rock,
)
from reseed.demo.survey import (
    annotate,
    class_counts,
    deploy_share,
    label_frame,
    label_rectangles,
    render_survey,
    sequence_name,
    tile_edges,
    track,
)
from reseed.demo.texture import Bars, draw_bars, fractal_noise, scatter_cells
from reseed.params.demo import DemoParams

PARAMS = DemoParams(
    seed=11,
    sites=2,
    sequences_per_site=1,
    frames_per_sequence=2,
    width_px=210,
    height_px=120,
    jpeg_quality=88,
    deploy_frame_share=0.5,
    frame_alpha=0.25,
    annotation_px=8,
    rectangle_error_a=0.05,
    rectangle_error_b=0.1,
    frame_error_a=0.2,
    frame_error_b=0.3,
)

# The columns of the recorder's log in the fullest form seen in real surveys.
LOG_COLUMNS = (
    "altitude,device_id,error_flag,error_message,exposure_time,filename_string,friendly_name,image_id,latitude,longitude,"
    "navstatus,ping_depth,pressure_depth,recording_status,sensor_gain,sensor_temperature,sequence_name,sequence_path,"
    "shutdown_status,speed_over_ground,time_msecs,time_secs,version,write_file"
)


def changed(**values: float) -> DemoParams:
    return DemoParams(**{**PARAMS.model_dump(), **values})


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("survey")
    render_survey(PARAMS, folder)
    return folder


def test_two_renders_are_equal_byte_for_byte_whatever_the_threads(
    survey: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "usable_cores", lambda: 1)
    render_survey(PARAMS, tmp_path)
    assert digests(tmp_path) == digests(survey)


def test_another_seed_is_another_reef() -> None:
    key = FrameKey(0, 0, 0)
    first = render_frame(PARAMS, describe_site(PARAMS.seed, 0), key)
    second = render_frame(changed(seed=12), describe_site(12, 0), key)
    assert not np.array_equal(first.pixels, second.pixels)


def test_more_frames_leave_the_earlier_ones_as_they_are(survey: Path, tmp_path: Path) -> None:
    render_survey(changed(frames_per_sequence=3), tmp_path)
    more, before = digests(tmp_path), digests(survey)
    frames = [name for name in before if name.endswith(".jpg")]
    assert len(frames) == 4
    assert {name: more[name] for name in frames} == {name: before[name] for name in frames}


def test_folder_has_the_layout_of_a_real_survey(survey: Path) -> None:
    names = sorted(path.name for path in survey.iterdir())
    assert names == [
        "amber_tow_1", "annotations_A.csv", "annotations_B.csv", "boulder_tow_1", "frame_labels_A.csv",
        "frame_labels_B.csv",
    ]  # fmt: skip
    for name, site in (("amber_tow_1", "Amber"), ("boulder_tow_1", "Boulder")):
        frames = sorted(path.name for path in (survey / name).glob("*.jpg"))
        assert len(frames) == 2
        log = pd.read_csv(survey / name / "photo_log.csv")
        assert ",".join(log.columns) == LOG_COLUMNS
        assert set(frames) < set(log["filename_string"])
        assert len(log) == 10
        facts = json.loads((survey / name / "survey.json").read_text(encoding="utf-8"))
        assert facts["site"] == site
        assert facts["photos"] == 10
        assert "Synthetic" in facts["comments"]


def test_file_names_follow_the_recorder(survey: Path) -> None:
    for path in survey.rglob("*.jpg"):
        date, time, millis, number = path.stem.split("_")
        assert [len(part) for part in (date, time, millis, number)] == [8, 6, 3, 4]


def test_exif_holds_position_time_and_depths(survey: Path) -> None:
    path = next(iter(sorted((survey / "amber_tow_1").glob("*.jpg"))))
    with Image.open(path) as image:
        assert image.size == (PARAMS.width_px, PARAMS.height_px)
        exif = image.getexif()
    gps, details = exif.get_ifd(0x8825), exif.get_ifd(0x8769)
    position = track(PARAMS, 0, 0)[0]
    assert (gps[1], gps[3]) == ("S", "E")
    assert sum(float(part) / 60**power for power, part in enumerate(gps[2])) == pytest.approx(
        -position.latitude_deg, abs=1e-6
    )
    assert sum(float(part) / 60**power for power, part in enumerate(gps[4])) == pytest.approx(
        position.longitude_deg, abs=1e-6
    )
    assert 5 not in gps  # the real recorder writes no GPSAltitudeRef
    assert float(gps[6]) > float(details[0x9206]) > 0.3
    assert details[0x9003] == f"{position.taken:%Y:%m:%d %H:%M:%S}"
    assert details[0x9286].startswith(b"ASCII\x00\x00\x00The depth at this location is ")


def test_neighbouring_photos_move_along_the_track() -> None:
    positions = track(PARAMS, 0, 0)
    steps_m = [
        111_320
        * np.hypot(b.latitude_deg - a.latitude_deg, (b.longitude_deg - a.longitude_deg) * np.cos(np.radians(18)))
        for a, b in zip(positions, positions[5:], strict=False)
    ]
    # 1.2 m/s for 5 photos at 3 photos/s is 2 m, give or take the fix's noise
    assert all(1.0 < step < 3.0 for step in steps_m)


@pytest.mark.parametrize("annotator", ["A", "B"])
def test_annotations_tile_each_frame_without_overlap(survey: Path, annotator: str) -> None:
    table = pd.read_csv(survey / f"annotations_{annotator}.csv")
    assert list(table.columns) == ["frame", "x0", "y0", "x1", "y1", "label", "annotator"]
    assert set(table["label"]) <= set(CLASSES)
    assert set(table["annotator"]) == {annotator}
    assert all((survey / name).is_file() for name in table["frame"].unique())
    for _, rows in table.groupby("frame"):
        covered = np.zeros((PARAMS.height_px, PARAMS.width_px), dtype=int)
        for row in rows.itertuples():
            covered[row.y0 : row.y1, row.x0 : row.x1] += 1
        assert (covered == 1).all()


@pytest.mark.parametrize("annotator", ["A", "B"])
def test_every_frame_is_decided_on_once(survey: Path, annotator: str) -> None:
    table = pd.read_csv(survey / f"frame_labels_{annotator}.csv")
    assert list(table.columns) == ["frame", "label", "annotator"]
    assert set(table["label"]) <= {DEPLOY, NO_DEPLOY}
    assert sorted(table["frame"]) == sorted(path.relative_to(survey).as_posix() for path in survey.rglob("*.jpg"))


def test_annotators_who_never_err_give_the_majority_of_the_truth() -> None:
    params = changed(rectangle_error_a=0.0, rectangle_error_b=0.0, frame_error_a=0.0, frame_error_b=0.0)
    key = FrameKey(0, 0, 1)
    frame = render_frame(params, describe_site(params.seed, 0), key)
    labels = annotate(params, key, frame)
    assert labels.rectangles["A"] == labels.rectangles["B"]
    for x0, y0, x1, y1, label in labels.rectangles["A"]:
        counts = np.bincount(frame.truth[y0:y1, x0:x1].ravel(), minlength=3)
        assert counts[CLASS_INDEX[label]] == counts.max()
    expected = DEPLOY if deploy_share(frame.truth) > Fraction("0.25") else NO_DEPLOY
    assert labels.decisions == {"A": expected, "B": expected}


def test_annotators_err_at_the_given_rate_and_mostly_where_classes_meet() -> None:
    truth = np.zeros((200, 200), dtype=np.uint8)
    truth[:, 95:] = CLASS_INDEX[DEPLOY]
    edges = tile_edges(200, 20)
    counts = class_counts(truth, edges, edges)
    right = counts.argmax(axis=-1)
    wrong = np.mean([label_rectangles(np.random.default_rng(seed), counts, 0.1) != right for seed in range(40)], axis=0)
    # 10 % of 400 rectangles is 40 in each of the 40 draws; column 9 (90 to 100 px) is the mixed one
    assert wrong.mean() == pytest.approx(0.1, abs=0.001)
    assert wrong[:, 9].mean() > 3 * wrong[:, :9].mean()


def test_frames_are_misjudged_near_alpha_only() -> None:
    rng = np.random.default_rng(0)
    near = [label_frame(rng, Fraction(8, 28), 0.25, 0.4) for _ in range(400)]
    far = [label_frame(rng, Fraction(24, 28), 0.25, 0.4) for _ in range(400)]
    assert 0.1 < near.count(NO_DEPLOY) / 400 < 0.4
    assert far.count(NO_DEPLOY) <= 2


def test_a_share_equal_to_alpha_is_not_deploy() -> None:
    assert label_frame(np.random.default_rng(0), Fraction(7, 28), 0.25, 0.0) == NO_DEPLOY
    assert label_frame(np.random.default_rng(0), Fraction(8, 28), 0.25, 0.0) == DEPLOY


def test_class_counts_add_up() -> None:
    truth = np.random.default_rng(3).integers(0, 3, (37, 53)).astype(np.uint8)
    rows, cols = tile_edges(37, 4), tile_edges(53, 7)
    counts = class_counts(truth, rows, cols)
    assert counts.shape == (4, 7, 3)
    # tile (1, 2): rows floor(37/4)=9 to floor(74/4)=18, columns floor(106/7)=15 to floor(159/7)=22
    assert counts[1, 2].tolist() == np.bincount(truth[9:18, 15:22].ravel(), minlength=3).tolist()


def test_each_site_has_frames_with_and_without_abundant_rock() -> None:
    params = changed(sites=8, sequences_per_site=2, frames_per_sequence=4, deploy_frame_share=0.375)
    for site in range(8):
        rocky = [shows_rock(params, FrameKey(site, sequence, frame)) for sequence in range(2) for frame in range(4)]
        assert sum(rocky) == 3


def test_abundant_rock_covers_more_than_a_quarter_of_a_frame_and_other_frames_less() -> None:
    shape = (190, 332)
    for number in range(12):
        site = describe_site(5, number)
        for rocky in (True, False):
            layout = lay_out(random_stream(5, 9, number), shape, site, rocky=rocky)
            share = (CLASS_OF_SUBSTRATE[layout] == CLASS_INDEX[DEPLOY]).mean()
            assert (share > 0.25) if rocky else (share < 0.25)


def test_every_substrate_has_one_of_the_three_classes() -> None:
    assert {Substrate(kind).name: CLASSES[index] for kind, index in enumerate(CLASS_OF_SUBSTRATE)} == {
        "SAND": "No-Deploy", "RUBBLE": "No-Deploy", "ALGAE": "No-Deploy", "SEAGRASS": "No-Deploy", "WATER": "No-Deploy",
        "ROCK": "Deploy", "CRUST": "Deploy", "FRAMEWORK": "Deploy",
        "BRANCHING": "Coral", "MASSIVE": "Coral", "TABLE": "Coral", "SOFT": "Coral",
    }  # fmt: skip


def test_the_higher_bar_hides_the_lower_one() -> None:
    start = np.array([[5, 10, 0], [10, 5, 6]], dtype=np.float32)
    stop = np.array([[15, 10, 0], [10, 15, 6]], dtype=np.float32)
    relief = draw_bars(Bars(start, stop, np.full((2, 2), 2, np.float32), np.ones(2, np.float32)), (20, 20))
    assert relief.bar[10, 10] == 1
    assert relief.height[10, 10] == pytest.approx(8.0)  # 6 plus a radius of 2
    assert relief.bar[10, 6] == 0
    assert relief.along[10, 6] == pytest.approx(0.1)  # 1 of 10 pixels along
    assert relief.bar[0, 0] == -1


def test_noise_and_cells_fill_any_shape() -> None:
    rng = np.random.default_rng(0)
    assert fractal_noise(rng, (33, 71), 20, 4).shape == (33, 71)
    cells = scatter_cells(rng, (33, 71), 12, warp_px=3)
    assert cells.nearest.shape == cells.tone.shape == (33, 71)
    assert (cells.nearest >= 0).all()


def test_sequence_names_are_portable() -> None:
    assert sequence_name(describe_site(0, 7), 1) == "heron_tow_2"


@pytest.mark.parametrize(("key", "value"), [("sites", 0), ("frame_alpha", 1.5), ("seed", -1), ("jpeg_quality", 10)])
def test_parameters_out_of_range_are_refused(key: str, value: float) -> None:
    with pytest.raises(ValidationError):
        changed(**{key: value})


def test_a_missing_parameter_has_no_default() -> None:
    with pytest.raises(ValidationError):
        DemoParams(seed=1)
