"""Where, when and how deep a frame was taken: EXIF first, else the recorder's photo log.

ReefScan writes into EXIF, and says so in its UserComment: GPSAltitude = depth of the water at the place (surface to
seabed), without GPSAltitudeRef; SubjectDistance = camera to seabed. Its clock is UTC. What cannot be right is missing,
with a reason that is counted; a wrong place is worse than none.

A time of EXIF is UTC by its offset (OffsetTimeOriginal) or by the GPS time beside it. Without either it is read as UTC,
which is counted, and where a log says another time, the log counts.
"""

import io
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from PIL import Image

from reseed.base.numerals import NumberError, parse_number
from reseed.sources.inventory import READABLE

T = TypeVar("T")

DISAGREEMENT_M: Final = 50.0
EXIF_WITHOUT_ZONE: Final = "exif_without_zone"
CLOCK_RESET: Final = "clock_reset"
DISAGREEMENT_S: Final = 60.0  # two clocks that nobody set to each other
FIRST_YEAR: Final = 2000  # before: a recorder whose clock was never set
LAST_YEAR: Final = 2100

_MAX_DEPTH_M: Final = 11_000.0
_MAX_ALTITUDE_M: Final = 1_000.0
_EARTH_RADIUS_M: Final = 6_371_008.8
_NOWHERE: Final = (math.nan, math.nan)
_GPS_IFD: Final = 0x8825
_EXIF_IFD: Final = 0x8769
_LAT_REF, _LAT, _LON_REF, _LON, _DEPTH_REF, _DEPTH = 1, 2, 3, 4, 5, 6
_GPS_TIME, _GPS_STATUS, _GPS_DAY = 7, 9, 29
_TAKEN, _SUBSECOND, _DISTANCE = 0x9003, 0x9291, 0x9206
_OFFSETS: Final = (0x9011, 0x9010, 0x9012)  # of DateTimeOriginal, DateTime, DateTimeDigitized
_SERIAL: Final = 0xC62F
_RENDERED: Final = "RESEED_DEMO"  # the camera of the demo reef; see reseed.demo.survey
_ABOVE_SEA: Final = 0
_ZONE_S: Final = 900  # time zones are whole quarters of an hour
_WIDEST_ZONE_S: Final = 14 * 3600
_EXIF_TIME = re.compile(r"(\d{4})[:\-](\d{2})[:\-](\d{2})[ T](\d{2}):(\d{2}):(\d{2})")
_NAME_TIME = re.compile(r"(?<!\d)(\d{4})(\d{2})(\d{2})_(\d{2})(\d{2})(\d{2})(?!\d)")
_UTC_OFFSET = re.compile(r"(?:UTC|GMT)?\s*(?:([+\-\u2212])\s*(\d{1,2}):?(\d{2})?|Z)?", re.IGNORECASE)
_DAY = re.compile(r"(\d{4})[:\-](\d{2})[:\-](\d{2})")


@dataclass(frozen=True)
class Facts:
    """What one witness, the EXIF block or the photo log, says of a frame; NaN or None where it says nothing usable.

    Args:
        latitude_deg: WGS 84, south negative; NaN exactly where `longitude_deg` is.
        longitude_deg: WGS 84, west negative.
        water_depth_m: Surface to seabed, above 0.
        altitude_m: Camera to seabed, above 0.
        taken: Time of the picture, UTC.
        problems: Codes of what was there but unusable, or missing.
        zone_from: Where it is known from that the time is UTC: `offset`, `gps`, `log`; empty if it is not.
        rendered: Whether the demo rendered the picture.
    """

    latitude_deg: float = math.nan
    longitude_deg: float = math.nan
    water_depth_m: float = math.nan
    altitude_m: float = math.nan
    taken: datetime | None = None
    problems: tuple[str, ...] = ()
    zone_from: str = ""
    rendered: bool = False

    @property
    def placed(self) -> bool:
        """Whether there is a position."""
        return not math.isnan(self.latitude_deg)


@dataclass(frozen=True)
class Geotag:
    """What the catalog keeps of a frame.

    Args:
        latitude_deg: NaN if unknown.
        longitude_deg: NaN if unknown.
        water_depth_m: NaN if unknown.
        altitude_m: NaN if unknown.
        captured_at: ISO 8601 in UTC with a final Z, with milliseconds where they are known; empty if unknown.
        position_from: `exif`, `photo_log` or `none`.
        time_from: `exif`, `photo_log`, `file_name` or `none`; `exif_without_zone` if it was read as UTC with no sign
            that it is.
        problems: Codes of what was unusable, missing, or in disagreement.
    """

    latitude_deg: float
    longitude_deg: float
    water_depth_m: float
    altitude_m: float
    captured_at: str
    position_from: str
    time_from: str
    problems: tuple[str, ...]


