"""A run in shards: the frames are frozen in a manifest, any process decides a shard, and the shards are merged.

A shard is a small run of its own in `parts/<number>`, with the tables of a run. A worker fills a hidden folder and
renames it, so that a shard is there whole or not at all. The rows of all shards, one shard after the other, are the
bytes that a single process writes.
"""

import hashlib
import itertools
import json
import platform
import shutil
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

from reseed.base.errors import ModelError, SourceError, TableError
from reseed.base.files import new_file, read_json, remove, write_bytes, write_json
from reseed.engines.engine import open_engine
from reseed.engines.facts import familiar_in
from reseed.infer.deciding import Rule, decide, frames_text
from reseed.infer.frames import ListSource
from reseed.infer.geotags import Logs
from reseed.infer.run_folder import Frame
from reseed.infer.running import TABLES, decide_all
from reseed.infer.tables import writing

SHARD_FRAMES: Final = 256
MANIFEST_FILE: Final = "manifest.jsonl"
_TRIED: Final = 8
_PARTS: Final = "parts"
_PART_FILE: Final = "part.json"


class Manifest:
    """The frames of a run, each with size and time of the last change, a line of JSON each.

    Args:
        frames: In the order of the survey.
    """

    def __init__(self, frames: Sequence[Frame]) -> None:
        lines, self.n_bytes = [], 0
        for frame in frames:
            size, changed_ns = _state(frame.path)
            self.n_bytes += max(size, 0)
            lines.append(json.dumps([frame.name, str(frame.path.absolute()), size, changed_ns]).encode() + b"\n")
        self.n_frames = len(lines)
        self.data = b"".join(lines)
        ends = [0, *itertools.accumulate(map(len, lines))]
        self.starts = ends[:-1:SHARD_FRAMES]  # in bytes: a task names a place in the file, not 256 frames

    @cached_property
    def sha256(self) -> str:
        """Digest, part of the identity of a run."""
        return hashlib.sha256(self.data).hexdigest()

    def frames_of(self, number: int) -> int:
        """Return how many frames a shard has."""
        return min(SHARD_FRAMES, self.n_frames - number * SHARD_FRAMES)

    def require_same(self, out: Path) -> None:
        """Check that a run which began in a folder has the same frames.

        Raises:
            TableError: If not; it names the first frame that differs.
        """
        if not (out / MANIFEST_FILE).is_file():
            return
        with (out / MANIFEST_FILE).open("rb") as reader:
            for was, now in itertools.zip_longest(reader, self.data.splitlines(keepends=True)):
                if was != now:
                    name = json.loads(was or now or b"[]")[0]
                    raise TableError(
                        f"{out / MANIFEST_FILE}: {name} is new, gone or changed since the run began; "
                        "give --out a new folder, or bring back the frames as they were"
                    )

    def begin(self, out: Path) -> list[int]:
        """Write the manifest into the folder of a run, and return the shards that are to be decided.

        Shards with unusable frames are among them, as every other start of infer tries such frames again.
        """
        parts = out / _PARTS
        with writing(parts):
            parts.mkdir(exist_ok=True)
            if not (out / MANIFEST_FILE).is_file():
                write_bytes(out / MANIFEST_FILE, self.data)
            for part in _parts(out, len(self.starts)):
                if part.is_dir() and read_json(part / _PART_FILE)["unusable"]:
                    part.replace(part.with_name(f".{part.name}"))
            for left in parts.glob(".*"):  # also of workers that were killed
                remove(left)
        return [number for number, part in enumerate(_parts(out, len(self.starts))) if not part.is_dir()]


@dataclass(frozen=True)
class Job:
    """What a worker needs to decide any shard of a run.

    Args:
        out: Folder of the run, which all workers see under this path.
        root: Folder that the names of frames start from.
        model: Path of the model.
        model_sha256: What it must be there.
        engine: One of `ENGINES`.
        device: Of the engine.
        patch_size_px: In stored pixels.
        alpha: Threshold.
        alpha_text: Its decimal text.
        ask_share: Of familiar frames, at most this share is asked about; None to ask about none.
        doubt_from: As in `Rule`.
    """

    out: Path
    root: Path
    model: Path
    model_sha256: str
    engine: str
    device: str
    patch_size_px: int
    alpha: Fraction
    alpha_text: str
    ask_share: Fraction | None = None
    doubt_from: Fraction | None = None

    @classmethod
    def of(cls, rule: Rule, out: Path, root: Path, model: Path, engine: str, device: str) -> "Job":
        """Return the run by a rule, in paths that do not depend on the working folder."""
        return cls(
            *(out.resolve(), root, model.resolve(), rule.engine.facts.sha256, engine, device),
            *(rule.patch_size_px, rule.alpha, rule.alpha_text),
            None if rule.familiar is None else rule.familiar.share,
            rule.doubt_from,
        )


