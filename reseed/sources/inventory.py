"""The files of a source: images, tables and what is neither, and whether DVC stores each of them.

A score that was made from a file that is stored nowhere cannot be made again: a file that DVC would ignore is refused
at pull, and the next stage compares.
"""

import filecmp
import hashlib
import re
import struct
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from pathspec import GitIgnoreSpec
from ruamel.yaml import YAML

from reseed.artifacts.raw import RawSource
from reseed.base.errors import SourceError
from reseed.sources.folder import explained, hash_file, list_files, resolve_uri

JPEG: Final = "JPEG"
PNG: Final = "PNG"
BMP: Final = "BMP"
TIFF: Final = "TIFF"
READABLE: Final = (JPEG, PNG, BMP, TIFF)
IMAGE_SUFFIXES: Final = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".dib", ".tif", ".tiff")
# Pictures that are not read: whatever such a file holds, it is a picture of the survey that is missing.
RAW_SUFFIXES: Final = (
    *(".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".fff", ".gpr", ".iiq", ".k25", ".kdc"),
    *(".mef", ".mos", ".mrw", ".nef", ".nrw", ".orf", ".pef", ".raf", ".raw", ".rw2", ".rwl", ".sr2", ".srf", ".srw"),
    ".x3f",
)
UNREAD_SUFFIXES: Final = (
    *(*RAW_SUFFIXES, ".avif", ".avifs", ".gif", ".heic", ".heics", ".heif", ".heifs", ".hif", ".j2k", ".jp2", ".jpx"),
    *(".jxl", ".jxr", ".psd", ".webp"),
)
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
    (b"\0\0\0\x0cJXL \r\n", "JPEG XL"),
    (b"II\xbc\x01", "JPEG XR"),
    (b"8BPS", "PSD"),
    (b"IIRO", "RAW"),
    (b"IIRS", "RAW"),
    (b"IIU\0", "RAW"),
    (b"FUJIFILMCCD-RAW", "RAW"),
    (b"FOVb", "RAW"),
    (b"\0MRM", "RAW"),
)
# Brands of ISO 14496-12 files that hold a still picture or a burst of them; other brands are videos.
_HEIF_BRANDS: Final = frozenset(
    b"heic heix heim heis hevc hevx hevm hevs mif1 mif2 mif3 msf1 miaf MiHE MiHB avif avis avio jpeg jpgs".split()
) | {b"crx "}

SYSTEM_FILE: Final = "system_file"
BACKUP_COPY: Final = "backup_copy"
THUMBNAIL: Final = "thumbnail"
OTHER_FORMAT: Final = "same_picture_in_other_format"

_SYSTEM_NAMES: Final = ("thumbs.db", "desktop.ini", "ehthumbs.db")
_SYSTEM_FOLDERS: Final = ("__macosx", "$recycle.bin", "system volume information", "@eadir")
_TEXT_SUFFIXES: Final = (".csv", ".json", ".txt", ".md", ".yaml", ".yml", ".tsv")
# What follows the ending of a picture: exiftool's `.jpg_original`, an editor's `.jpg~`, `.jpg.bak`.
_COPIED_FILE = re.compile(
    r".+({})[^a-z0-9].*".format("|".join(map(re.escape, (*IMAGE_SUFFIXES, *UNREAD_SUFFIXES)))), re.IGNORECASE
)
# What programs put behind the name of a picture that they keep as it was. `x (1).jpg` is no copy: recorders count so.
_COPIED_STEM = re.compile(
    r"(.+?)(?:[ _.\-]+(?:original|orig|backup|bak|edited|bearbeitet|thumb|thumbnail"
    r"|(?:copy|kopie|copie|copia)(?: ?\(\d+\))?)"
    r"| \((?:copy|kopie|copie|copia)(?: \d+)?\))",
    re.IGNORECASE,
)
_COPY_OF = re.compile(r"(?:copy of|kopie von|copie de|copia de) (.+)", re.IGNORECASE)