class _UnusableError(Exception):
    """Carries the reason code of a value that cannot be used."""


def read_exif(data: bytes) -> Facts:
    """Read the EXIF block of an image file; an image without one has nothing to say.

    Args:
        data: Content of the file.
    """
    try:
        with Image.open(io.BytesIO(data), formats=READABLE) as image:
            exif = image.getexif()
            gps, details = dict(exif.get_ifd(_GPS_IFD)), dict(exif.get_ifd(_EXIF_IFD))
            rendered = _RENDERED in str(exif.get(_SERIAL, ""))
    except Exception:  # noqa: BLE001 - Pillow's EXIF reader raises nearly anything on a broken block
        return Facts(problems=("exif_unreadable",))
    return replace(facts_from_exif(gps, details), rendered=rendered)


def facts_from_exif(gps: dict[int, Any], details: dict[int, Any]) -> Facts:
    """Return what the GPS and the EXIF directory say, by tag number as Pillow reads them."""
    problems: list[str] = []
    latitude, longitude = _usable(lambda: _exif_position(gps), _NOWHERE, "exif", problems)
    depth = _usable(lambda: _exif_depth(gps), math.nan, "exif", problems)
    altitude = _usable(lambda: _length(details.get(_DISTANCE), _MAX_ALTITUDE_M, "altitude"), math.nan, "exif", problems)
    taken = _usable(lambda: _exif_time(details), None, "exif", problems)
    zone_from = ""
    if taken is not None:
        taken, zone_from = _to_utc(taken, gps, details, problems)
    return Facts(latitude, longitude, depth, altitude, taken, tuple(problems), zone_from)


def facts_from_log(cells: dict[str, str], decimal_mark: str | None = None) -> Facts:
    """Return what one row of a photo log says.

    `ping_depth` is the echo sounder's distance from camera to seabed in millimetres, `pressure_depth` the depth of the
    camera in metres: together the depth of the water that the recorder writes into EXIF. Columns differ by version.

    Args:
        cells: Cell text by column name in lower case.
        decimal_mark: That of the numbers of the whole log, where it is known.
    """
    problems: list[str] = []

    def number(column: str, name: str, places: int) -> float:
        return _number(cells.get(column), name, decimal_mark, places)

    def position() -> tuple[float, float]:
        return checked_position(number("latitude", "position", 5), number("longitude", "position", 5))

    def height() -> float:
        return _length(number("ping_depth", "altitude", 0) / 1000, _MAX_ALTITUDE_M, "altitude")

    def surface() -> float:
        return _length(altitude + number("pressure_depth", "depth", 2), _MAX_DEPTH_M, "depth")

    latitude, longitude = _usable(position, _NOWHERE, "log", problems)
    altitude = _usable(height, math.nan, "log", problems)
    depth = _usable(surface, math.nan, "log", problems)
    taken = _usable(lambda: _log_time(cells, decimal_mark), None, "log", problems)
    return Facts(latitude, longitude, depth, altitude, taken, tuple(problems), "log" if taken else "")


def merge(exif: Facts, log: Facts | None, stem: str) -> Geotag:
    """Join the two witnesses, EXIF first; for a time without a zone the log, where the two differ; then the file name.

    Args:
        exif: From `read_exif`.
        log: From `facts_from_log`, or None if there is no row for the frame.
        stem: File name of the frame, such as `20230315_020635_000_0000`.
    """
    second = log or Facts()
    problems = [*exif.problems, *second.problems]
    if exif.placed and second.placed and distance_m(exif, second) > DISAGREEMENT_M:
        problems.append("position_disagreement")
    position = exif if exif.placed else second
    named = _usable(lambda: time_from_name(stem), None, "name", problems)
    times = [(exif.taken, "exif"), (second.taken, "photo_log"), (named, "file_name")]
    if exif.taken and second.taken and abs((exif.taken - second.taken).total_seconds()) > DISAGREEMENT_S:
        problems.append("time_disagreement")
        times = times if exif.zone_from else times[1:]
    elif exif.taken and named and not second.taken and abs((exif.taken - named).total_seconds()) > _WIDEST_ZONE_S:
        problems.append("time_disagreement")  # more than a time zone
    taken, time_from = next(((time, origin) for time, origin in times if time), (None, "none"))
    if time_from == "exif" and not exif.zone_from and not second.taken and taken != named:
        time_from = EXIF_WITHOUT_ZONE
    return Geotag(
        latitude_deg=position.latitude_deg,
        longitude_deg=position.longitude_deg,
        water_depth_m=second.water_depth_m if math.isnan(exif.water_depth_m) else exif.water_depth_m,
        altitude_m=second.altitude_m if math.isnan(exif.altitude_m) else exif.altitude_m,
        captured_at=_iso(taken) if taken else "",
        position_from=("exif" if exif.placed else "photo_log") if position.placed else "none",
        time_from=time_from,
        problems=tuple(problems),
    )


