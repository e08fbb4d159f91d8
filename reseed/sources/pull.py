"""Bringing one source to data/raw, and recording what came.

A download goes into a part file that a later run goes on with, is checked, and only then handed on.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from tqdm import tqdm

from reseed.artifacts.raw import RawSource
from reseed.base.errors import SourceError
from reseed.base.files import new_file
from reseed.base.urls import VARIABLE, expand, require_no_secret, shown, without_values
from reseed.params.pull import Source
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
from reseed.sources.inventory import BMP, HEAD_BYTES, JPEG, PNG, TIFF, require_storable, sniff_format, take_inventory
from reseed.sources.remote import Stream, TransferError, open_remote, require_usable
from reseed.sources.unpack import is_archive, safe_path, unpack


@dataclass(frozen=True)
class Patience:
    """How long to try.

    Args:
        attempts: So many in a row without one new byte end in an error.
        answer_s: Seconds to wait for an answer, and for more bytes.
        pause_s: Seconds before the second attempt; doubled before each further one.
        longest_pause_s: No pause is longer, whatever the server asks for.
    """

    attempts: int
    answer_s: float
    pause_s: float
    longest_pause_s: float


PATIENCE: Final = Patience(attempts=6, answer_s=30.0, pause_s=1.0, longest_pause_s=60.0)


@dataclass(frozen=True)
class Download:
    """A file that came whole.

    Args:
        path: Where it lies.
        sha256: Digest of its content, 64 hex digits.
        length_bytes: Its length.
    """

    path: Path
    sha256: str
    length_bytes: int


@dataclass(frozen=True)
class _Job:
    """One download: where from, where to, and the digest that will tell whether all of it belongs together."""

    url: str
    part: Path
    sha256: str | None


@dataclass(frozen=True)
class _Known:
    """What was said of the file that the bytes in the part file belong to."""

    total_bytes: int | None
    validator: str


def fetch(
    uri: str, folder: Path, sha256: str | None, progress: str = "download", patience: Patience = PATIENCE
) -> Download:
    """Download the file at `uri`.

    Args:
        uri: With its scheme; `$VAR` is expanded.
        folder: Where part files lie between runs; nothing else may be there.
        sha256: Digest the file must have, or None.
        progress: What the progress bar says, beside bytes and rate.
        patience: How long to try.

    Raises:
        SourceError: If the url may not be used, if the file cannot be had or written, or if its digest is another;
            names both digests, and never what a variable holds.
    """
    part = folder / f"{hashlib.sha256(uri.encode()).hexdigest()[:16]}.part"
    try:
        require_no_secret(uri)
        url = expand(uri)
        require_usable(url)
        with explained(folder, "write to"):
            folder.mkdir(parents=True, exist_ok=True)
        return _fetch(_Job(url, part, sha256), progress, patience)
    except SourceError as error:
        raise SourceError(without_values(f"{shown(uri)}: {error}", uri)) from error


def _fetch(job: _Job, progress: str, patience: Patience) -> Download:
    before = _length(job.part)
    # A pinned file that is here already need not be asked for.
    whole = job.sha256 is not None and before > 0 and _read_note(job.part).total_bytes == before
    if not whole or _digest(job.part).sha256 != job.sha256:
        _complete(job, progress, patience)
    done = _digest(job.part)
    if before and job.sha256 not in (None, done.sha256):
        # What an earlier run left may be of another file: only a fresh download tells.
        _forget(job.part)
        _complete(job, progress, patience)
        done = _digest(job.part)
    if job.sha256 not in (None, done.sha256):
        _forget(job.part)
        raise SourceError(
            f"not what was pinned\n  pinned  {job.sha256}\n  found   {done.sha256}\n"
            "It was changed there, or on the way: bring the pinned file back, or pin what is there"
        )
    return done


def _complete(job: _Job, progress: str, patience: Patience) -> None:
    """Go on with the part file until it is whole."""
    furthest, failures = _length(job.part), 0
    with tqdm(unit="B", unit_scale=True, desc=progress, disable=None) as bar:
        while (broken := _go_on(job, patience.answer_s, bar)) is not None:
            failures = 1 if _length(job.part) > furthest else failures + 1
            furthest = max(furthest, _length(job.part))
            if failures >= patience.attempts:
                kept = f"; {furthest} bytes are kept, and the next run goes on from there if it can" if furthest else ""
                raise SourceError(f"{broken}; given up after {failures} attempts without a new byte{kept}") from broken
            pause_s = max(patience.pause_s * 2 ** (failures - 1), broken.after_s)
            time.sleep(min(pause_s, patience.longest_pause_s))


def _go_on(job: _Job, answer_s: float, bar: "tqdm[Any]") -> TransferError | None:
    """Make one attempt at the rest of the file; return what broke it off, None if the file is whole now."""
    known = _read_note(job.part)
    # Without a validator only the digest tells whether the rest is of the same file.
    start = _length(job.part) if known.validator or job.sha256 else 0
    try:
        with open_remote(job.url, start, known.validator, answer_s) as stream:
            if stream.start and known.total_bytes not in (None, stream.total_bytes):
                _forget(job.part)
                return TransferError(f"the file changed: {known.total_bytes} bytes before, {stream.total_bytes} now")
            _require_room(job.part, stream)
            _write_note(job.part, stream)
            bar.total, bar.n, bar.initial = stream.total_bytes, stream.start, stream.start  # the rate is that of now
            _write(job.part, stream, bar)
    except TransferError as error:
        return error
    if stream.total_bytes not in (None, _length(job.part)):
        return TransferError(f"{_length(job.part)} of {stream.total_bytes} announced bytes came")
    return None


def _write(part: Path, stream: Stream, bar: "tqdm[Any]") -> None:
    try:
        with explained(part, "write"), part.open("ab" if stream.start else "wb") as writer:
            for chunk in stream.chunks:
                writer.write(chunk)
                bar.update(len(chunk))
    except SourceError:  # the disk is full: do not keep it so
        _forget(part)
        raise


def _require_room(part: Path, stream: Stream) -> None:
    needed, free = (stream.total_bytes or 0) - stream.start, shutil.disk_usage(part.parent).free
    if needed > free:
        raise SourceError(
            f"{needed} bytes are still to be downloaded, but only {free} are free on the disk of {part.parent}"
        )


def _digest(part: Path) -> Download:
    with explained(part, "read"):
        sha256, length = hash_file(part)
    return Download(part, sha256, length)


def _length(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _note(part: Path) -> Path:
    return part.with_suffix(".json")


def _write_note(part: Path, stream: Stream) -> None:
    text = json.dumps({"total_bytes": stream.total_bytes, "validator": stream.validator})
    with explained(_note(part), "write"), new_file(_note(part)) as new:
        new.write_text(text, encoding="utf-8")


def _read_note(part: Path) -> _Known:
    try:
        return _Known(**json.loads(_note(part).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):  # none, or from a run that was killed while writing: as if new
        return _Known(None, "")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)


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
