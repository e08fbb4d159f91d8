"""A random sample of the survey that is to be decided, and a page on which a person decides its frames.

`sample.json` says what was drawn from what; `label.html` shows the frames, without any network, and saves
`to_label.csv`.
"""

import base64
import csv
import hashlib
import io
import json
import random
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, Self, TypeVar, get_args

import simplejpeg
from pydantic import model_validator

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.base.classes import DEPLOY, NO_DEPLOY, parse_decision
from reseed.base.csv import guard, read_text_table
from reseed.base.documents import parse_json
from reseed.base.errors import ImageError, ReseedError, SourceError, TableError
from reseed.base.files import read_regular, write_json, write_text
from reseed.infer.deciding import MAX_PIXELS, frames_text
from reseed.infer.geotags import exif_in
from reseed.infer.run_folder import Frame, FrameList, find_frames, sequence_of
from reseed.infer.tables import writing
from reseed.pages.parts import in_script, policy
from reseed.params.load import Section, section_problems
from reseed.score.promise import FRAME
from reseed.survey.imagery import decode_at_least, read_image_file

SAMPLE_FILE: Final = "sample.json"
LABELS_FILE: Final = "to_label.csv"
PAGE_FILE: Final = "label.html"
SITE: Final = "site"
SampleUnit = Literal["frame", "sequence", "site"]
SAMPLE_UNITS: Final[tuple[str, ...]] = get_args(SampleUnit)
COLUMNS: Final = ("number", "frame", "label")
_ASSETS: Final = Path(__file__).with_name("label")
_WIDTH_PX: Final = 1600
_QUALITY: Final = 85

D = TypeVar("D", bound=Section)


class Sample(Section):
    """`sample.json`: frames in the order in which they were drawn, and what they were drawn from.

    Args:
        given: Folders, image files and lists.
        unit: What is drawn at random: frames, or sequences or sites and then frames of them.
        survey_sha256: See `survey_sha256`.
        survey_frames: Number of frames.
        seed: Of the draw.
        unusable: Frames that were passed over, with the reason.
        frames: Names.
        sha256: Digests of their files.
    """

    given: list[str]
    unit: SampleUnit
    survey_sha256: str
    survey_frames: int
    seed: int
    unusable: list[str]
    frames: list[str]
    sha256: list[str]

    @model_validator(mode="after")
    def _one_digest_a_frame(self) -> Self:
        if len(self.frames) != len(self.sha256):
            raise ValueError(f"a digest a frame, not {len(self.sha256)} of {len(self.frames)}")
        return self


def survey_sha256(frames: Sequence[Frame]) -> str:
    """Return the digest of a survey: names and lengths of its files.

    It is known without reading them; the sampled frames are compared by their content too, see `changed`.
    """
    lines = sorted(f"{frame.name}\t{_length(frame)}\n" for frame in frames)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _length(frame: Frame) -> int:
    try:
        return frame.path.stat().st_size
    except OSError:  # a link to nothing: a frame that cannot be used, in every run alike
        return 0


def changed(sha256: Mapping[str, str], paths: Mapping[str, Path]) -> list[str]:
    """Return the frames that are not there, or no longer have the content they had.

    Args:
        sha256: Digest of the file as it was, by frame.
        paths: Where frames lie now.
    """
    return [name for name, digest in sha256.items() if name not in paths or _file_sha256(paths[name]) != digest]


def _file_sha256(path: Path) -> str:
    try:
        return hashlib.sha256(read_regular(path)).hexdigest()
    except OSError:
        return ""


def unit_of(name: str, unit: str) -> str:
    """Return the sequence or site that a frame is of, or nothing where frames are drawn one by one.

    >>> unit_of("reef_1/tow_2/0001.jpg", "sequence"), unit_of("reef_1/tow_2/0001.jpg", "site")
    ('reef_1/tow_2', 'reef_1')
    """
    sequence = "" if unit == FRAME else sequence_of(name)
    return sequence.partition("/")[0] if unit == SITE else sequence