def decide_shard(job: Job, number: int, start: int, n_frames: int) -> int:
    """Decide the frames of a shard, unless somebody has done so already.

    Args:
        job: The run.
        number: Of the shard.
        start: Where its frames begin in the manifest, in bytes.
        n_frames: How many they are.

    Returns:
        Frames that cannot be used.

    Raises:
        ReseedError: If the model is another one here, a frame has changed, or the tables cannot be written.
    """
    part = _part(job.out, number)
    if not part.is_dir():
        rule, logs = _opened(job)
        frames = list(_read_frames(job.out / MANIFEST_FILE, start, n_frames))
        filling = part.with_name(f".{part.name}-{uuid.uuid4().hex}")
        with writing(part):
            filling.mkdir()
            try:
                done = decide_all(
                    ListSource(frames), rule, logs, filling, workers=1, ahead=True, total=len(frames), shown=False
                )
                made = {"engine": rule.engine.name, "version": rule.engine.version, "processor": processor()}
                counts = {"decided": done.decided, "unusable": done.bad, "seconds": round(done.seconds, 3)}
                write_json(filling / _PART_FILE, made | counts)
                if not part.is_dir():  # else a worker that was taken for dead has been faster
                    filling.replace(part)
            finally:
                shutil.rmtree(filling, ignore_errors=True)
    return int(read_json(part / _PART_FILE)["unusable"])


def merge(out: Path, n_shards: int) -> Counter[str]:
    """Write the tables of a run from those of its shards.

    Args:
        out: Folder of the run, all of whose shards are decided.
        n_shards: How many they are.

    Returns:
        How many shards each engine on each processor decided.
    """
    for name, columns in TABLES.items():
        with writing(out / name), new_file(out / name) as path, path.open("wb") as writer:
            writer.write((",".join(columns) + "\n").encode())
            for part in _parts(out, n_shards):
                with (part / name).open("rb") as reader:
                    reader.readline()
                    shutil.copyfileobj(reader, writer)
    made = (read_json(part / _PART_FILE) for part in _parts(out, n_shards))
    return Counter(f"{by['engine']} {by['version']} on {by['processor']}" for by in made)


def estimate(manifest: Manifest, frames: Sequence[Frame], rule: Rule) -> str:
    """Return in words how much work a run is, after deciding a few of its frames."""
    some = frames[:: -(-len(frames) // _TRIED)]
    decide(some[0], rule)  # the first one pays for what an engine prepares
    began = time.perf_counter()
    for frame in some:
        decide(frame, rule)
    each_s = (time.perf_counter() - began) / len(some)
    return (
        f"{frames_text(manifest.n_frames)}, {manifest.n_bytes:,} bytes, {len(manifest.starts):,} shards of up to "
        f"{SHARD_FRAMES} frames; {manifest.n_frames * each_s / 3600:.3g} core-hours, from {len(some)} frames decided "
        f"here at {each_s:.3g} s"
    )


def processor() -> str:
    """Return the name of this machine's processor: other processors give other last digits."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


@lru_cache(maxsize=1)
def _opened(job: Job) -> tuple[Rule, Logs]:
    """Open the model once in each worker."""
    engine = open_engine(job.model, job.engine, threads=1, device=job.device)
    if engine.facts.sha256 != job.model_sha256:
        raise ModelError(
            f"{job.model}: is another model on a worker (sha256 {engine.facts.sha256[:12]}) than where the run was "
            f"started ({job.model_sha256[:12]}); give a path that leads to the same file everywhere"
        )
    familiar = None if job.ask_share is None else familiar_in(engine.facts, str(job.model))
    if familiar is not None and job.ask_share is not None:
        familiar = replace(familiar, share=job.ask_share)
    elif job.ask_share is not None:
        raise ModelError(f"{job.model}: does not know on a worker what familiar frames look like; copy its metrics too")
    rule = Rule(engine, job.patch_size_px, job.alpha, job.alpha_text, familiar, job.doubt_from)
    return rule, Logs(job.root, growing=False)


def _read_frames(manifest: Path, start: int, n_frames: int) -> Iterator[Frame]:
    if not manifest.is_file():
        raise SourceError(f"{manifest}: is not there on a worker; give --out a folder that all workers see")
    with manifest.open("rb") as reader:
        reader.seek(start)
        for line in itertools.islice(reader, n_frames):
            name, path, *state = json.loads(line)
            if [*_state(Path(path))] != state:
                raise SourceError(
                    f"{path}: has changed since the run began, or is not there on a worker; give --out a new folder, "
                    "and paths that all workers see"
                )
            yield Frame(Path(path), name)


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return -1, 0  # a link to nothing: a frame that cannot be used
    return found.st_size, found.st_mtime_ns


def _part(out: Path, number: int) -> Path:
    return out / _PARTS / f"{number:06d}"


def _parts(out: Path, n_shards: int) -> Iterator[Path]:
    return (_part(out, number) for number in range(n_shards))