@dataclass(frozen=True)
class Inventory:
    """The files of one source, each in exactly one of the four groups, all sorted bytewise by path.

    Args:
        source: Name of the source; its files lie below `root`.
        root: Folder of the source below data/raw.
        images: POSIX paths below `root` of the files whose name or content says image.
        others: POSIX paths of tables and everything else; a layout says which of them it reads.
        system: POSIX paths of what operating systems leave behind, such as `.DS_Store`, `._x.jpg` and `Thumbs.db`.
        repeated: POSIX paths of files that show again what another image shows, with the reason; see `repeats`.
    """

    source: str
    root: Path
    images: tuple[str, ...]
    others: tuple[str, ...]
    system: tuple[str, ...]
    repeated: dict[str, str] = field(default_factory=dict)

    @property
    def found(self) -> int:
        """Number of files."""
        return len(self.images) + len(self.others) + len(self.system) + len(self.repeated)


def take_inventory(source: str, root: Path) -> Inventory:
    """Sort the files below `root` into images, repeated images, system files and others.

    Raises:
        SourceError: If the folder is missing or cannot be read.
    """
    images, others, system = [], [], []
    repeated: dict[str, str] = {}
    files = list_files(root)
    for path, file in files.items():
        if is_system_file(path):
            system.append(path)
        elif not _is_image(path, file):
            others.append(path)
        elif reason := repeats(path, files):
            repeated[path] = reason
        else:
            images.append(path)
    return Inventory(source, root, tuple(images), tuple(others), tuple(system), repeated)


def is_picture_name(name: str) -> bool:
    """Whether a file is a picture by its name, of a format that is read or of one that is not."""
    return PurePosixPath(name).suffix.casefold() in (*IMAGE_SUFFIXES, *UNREAD_SUFFIXES)


def repeats(path: str, beside: Container[str]) -> str:
    """Return why an image is none of its own: a backup copy, a camera's thumbnail, or RAW beside JPEG; else empty.

    Args:
        path: POSIX path, or a file name.
        beside: The files that are there, named in the same way.
    """
    file = PurePosixPath(path)
    suffix = file.suffix.casefold()
    if suffix == ".thm":
        return THUMBNAIL
    if is_picture_name(path):
        copied = _COPIED_STEM.fullmatch(file.stem) or _COPY_OF.fullmatch(file.stem)
        endings = (file.suffix, file.suffix.lower(), file.suffix.upper())
        if copied and any(str(file.with_name(copied[1] + ending)) in beside for ending in endings):
            return BACKUP_COPY
        readable = (str(file.with_suffix(form)) for ending in IMAGE_SUFFIXES for form in (ending, ending.upper()))
        if suffix in UNREAD_SUFFIXES and any(twin in beside for twin in readable):
            return OTHER_FORMAT
        return ""
    return BACKUP_COPY if _COPIED_FILE.fullmatch(file.name) else ""


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
    if head[4:8] == b"ftyp" and _HEIF_BRANDS.intersection(head[at : at + 4] for at in range(8, len(head), 4)):
        return "HEIF"
    return None


def _is_bmp(head: bytes) -> bool:
    # Two letters are a weak sign (`BM` starts many a text): the header length must be one that exists.
    return len(head) >= 18 and struct.unpack_from("<I", head, 14)[0] in (12, 40, 52, 56, 64, 108, 124)


def _is_image(path: str, file: Path) -> bool:
    if is_picture_name(path):
        return True
    if PurePosixPath(path).suffix.casefold() in _TEXT_SUFFIXES:
        return False
    with explained(file, "read"), file.open("rb") as reader:
        return sniff_format(reader.read(HEAD_BYTES)) is not None


IGNORE_FILE: Final = ".dvcignore"
RAW, RECORD = "data/raw", "data/raw.json"
# DVC passes over these wherever they lie, and refuses to work at all where an output holds the last.
_NEVER_STORED: Final = frozenset({".git", ".hg", ".dvc", IGNORE_FILE})
_SHOWN: Final = 5


