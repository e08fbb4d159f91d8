"""Downloading one file: into a part file that a later run goes on with, checked, and only then handed on."""

import hashlib
import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from reseed.base.errors import SourceError
from reseed.base.files import new_file
from reseed.base.urls import expand, require_no_secret, shown, without_values
from reseed.sources.folder import explained, hash_file
from reseed.sources.remote import Stream, TransferError, open_remote, require_usable


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