def draw_sample(given: Sequence[Path], out: Path, n: int, seed: int, unit: SampleUnit = "frame") -> Sample:
    """Draw frames at random and write the sample, the table to fill in, and the page to do it on.

    By sequence or site, each of them gives one frame in turn, so that as many as possible are labelled. A frame that
    cannot be read is passed over for the next one drawn: infer does not decide it either.

    Args:
        given: Folders, image files or lists.
        out: New or empty folder.
        n: Number of frames.
        seed: Of the draw.
        unit: One of `SAMPLE_UNITS`.

    Raises:
        SourceError: If there are too few frames that can be read.
        TableError: If the folder holds something, or cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise TableError(f"{out}: is a file, or holds something; give --out an empty or a new folder")
    listed = find_frames(given, out)
    waiting = _shuffled(listed.frames, unit, seed)
    drawn: list[Frame] = []
    pictures, digests, unusable, synthetic = [], [], [], False
    while waiting and len(drawn) < n:
        if not waiting[0]:
            waiting.popleft()
            continue
        frame = waiting[0].pop()
        try:
            data = read_image_file(frame.path)
            pictures.append(_picture(data))
        except ImageError as error:
            unusable.append(f"{frame.name}: {error.reason}")
            continue
        drawn.append(frame)
        waiting.rotate(-1)
        digests.append(hashlib.sha256(data).hexdigest())
        synthetic |= exif_in(data).synthetic
    if len(drawn) < n:
        raise SourceError(
            f"{', '.join(map(str, given))}: {frames_text(len(drawn))} can be read, -n asks for {n}; label them all by "
            f"-n {len(drawn)}, or give the whole survey"
        )
    sample = Sample(
        given=[str(path.resolve()) for path in given],
        unit=unit,
        survey_sha256=survey_sha256(listed.frames),
        survey_frames=len(listed.frames),
        seed=seed,
        unusable=unusable,
        frames=[frame.name for frame in drawn],
        sha256=digests,
    )
    page = _page(sample, pictures, synthetic=synthetic)
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        write_text(out / LABELS_FILE, "".join([",".join(COLUMNS) + "\n", *(f"{row}\n" for row in _rows(sample))]))
        write_text(out / PAGE_FILE, page)
        write_json(out / SAMPLE_FILE, sample.model_dump())
    return sample


def _shuffled(frames: Sequence[Frame], unit: str, seed: int) -> deque[list[Frame]]:
    """Return the frames of each unit in the order of the draw, the last one first; all in one list for unit frame."""
    rng = random.Random(seed)  # noqa: S311 - drawn again by the seed, kept secret from nobody
    found: dict[str, list[Frame]] = {}
    for frame in sorted(frames, key=lambda frame: frame.name):
        found.setdefault(unit_of(frame.name, unit), []).append(frame)
    units = list(found.values())
    rng.shuffle(units)
    for members in units:
        rng.shuffle(members)
    return deque(units)


def _picture(data: bytes) -> str:
    """Return a frame as base64 of a JPEG that is large enough to decide by."""
    pixels = decode_at_least(data, MAX_PIXELS, lambda width, _: (min(width, _WIDTH_PX), 1)).pixels
    jpeg = simplejpeg.encode_jpeg(pixels, quality=_QUALITY, colorspace="RGB", colorsubsampling="420")
    return base64.b64encode(jpeg).decode("ascii")


def _rows(sample: Sample) -> list[str]:
    """Return the rows of the table as they stand in the file, up to the label."""
    text = io.StringIO(newline="")
    rows = [[number, guard(name), ""] for number, name in enumerate(sample.frames, 1)]
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().splitlines()


def _page(sample: Sample, pictures: Sequence[str], *, synthetic: bool) -> str:
    script = (_ASSETS / "label.js").read_text(encoding="utf-8")
    data = {
        "file": LABELS_FILE,
        "header": ",".join(COLUMNS),
        "key": hashlib.sha256("\n".join([sample.survey_sha256, *sample.frames]).encode()).hexdigest(),
        "decisions": {"d": DEPLOY, "n": NO_DEPLOY},
        "frames": [
            {"name": name, "row": row, "jpeg": jpeg}
            for name, row, jpeg in zip(sample.frames, _rows(sample), pictures, strict=True)
        ],
    }
    try:  # a boat that only runs infer does without it
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ReseedError(
            "calibrate sample needs Jinja2 for its page; run `pip install jinja2` and try again"
        ) from error

    page = Environment(loader=FileSystemLoader(_ASSETS), autoescape=True, undefined=StrictUndefined)
    return page.get_template("label.html.j2").render(
        policy=policy(script),
        script=script,
        data=in_script(json.dumps(data, ensure_ascii=False, separators=(",", ":"))),
        notice=SYNTHETIC_NOTICE if synthetic else "",
        n=len(sample.frames),
        survey=frames_text(sample.survey_frames),
        deploy=DEPLOY,
        no_deploy=NO_DEPLOY,
    )


def read_sample(folder: Path) -> Sample:
    """Read `sample.json`.

    Raises:
        TableError: If it is not there or damaged.
    """
    path = folder / SAMPLE_FILE
    return read_document(path, Sample, "`python -m reseed calibrate sample` makes one")


def read_document(path: Path, model: type[D], way_out: str) -> D:
    """Read a JSON document that a program of this room wrote.

    Raises:
        TableError: If it is not there, or is none; names what is wrong and the way out.
    """
    try:
        value = parse_json(read_regular(path), str(path), TableError)
        problems = section_problems({path.name: value}, path.name, model)
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror}); {way_out}") from error
    except TableError as error:
        raise TableError(f"{error}; {way_out}") from error
    if problems:
        raise TableError(f"{path}: is no {path.name} of this version of reseed ({problems[0]}); {way_out}")
    return model.model_validate(value)


def sampled_frames(sample: Sample, folder: Path) -> FrameList:
    """Return the frames of the survey that a sample was drawn from.

    Raises:
        SourceError: If they are not where they were, or are no longer the same.
    """
    listed = find_frames([Path(path) for path in sample.given], folder)
    sha256 = dict(zip(sample.frames, sample.sha256, strict=True))
    if survey_sha256(listed.frames) != sample.survey_sha256:
        raise SourceError(
            f"{', '.join(sample.given)}: holds {frames_text(len(listed.frames))}, and not the "
            f"{frames_text(sample.survey_frames)} that {folder / SAMPLE_FILE} was drawn from; draw a sample of the "
            "survey as it is now"
        )
    if others := changed(sha256, {frame.name: frame.path for frame in listed.frames}):
        raise SourceError(
            f"{others[0]}: is no longer the frame that was drawn and labelled; bring it back, or draw a sample of the "
            "survey as it is now"
        )
    return listed


def read_labels(path: Path, sample: Sample) -> list[str]:
    """Return the decisions of the first frames of the sample, in the order in which they were drawn.

    Whoever stops early has labelled a smaller random sample; a gap would be a choice, and no longer random.

    Raises:
        TableError: If a frame is not of the sample, one is missing or twice, a label is no decision, or there is a gap.
    """
    try:
        table = read_text_table(path, str(path))
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror}); {PAGE_FILE} saves one") from error
    table.require(COLUMNS[1:])
    labels: dict[str, str] = {}
    for row in table.rows:
        name = row.cells["frame"]
        if name in labels or name not in sample.frames:
            what = "is there twice" if name in labels else f"is not in {SAMPLE_FILE}"
            raise TableError(f"{row.where}: frame {name!r} {what}; keep the rows of {LABELS_FILE} as they were written")
        labels[name] = parse_decision(row.cells["label"], row.where) if row.cells["label"] else ""
    missing = [name for name in sample.frames if name not in labels]
    if missing:
        raise TableError(f"{path}: no row of {missing[0]}; keep the rows of {LABELS_FILE} as they were written")
    found = [labels[name] for name in sample.frames]
    done = found.index("") if "" in found else len(found)
    if any(found[done:]):
        raise TableError(
            f"{path}: no label for {sample.frames[done]}, but for frames drawn after it; left-out frames make a sample "
            f"no longer random, so decide it, as {NO_DEPLOY} where it cannot be told"
        )
    return found[:done]