def require_storable(name: str, paths: Iterable[str], ignored: Path = Path(IGNORE_FILE)) -> None:
    """Check that DVC would store every file of a source.

    Args:
        name: Of the source.
        paths: POSIX paths of its files below data/raw/<name>.
        ignored: The ignore file of the repository.

    Raises:
        SourceError: Names the files that it would pass over, and why.
    """
    lines = ignored.read_text(encoding="utf-8").splitlines() if ignored.is_file() else []
    patterns = GitIgnoreSpec.from_lines(lines)
    everything = list(paths)
    own = [path for path in everything if not _NEVER_STORED.isdisjoint(PurePosixPath(path).parts)]
    if own:
        found = sorted({next(part for part in PurePosixPath(path).parts if part in _NEVER_STORED) for path in own})
        raise SourceError(
            f"holds {', '.join(found)} ({len(own)} of {len(everything)} files, such as {own[0]}), "
            "which belong to Git, Mercurial or DVC and which DVC never stores; give a copy without them, such as an "
            "archive that `git archive` made"
        )
    passed = [path for path in everything if patterns.match_file(f"{RAW}/{name}/{path}")]
    if passed:
        raise SourceError(
            f"DVC would not store {len(passed)} of {len(everything)} files, as {ignored} has a pattern for them: "
            f"{', '.join(passed[:_SHOWN])}{' ...' if len(passed) > _SHOWN else ''}; begin the pattern with a slash, so "
            "that it does not reach into the data, or rename the files"
        )


def require_stored(sources: Sequence[RawSource], root: Path = Path()) -> None:
    """Compare what was pulled with what DVC stores of it, by `dvc.lock`; without DVC there is nothing to compare.

    Args:
        sources: What the pull stage recorded.
        root: Of the repository.

    Raises:
        SourceError: If DVC has fewer or more files or bytes.
    """
    stored = _stored(root)
    files, size = sum(source.files for source in sources), sum(source.bytes for source in sources)
    if stored is not None and stored != (files, size):
        raise SourceError(
            f"{RAW}: {files} files of {size} bytes were pulled, but DVC stores {stored[0]} files of {stored[1]} bytes: "
            f"the run could not be made again; `dvc check-ignore --details` says which line of {IGNORE_FILE} passes "
            "over a file, `dvc repro -f pull` pulls anew"
        )


def _stored(root: Path) -> tuple[int, int] | None:
    """Return files and bytes of data/raw by `dvc.lock`, if it speaks of the record of sources that lies here."""
    lock = root / "dvc.lock"
    if not lock.is_file() or not (root / RECORD).is_file():
        return None
    stages: dict[str, Any] = YAML(typ="safe").load(lock).get("stages") or {}
    outs = {out["path"]: out for out in stages.get("pull", {}).get("outs", ())}
    raw, record = outs.get(RAW, {}), outs.get(RECORD, {})
    here = hashlib.md5((root / RECORD).read_bytes(), usedforsecurity=False).hexdigest()
    if record.get("md5") != here or "nfiles" not in raw:
        return None
    return int(raw["nfiles"]), int(raw["size"])


def changed_since_pulled(entry: RawSource, raw: Path) -> bool:
    """Whether a folder or archive is other than what was pulled from it: names and sizes, then times, then content.

    Args:
        entry: Its record.
        raw: Folder data/raw, whose copy of the source it is held against.

    Returns:
        False also where the source is not here, so that nothing can be told.
    """
    if entry.kind not in {"folder", "archive"}:
        return False
    try:
        origin = resolve_uri(entry.uri)
        if entry.kind == "archive":
            changed = _touched_ns(origin) > raw.with_suffix(".json").stat().st_mtime_ns
            return changed and hash_file(origin)[0] != entry.sha256
        files = list_files(origin)
        lengths = {path: file.stat().st_size for path, file in files.items()}
        if not (raw / entry.name).is_dir():
            return (len(files), sum(lengths.values())) != (entry.files, entry.bytes)
        copies = list_files(raw / entry.name)
        if lengths != {path: file.stat().st_size for path, file in copies.items()}:
            return True
        return any(
            # Tables are small, and a corrected label often has the length of the wrong one.
            (not is_picture_name(path) or _touched_ns(file) > copies[path].stat().st_mtime_ns)
            and not filecmp.cmp(file, copies[path], shallow=False)
            for path, file in files.items()
        )
    except (SourceError, OSError):
        return False


def _touched_ns(path: Path) -> int:
    """Return when the content, or anything else of a file, last changed: `cp -p` keeps the time of the content."""
    status = path.stat()
    return max(status.st_mtime_ns, status.st_ctime_ns)