def _iso(taken: datetime) -> str:
    timespec = "milliseconds" if taken.microsecond else "seconds"
    return taken.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def distance_m(a: Facts, b: Facts) -> float:
    """Return the great-circle distance of two positions in metres (haversine formula, mean earth radius)."""
    lat_a, lat_b = math.radians(a.latitude_deg), math.radians(b.latitude_deg)
    d_lat, d_lon = lat_b - lat_a, math.radians(b.longitude_deg - a.longitude_deg)
    h = math.sin(d_lat / 2) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin(d_lon / 2) ** 2
    return 2 * _EARTH_RADIUS_M * math.asin(min(1.0, math.sqrt(h)))


def time_from_name(stem: str) -> datetime | None:
    """Return the time in a file name of the form `YYYYMMDD_HHMMSS...`, or None if there is none."""
    match = _NAME_TIME.search(stem)
    return _plausible(_utc(match), "time") if match else None


def checked_position(latitude: float, longitude: float) -> tuple[float, float]:
    """Return a position in degrees, or raise the reason why it is none."""
    if math.isnan(latitude) or math.isnan(longitude):
        raise _UnusableError("position_missing")
    if not (abs(latitude) <= 90 and abs(longitude) <= 180):
        raise _UnusableError("position_out_of_range")
    if latitude == 0 and longitude == 0:
        raise _UnusableError("position_zero")  # what recorders write before the first fix
    return latitude, longitude


def _usable(read: Callable[[], T], missing: T, witness: str, problems: list[str]) -> T:
    """Return what `read` returns; where it cannot, note why and return `missing`."""
    try:
        return read()
    except _UnusableError as error:
        problems.append(f"{witness}_{error}")
        return missing


def _exif_position(gps: dict[int, Any]) -> tuple[float, float]:
    if _LAT not in gps or _LON not in gps:
        raise _UnusableError("position_missing")
    if _text(gps.get(_GPS_STATUS)).upper().startswith("V"):
        raise _UnusableError("position_without_fix")  # the receiver lost it, and repeats what it knew last
    latitude = _degrees(gps[_LAT]) * _hemisphere(gps.get(_LAT_REF), "N", "S")
    longitude = _degrees(gps[_LON]) * _hemisphere(gps.get(_LON_REF), "E", "W")
    return checked_position(latitude, longitude)


