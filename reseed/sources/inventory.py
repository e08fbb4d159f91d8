"""What files a source consists of: images, tables, and what is neither."""

import struct
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from reseed.sources.folder import explained, list_files

JPEG: Final = "JPEG"
PNG: Final = "PNG"
BMP: Final = "BMP"
TIFF: Final = "TIFF"
READABLE: Final = (JPEG, PNG, BMP, TIFF)
IMAGE_SUFFIXES: Final = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".dib", ".tif", ".tiff")
HEAD_BYTES: Final = 32

_MAGIC: Final = (
    (b"\xff\xd8\xff", JPEG),
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"BM", BMP),
    (b"II*\0", TIFF),
    (b"MM\0*", TIFF),
    (b"II+\0", "BigTIFF"),
    (b"MM\0+", "BigTIFF"),
    (b"GIF8", "GIF"),
    (b"\0\0\0\x0cjP  \r\n", "JPEG 2000"),
    (b"\xffO\xffQ", "JPEG 2000"),
    (b"\xff\x0a", "JPEG XL"),
)

SYSTEM_FILE: Final = "system_file"

_SYSTEM_NAMES: Final = ("thumbs.db", "desktop.ini", "ehthumbs.db")
_SYSTEM_FOLDERS: Final = ("__macosx", "$recycle.bin", "system volume information", "@eadir")
_TEXT_SUFFIXES: Final = (".csv", ".json", ".txt", ".md", ".yaml", ".yml", ".tsv")


@dataclass(frozen=True)
class Inventory:
    """The files of one source, each in exactly one of the three groups, all sorted bytewise by path.

    Args:
        source: Name of the source; its files lie below `root`.
        root: Folder of the source below data/raw.
        images: POSIX paths below `root` of the files whose name or content says image.
        others: POSIX paths of tables and everything else; a layout says which of them it reads.
        system: POSIX paths of what operating systems leave behind, such as `.DS_Store`, `._x.jpg` and `Thumbs.db`.
    """

    source: str
    root: Path
    images: tuple[str, ...]
    others: tuple[str, ...]
    system: tuple[str, ...]

    @property
    def found(self) -> int:
        """Number of files."""
        return len(self.images) + len(self.others) + len(self.system)


def take_inventory(source: str, root: Path) -> Inventory:
    """Sort the files below `root` into images, system files and others.

    Raises:
        SourceError: If the folder is missing or cannot be read.
    """
    images, others, system = [], [], []
    for path, file in list_files(root).items():
        if is_system_file(path):
            system.append(path)
        elif _is_image(path, file):
            images.append(path)
        else:
            others.append(path)
    return Inventory(source, root, tuple(images), tuple(others), tuple(system))


def is_system_file(path: str) -> bool:
    """Whether a POSIX path names something that an operating system left behind, or a hidden file or folder."""
    *folders, name = PurePosixPath(path).parts
    return (
        any(part.startswith(".") for part in (*folders, name))
        or name.casefold() in _SYSTEM_NAMES
        or any(folder.casefold() in _SYSTEM_FOLDERS for folder in folders)
    )


def sniff_format(head: bytes) -> str | None:
    """Return the format that the first `HEAD_BYTES` bytes of a file speak of, or None if it looks like no image."""
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name if name != BMP or _is_bmp(head) else None
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WebP"
    if head[4:8] == b"ftyp" and head[8:12] in (b"heic", b"heix", b"mif1", b"avif"):
        return "HEIF"
    return None


def _is_bmp(head: bytes) -> bool:
    # Two letters are a weak sign (`BM` starts many a text): the header length must be one that exists.
    return len(head) >= 18 and struct.unpack_from("<I", head, 14)[0] in (12, 40, 52, 56, 64, 108, 124)


def _is_image(path: str, file: Path) -> bool:
    suffix = PurePosixPath(path).suffix.casefold()
    if suffix in IMAGE_SUFFIXES:
        return True
    if suffix in _TEXT_SUFFIXES:
        return False
    with explained(file, "read"), file.open("rb") as reader:
        return sniff_format(reader.read(HEAD_BYTES)) is not None
