from pathlib import Path

import pytest

from reseed.base.errors import TableError
from reseed.demo.scene import FrameKey
from reseed.demo.survey import FrameRecord, Position, exif_of
from reseed.infer import geotags
from reseed.infer.geotags import Logs, exif_in
from reseed.infer.run_folder import Frame
from reseed.sources.inventory import take_inventory
from reseed.survey.imagery import decode_rgb
from reseed.survey.images import examine_images
from tests.unit.infer.boat import frame_jpeg
from tests.unit.survey.surveys import LOG_HEADER, encoded, picture, reefscan_exif


def frame_in(folder: Path, name: str = "20230315_020600_000_0000.jpg") -> Frame:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(frame_jpeg("dddddddd", None))
    return Frame(folder / name, f"{folder.name}/{name}")


def log(folder: Path, *rows: str, name: str = "photo_log.csv") -> Path:
    (folder / name).write_text("\n".join([LOG_HEADER, *rows]) + "\n")
    return folder / name


ROW = "20230315_020600_000_0000.jpg,-9.5,143.75,1095,0.77,1678845995"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF"])
def test_exif_is_what_the_catalog_reads_of_the_whole_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.img"
    image = picture(1, 900, 900)  # 700 kB as BMP: more than is read of a JPEG
    path.write_bytes(encoded(image, kind, exif=reefscan_exif()))
    found = exif_in(path.read_bytes())
    whole = examine_images(take_inventory("s", tmp_path), 10**7).usable["a.img"].exif
    assert found.facts == whole
    assert found.facts.placed
    assert not found.synthetic


def test_frames_of_the_demo_are_known_as_rendered(tmp_path: Path) -> None:
    from datetime import UTC, datetime  # noqa: PLC0415 - only here

    record = FrameRecord(
        key=FrameKey(0, 0, 0),
        position=Position(0, datetime(2024, 3, 4, tzinfo=UTC), -18.2, 147.6),
        altitude_m=1.0,
        water_depth_m=5.0,
        exposure_us=1000,
    )
    (tmp_path / "demo.jpg").write_bytes(encoded(picture(1), "JPEG", exif=exif_of(record)))
    assert decode_rgb(tmp_path / "demo.jpg", 10**6).size
    assert exif_in((tmp_path / "demo.jpg").read_bytes()).synthetic


def test_the_log_of_the_nearest_folder_counts(tmp_path: Path) -> None:
    frame = frame_in(tmp_path / "tow" / "cam_1")
    log(tmp_path, ROW.replace("-9.5", "-1.5"))
    logs = Logs(tmp_path, growing=False)
    assert logs.geotag(frame, exif_in(frame.path.read_bytes())).latitude_deg == -1.5
    log(tmp_path / "tow", ROW, name="Photo_Log.CSV")
    found = Logs(tmp_path, growing=False).geotag(frame, exif_in(frame.path.read_bytes()))
    assert (found.latitude_deg, found.longitude_deg, found.position_from) == (-9.5, 143.75, "photo_log")
    assert found.water_depth_m == pytest.approx(1.095 + 0.77)  # echo sounder + pressure


def test_a_log_above_the_given_folder_does_not_count(tmp_path: Path) -> None:
    frame = frame_in(tmp_path / "survey" / "tow")
    log(tmp_path, ROW)
    assert (
        Logs(tmp_path / "survey", growing=False).geotag(frame, exif_in(frame.path.read_bytes())).position_from == "none"
    )


def test_a_broken_log_is_an_error_before_anything_is_decided(tmp_path: Path) -> None:
    frame = frame_in(tmp_path / "tow")
    log(tmp_path / "tow", ROW[:-20])
    with pytest.raises(TableError, match=r"photo_log\.csv line 2: \d cells, the header has 6"):
        Logs(tmp_path, growing=False).check([frame])


def test_a_log_that_grows_is_read_again_and_its_last_row_may_be_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geotags, "_REREAD_S", -1.0)
    frame = frame_in(tmp_path / "tow")
    exif = exif_in(frame.path.read_bytes())
    logs = Logs(tmp_path, growing=True)
    assert logs.geotag(frame, exif).position_from == "none"
    path = log(tmp_path / "tow", ROW[:-20])
    assert logs.geotag(frame, exif).position_from == "none"
    assert list(logs.broken) == [path]
    log(tmp_path / "tow", ROW)
    assert logs.geotag(frame, exif).position_from == "photo_log"
    assert not logs.broken
