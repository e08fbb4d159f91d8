"""The demo reef's recorder: where and when it took each photo, and what it writes beside them and into their EXIF."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from reseed.demo.scene import FrameKey, Site, random_stream
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
