"""Bringing one source to data/raw, and recording what came."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from reseed.artifacts.raw import RawSource
from reseed.base.errors import SourceError
from reseed.base.urls import VARIABLE, shown
from reseed.params.pull import Source
from reseed.sources.fetch import PATIENCE, Patience, fetch
from reseed.sources.folder import (
    copy_file,
    copy_folder,
    digest_folder,
    explained,
    hash_file,
    list_files,
    require_apart,
    resolve_uri,
)
from reseed.sources.inventory import BMP, HEAD_BYTES, JPEG, PNG, TIFF, sniff_format, take_inventory
from reseed.sources.stored import require_storable
from reseed.sources.unpack import is_archive, safe_path, unpack

# Part files of downloads wait here between runs: not an output, and ignored by git and DVC.
DOWNLOADS: Final = Path(".dvc/tmp/reseed")
_PAGE_STARTS: Final = (b"<!doctype html", b"<html")
_SUFFIXES: Final = {JPEG: ".jpg", PNG: ".png", BMP: ".bmp", TIFF: ".tif"}


def bring(
    source: Source, target: Path, final: Path, downloads: Path = DOWNLOADS, patience: Patience = PATIENCE
) -> str | None:
    """Bring a source of any kind but `demo` to `target`, as delivered; an archive is unpacked.

    Args:
        source: Its entry in `pull.sources`.
        target: New folder for its files.
        final: Where everything will lie in the end, data/raw; a source may neither hold it nor lie inside it.
        downloads: Where part files lie between runs.
        patience: How long to try a download.

    Returns:
        Digest of the one file that was delivered; None for a folder, which `record` digests.

    Raises:
        SourceError: If the source is missing, empty, unreadable, damaged or refused, overlaps `final`, or is not what
            was pinned.
    """
    with _about(source):
        if source.kind == "folder":
            origin = resolve_uri(source.uri)
            with explained(origin, "read"):  # a folder above it that may not be entered
                require_apart(origin, final)
                require_storable(source.name, list_files(origin))  # before hours of copying
                copy_folder(origin, target, f"copy {source.name}")
            return None
        if source.kind == "archive":
            return _bring_archive(source, target, final)
        return _bring_url(source, target, downloads, patience)


@contextmanager
def _about(source: Source) -> Iterator[None]:
    """Have every error say which source it is about."""
    try:
        yield
    except SourceError as error:
        raise SourceError(f"pull.sources {source.name}: {error}") from error


def delivered_sha256(source: Source) -> str:
    """Digest a source of kind `folder` or `archive` where it lies: what its pin is held against.

    Raises:
        SourceError: If it is missing or cannot be read.
    """
    origin = resolve_uri(source.uri)
    if source.kind == "archive":
        return _file_sha256(origin)
    return digest_folder(origin, f"digest {source.name}").sha256


def record(source: Source, folder: Path, delivered: str | None) -> RawSource:
    """Digest what lies in `folder` and hold it against the pin.

    The copy is digested, not the origin: what is recorded is what the later stages work on.

    Args:
        source: Its entry in `pull.sources`.
        folder: Where it was brought to.
        delivered: What `bring` returned; None for the demo.

    Raises:
        SourceError: If there is no image in it, or if it is pinned and differs; names both digests.
    """
    inventory = take_inventory(source.name, folder)
    if not inventory.images:
        raise SourceError(
            f"pull.sources {source.name}: no image among the {inventory.found} files of {source.uri or 'the demo'}; "
            "JPEG, PNG, BMP and TIFF are read"
        )
    digest = digest_folder(folder, f"digest {source.name}")
    with _about(source):
        require_storable(source.name, (file.path for file in digest.files))
    require_pin(source, delivered or digest.sha256)
    return RawSource(
        name=source.name,
        kind=source.kind,
        uri=source.uri,
        layout=source.layout,
        sha256=delivered or digest.sha256,
        content_sha256=digest.sha256,
        bytes=digest.total_bytes,
        files=len(digest.files),
        licence=source.licence,
        citation=source.citation,
        split=source.split,
        pinned=source.sha256 is not None,
        synthetic=source.kind == "demo",
    )


def require_pin(source: Source, sha256: str) -> None:
    """Check a digest against the pin, if there is one.

    Raises:
        SourceError: If they differ; names both.
    """
    if source.sha256 is not None and source.sha256 != sha256:
        raise SourceError(
            f"pull.sources {source.name}: {source.uri} is not what was pinned\n  pinned  {source.sha256}\n"
            f"  found   {sha256}\nBring the pinned data back, or pin what is there: set sha256 to the digest found"
        )


def _bring_archive(source: Source, target: Path, final: Path) -> str:
    origin = resolve_uri(source.uri)
    if origin.resolve().is_relative_to(final.resolve()):
        raise SourceError(f"{origin}: is inside {final}, which is replaced; move it elsewhere")
    sha256 = _file_sha256(origin)
    require_pin(source, sha256)
    unpack(origin, target, f"unpack {source.name}")
    return sha256


def _file_sha256(path: Path) -> str:
    with explained(path, "read"):  # also a folder above it that may not be entered
        if path.is_dir():
            raise SourceError(f"{path}: is a folder; use kind folder")
        if not path.exists():
            raise SourceError(f"{path}: no such file")
        return hash_file(path)[0]


def _bring_url(source: Source, target: Path, downloads: Path, patience: Patience) -> str:
    done = fetch(source.uri, downloads, source.sha256, f"download {source.name}", patience)
    with explained(done.path, "read"):
        archive = is_archive(done.path)
        with done.path.open("rb") as reader:
            start = reader.read(64)
    if archive:
        unpack(done.path, target, f"unpack {source.name}")
        return done.sha256
    if start.lstrip().lower().startswith(_PAGE_STARTS):
        raise SourceError(
            f"{shown(source.uri)}: a web page came, not a file; use the link that the page's download button leads to"
        )
    name = safe_path(unquote(PurePosixPath(urlsplit(source.uri).path).name))
    if name is not None and VARIABLE.search(name):  # what a variable holds may be a secret
        name = f"file{_SUFFIXES.get(sniff_format(start[:HEAD_BYTES]) or '', '')}"
    if name is None:
        raise SourceError(f"{shown(source.uri)}: names no file; use the link to an archive or to a single file")
    with explained(target / name, "write"):
        target.mkdir(parents=True)
        copy_file(done.path, target / name)
    return done.sha256
