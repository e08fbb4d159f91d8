"""Small good sources, and ways to break them in place."""

import io
import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.unit.survey.surveys import encoded, picture, reefscan_exif, write_survey

Writer = Callable[[Path], None]

JPEG = encoded(picture(77), "JPEG", quality=95, exif=reefscan_exif())
PLAIN = encoded(picture(77), "JPEG", quality=95)
PNG = encoded(picture(77), "PNG")
DROP = "drop_1/"
NEW = f"{DROP}20230315_020650_000_0050.jpg"


def write_good(root: Path) -> None:
    """Write a survey of two sequences of three frames, labelled by two annotators."""
    write_survey(root, frames=3)


def write_patches(root: Path) -> None:
    """Write three frames of 2 x 2 patches into class folders."""
    for number, label in enumerate(("Coral", "Deploy", "No-Deploy", "Coral", "Deploy", "No-Deploy")):
        path = root / label / f"20230315_02063{number % 3}_000_000{number % 3}_{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(picture(number, 16, 12), "PNG"))


def write_export(root: Path) -> None:
    """Write a CoralNet export of two images."""
    (root / "images").mkdir(parents=True)
    for number, name in enumerate(("a.jpg", "b.jpg")):
        (root / "images" / name).write_bytes(encoded(picture(number), "JPEG"))
    (root / "annotations.csv").write_text("Name,Row,Column,Label\na.jpg,3,5,CCA\na.jpg,4,6,Sand\nb.jpg,7,8,Off\n")
    (root / "label_map.yaml").write_text('CCA: Deploy\nSand: No-Deploy\n"Off": ~\n')


BASES: dict[str, Writer] = {
    "survey": write_good,
    "patches": write_patches,
    "export": write_export,
}


def file(path: str, data: bytes) -> Writer:
    def write(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)

    return write


def image(path: str, mode: str, kind: str, **options: Any) -> Writer:
    return file(path, encoded(picture(77).convert(mode), kind, **options))


def tagged(gps: Mapping[int, Any] | None = None, details: Mapping[int, Any] | None = None) -> Writer:
    """A new frame, without a row in the log, whose EXIF block differs from a good one; None removes a tag."""
    exif = reefscan_exif()
    for ifd, changes in ((0x8825, gps or {}), (0x8769, details or {})):
        tags = exif.get_ifd(ifd)
        for tag, value in changes.items():
            tags[tag] = value
            if value is None:
                del tags[tag]
        exif[ifd] = tags
    return file(NEW, encoded(picture(77), "JPEG", quality=95, exif=exif))


def rows(table: str, *lines: str) -> Writer:
    def write(root: Path) -> None:
        path = root / table
        path.write_text(path.read_text() + "".join(f"{line}\n" for line in lines))

    return write


def reworded(table: str, change: Callable[[str], str], encoding: str = "utf-8") -> Writer:
    def write(root: Path) -> None:
        for path in sorted(root.rglob(table)):
            path.write_bytes(change(path.read_text()).encode(encoding))

    return write


def both(*writers: Writer) -> Writer:
    def write(root: Path) -> None:
        for one in writers:
            one(root)

    return write


def moved(source: str, target: str) -> Writer:
    def write(root: Path) -> None:
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        (root / source).rename(root / target)

    return write


def read_only(root: Path) -> None:
    for path in sorted(root.rglob("*"), reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)


def unreadable(root: Path) -> None:
    file(f"{DROP}locked.jpg", JPEG)(root)
    (root / f"{DROP}locked.jpg").chmod(0)


def deep_gray() -> bytes:
    return encoded(Image.fromarray(np.full((40, 70), 40_000, dtype=np.uint16)), "PNG")


def bomb(width: int = 60_000) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, width, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def oriented() -> bytes:
    exif = reefscan_exif()
    exif[274] = 6
    return encoded(picture(77), "JPEG", exif=exif)


def two_pages() -> bytes:
    buffer = io.BytesIO()
    picture(77).save(buffer, "TIFF", save_all=True, append_images=[picture(78)])
    return buffer.getvalue()