def _degrees(value: Any) -> float:
    try:
        degrees, minutes, seconds = (float(part) for part in value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise _UnusableError("position_not_a_number") from None
    if not math.isfinite(degrees + minutes + seconds):  # Pillow reads the rational 0/0 as NaN
        raise _UnusableError("position_not_a_number")
    if degrees < 0 or not 0 <= minutes <= 60 or not 0 <= seconds <= 60:  # programs that round write 60
        raise _UnusableError("position_out_of_range")
    return degrees + minutes / 60 + seconds / 3600


def _hemisphere(value: Any, positive: str, negative: str) -> int:
    letter = _text(value).upper()[:1]
    if letter not in (positive, negative):
        raise _UnusableError("hemisphere_missing")
    return 1 if letter == positive else -1


def _text(value: Any) -> str:
    text = value.decode("ascii", "replace") if isinstance(value, bytes) else str(value or "")
    return text.strip(" \0")


def _exif_depth(gps: dict[int, Any]) -> float:
    reference = gps.get(_DEPTH_REF)
    if reference in (_ABOVE_SEA, b"\0"):
        raise _UnusableError("depth_is_height_above_sea")  # an ordinary camera's GPSAltitude
    return _length(gps.get(_DEPTH), _MAX_DEPTH_M, "depth")


def _exif_time(details: dict[int, Any]) -> datetime | None:
    """Return the time of EXIF as it stands there, whatever its zone."""
    text = _text(details.get(_TAKEN))
    if not text.strip(" :"):
        return None
    match = _EXIF_TIME.match(text)
    if not match:
        raise _UnusableError("time_unreadable")
    digits = _text(details.get(_SUBSECOND))
    fraction = float(f"0.{digits}") if digits.isascii() and digits.isdigit() else 0.0
    return _plausible(_utc(match) + timedelta(milliseconds=int(1000 * fraction)), "time")


def _to_utc(
    local: datetime, gps: dict[int, Any], details: dict[int, Any], problems: list[str]
) -> tuple[datetime | None, str]:
    """Return the time in UTC and what tells so: the offset beside it, else the GPS time."""
    written = next((text for tag in _OFFSETS if (text := _text(details.get(tag)).strip(" :"))), "")
    match = _UTC_OFFSET.fullmatch(written)
    if written and match and match[0]:
        shift = timedelta(hours=int(match[2] or 0), minutes=int(match[3] or 0)).total_seconds()
        if shift <= _WIDEST_ZONE_S:
            return local - timedelta(seconds=-shift if match[1] in ("-", "\u2212") else shift), "offset"
    fix = _gps_time(gps)
    if fix is None:
        if written:  # no zone to guess: better the log, or the name of the file
            problems.append("exif_time_unreadable")
        return (None if written else local), ""
    zone_s = _ZONE_S * round((local - fix).total_seconds() / _ZONE_S)
    utc = local - timedelta(seconds=zone_s)
    if abs(zone_s) > _WIDEST_ZONE_S or abs((utc - fix).total_seconds()) > DISAGREEMENT_S:
        problems.append("exif_time_disagreement")  # the camera's clock is wrong, or the fix an old one
        return fix, "gps"
    return utc, "gps"


def _gps_time(gps: dict[int, Any]) -> datetime | None:
    """Return the time of the fix, which is UTC by the standard; None if there is none that can be read."""
    day = _DAY.fullmatch(_text(gps.get(_GPS_DAY)))
    try:
        hours, minutes, seconds = (float(part) for part in gps[_GPS_TIME])
        if day is None or not 0 <= seconds <= 60:
            return None
        clock = timedelta(hours=hours, minutes=minutes, milliseconds=int(1000 * seconds))
        year, month, date = (int(part) for part in day.groups())
        return _plausible(datetime(year, month, date, tzinfo=UTC) + clock, "time")
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError, _UnusableError):
        return None


def _log_time(cells: dict[str, str], decimal_mark: str | None) -> datetime | None:
    seconds = _number(cells.get("time_secs"), "time", decimal_mark, 0)
    if not math.isnan(seconds):
        try:
            return _plausible(datetime.fromtimestamp(int(seconds), UTC) + _milliseconds(cells, seconds), "time")
        except (ValueError, OverflowError, OSError):
            raise _UnusableError("time_implausible") from None
    match = _EXIF_TIME.match(cells.get("date_taken", ""))
    return _plausible(_utc(match), "time") if match else None


def _milliseconds(cells: dict[str, str], seconds: float) -> timedelta:
    """Return the part below a second, which a log has behind the point or in a column of its own."""
    own = _number(cells.get("time_msecs"), "time", ".", 0)
    return timedelta(milliseconds=round(own if 0 <= own < 1000 else 1000 * (seconds % 1)) % 1000)


def _utc(match: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second = (int(part) for part in match.groups())
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except (ValueError, OverflowError):
        raise _UnusableError("time_unreadable") from None


def _plausible(time: datetime, name: str) -> datetime:
    if not FIRST_YEAR <= time.year <= LAST_YEAR:
        raise _UnusableError(f"{name}_implausible")
    return time


def _length(value: Any, limit_m: float, name: str) -> float:
    """Return a length above zero in metres; zero is how recorders say that they do not know."""
    if value is None:
        return math.nan
    try:
        length = float(value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise _UnusableError(f"{name}_not_a_number") from None
    if math.isnan(length) or length == 0:
        return math.nan
    if not 0 < length <= limit_m:
        raise _UnusableError(f"{name}_out_of_range")
    return length


def _number(text: str | None, name: str, decimal_mark: str | None, places: int) -> float:
    """Return a number of a log, NaN if there is none; what may be two numbers or has lost digits cannot be used."""
    try:
        return float(parse_number(text, decimal_mark, places)) if text else math.nan
    except NumberError as error:
        # `10 30' S` is a position that nobody read; `n/a` is none.
        if error.reason == "not_a_number" and not (name == "position" and re.search(r"\d", text or "")):
            return math.nan
        raise _UnusableError(f"{name}_{error.reason}") from None
