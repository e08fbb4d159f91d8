"""`calibration.json`: an alpha that keeps a promise, and what the promise is bound to."""

import hashlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal

import numpy as np

from reseed.base.classes import DEPLOY, NO_DEPLOY
from reseed.base.documents import parse_json
from reseed.base.errors import ReseedError, TableError
from reseed.base.parallel import ordered_map
from reseed.engines.facts import ModelFacts
from reseed.infer.deciding import Decided, Rule, decide, frames_text
from reseed.infer.run_folder import Frame, FrameList
from reseed.infer.sample import Sample, SampleUnit, changed, read_document, survey_sha256, unit_of
from reseed.params.load import Section
from reseed.score.alpha import exact
from reseed.score.promise import (
    CONFIDENT,
    DROPS,
    FRAME,
    alpha_of_drops,
    alpha_text,
    doubtful_from,
    lowest_alpha,
    percent,
    shares,
)

CALIBRATION_FILE: Final = "calibration.json"
_WAY_OUT: Final = "`python -m reseed calibrate alpha` makes one"


class Calibration(Section):
    """`calibration.json`.

    Args:
        promise: `frame`, `confident` or `drops`.
        target: Promised bound, 0 to 1.
        delta: Chance that `confident` may fail; null for the others.
        unit: What was drawn at random.
        n: Labelled frames.
        n_units: Units that they are of.
        n_no_deploy: Labelled frames with the reference No-Deploy.
        alpha: Decimal text.
        doubt_from: Alpha that the labels alone would allow, decimal text: frames between the two are in doubt.
        labelled: Labelled frames by their names from the common folder of the survey, each with the digest of its file.
        sample_sha256: Digest of the labelled frames and their labels.
        survey_sha256: Digest of the survey that they were drawn from.
        survey_frames: Number of its frames.
        model_sha256: Digest of the model file.
        patch_size_px: Edge of a patch in stored pixels.
    """

    promise: Literal["frame", "confident", "drops"]
    target: float
    delta: float | None
    unit: SampleUnit
    n: int
    n_units: int
    n_no_deploy: int
    alpha: str
    doubt_from: str
    labelled: dict[str, str]
    sample_sha256: str
    survey_sha256: str
    survey_frames: int
    model_sha256: str
    patch_size_px: int

    def in_words(self) -> str:
        """Return what is promised, for what."""
        bound, of_survey, drawn = percent(exact(self.target)), "of this survey", frames_text(self.n)
        if self.unit != FRAME:
            of_survey = f"of a {self.unit} of this survey, averaged over its {self.unit}s,"
            drawn += f" of {self.n_units} {self.unit}s"
        promised = {
            FRAME: f"the chance that a frame {of_survey} is dropped on wrongly is at most {bound}",
            CONFIDENT: f"at most {bound} of the frames {of_survey} are dropped on wrongly, with a confidence of "
            f"{percent(1 - exact(self.delta or 0))}",
            DROPS: f"of the drops on frames that nobody labelled, a share of at most {bound} is wrong on average",
        }[self.promise]
        return (
            f"Promise at alpha {self.alpha}: {promised}. It rests on {drawn} drawn at random from its "
            f"{self.survey_frames:,} and labelled, and holds for no other survey."
        )


def calibrate(
    promise: str,
    target: str,
    delta: str,
    sample: Sample,
    labels: Sequence[str],
    survey: FrameList,
    rule: Rule,
    shown: Callable[[str], None],
) -> Calibration:
    """Decide the labelled frames by the network, for `drops` all others too, and take alpha from them.

    Args:
        promise: One of `PROMISES`.
        target: Promised bound, decimal text.
        delta: Chance that `confident` may fail, decimal text.
        sample: What was drawn.
        labels: Of the first frames of the sample.
        survey: All frames of it.
        rule: The network, and how frames are cut; its alpha does not matter.
        shown: Told what is worth knowing.

    Raises:
        TableError: If there are too few labels, or the promise is not for a sample like this.
        ReseedError: If the target or delta is none.
    """
    bound, may_fail = (_between("--target", target), _between("--delta", delta))
    by_group = sample.unit != FRAME
    if promise == DROPS and by_group:
        raise TableError(
            f"promise {DROPS} is for frames that are drawn one by one, this sample is drawn by {sample.unit}; draw one "
            f"without --unit {sample.unit}, or promise {FRAME} or {CONFIDENT}"
        )
    by_name = {frame.name: frame for frame in survey.frames}
    labelled = sample.frames[: len(labels)]
    counts = _decided([by_name[name] for name in labelled], rule)
    usable = [name in counts for name in labelled]
    if not all(usable):
        shown(f"{frames_text(usable.count(False))} of the sample cannot be decided, and are left out")
    pairs = np.array([counts[name] for name in labelled if name in counts], np.int64).reshape(-1, 2)
    share = shares(pairs[:, 0], pairs[:, 1])
    wrong = np.array([label == NO_DEPLOY for label, use in zip(labels, usable, strict=True) if use], np.bool_)
    units = [unit_of(name, sample.unit) for name in labelled if name in counts] if by_group else None
    if promise == DROPS:
        others = _decided([frame for frame in survey.frames if frame.name not in set(labelled)], rule)
        all_pairs = np.array(list(others.values()), np.int64).reshape(-1, 2)
        alpha = alpha_of_drops(share, wrong, shares(all_pairs[:, 0], all_pairs[:, 1]), bound)
    else:
        alpha = lowest_alpha(promise, share, wrong, bound, may_fail, units)
    text = "\n".join(f"{name}\t{label}" for name, label in zip(labelled, labels, strict=True))
    return Calibration.model_validate(
        {
            "promise": promise,
            "target": float(bound),
            "delta": float(may_fail) if promise == CONFIDENT else None,
            "unit": sample.unit,
            "n": len(share),
            "n_units": len(share if units is None else set(units)),
            "n_no_deploy": int(wrong.sum()),
            "alpha": alpha_text(alpha),
            "doubt_from": alpha_text(min(alpha, doubtful_from(share, wrong, bound, units))),
            "labelled": dict(zip(labelled, sample.sha256, strict=False)),
            "sample_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "survey_sha256": sample.survey_sha256,
            "survey_frames": sample.survey_frames,
            "model_sha256": rule.engine.facts.sha256,
            "patch_size_px": rule.patch_size_px,
        }
    )


def _decided(frames: Sequence[Frame], rule: Rule) -> dict[str, tuple[int, int]]:
    """Return the Deploy patches and the patches of each frame that can be decided."""
    results = ordered_map(lambda frame: decide(frame, rule), frames, total=len(frames), unit="frame", what="calibrate")
    return {
        result.frame.name: (result.count(DEPLOY), len(result.predicted))
        for result in results
        if isinstance(result, Decided)
    }


def _between(option: str, text: str) -> Fraction:
    try:
        value = exact(float(text))
    except (ValueError, TableError):
        value = Fraction(0)
    if not 0 < value < 1:
        raise ReseedError(f"{option}: got {text!r}; allowed: a number above 0 and below 1, such as 0.05")
    return value


def read_calibration(path: Path) -> Calibration:
    """Read `calibration.json`.

    Raises:
        TableError: If it is not there or damaged.
    """
    return read_document(path, Calibration, _WAY_OUT)


def carried(facts: ModelFacts, where: str) -> Calibration | None:
    """Return the calibration that an exported file carries, None if it carries none.

    Raises:
        TableError: If it is damaged.
    """
    if not facts.calibration:
        return None
    try:
        return Calibration.model_validate(parse_json(facts.calibration.encode(), where, TableError))
    except ValueError as error:
        raise TableError(f"{where}: its calibration is damaged; export the model again") from error


def require_model(found: Calibration, where: str, facts: ModelFacts, patch_size_px: int) -> None:
    """Check that a calibration is of this network and these patches.

    Raises:
        TableError: If it is not; names both sides.
    """
    for what, of_it, here in (
        ("model with sha256", found.model_sha256[:12], facts.sha256[:12]),
        ("patch size of px", found.patch_size_px, patch_size_px),
    ):
        if of_it != here:
            raise TableError(
                f"{where}: is for a {what} {of_it}, but here it is {here}; run "
                "`python -m reseed calibrate alpha` with this one"
            )


def require_survey(found: Calibration, where: str, survey: FrameList | None, root: Path) -> None:
    """Check that a calibration is of these frames.

    Args:
        found: The calibration.
        where: Its file, for messages.
        survey: The frames; None for a folder that is still being written: only the labelled frames can be looked for.
        root: Folder that the names of frames start from.

    Raises:
        TableError: If it is of others, or promises what only a finished survey can have.
    """
    if survey is None:
        if found.promise == DROPS:
            raise TableError(
                f"{where}: promise {DROPS} is for a finished survey, not for --watch; calibrate with --promise {FRAME} "
                f"or {CONFIDENT}, or give --alpha"
            )
    elif survey_sha256(survey.frames) != found.survey_sha256:
        raise TableError(
            f"{where}: is for another survey, of {frames_text(found.survey_frames)}, and promises nothing for these "
            f"{frames_text(len(survey.frames))}; give the same FRAMES as then, run "
            f"`python -m reseed calibrate sample` on these, or give --alpha"
        )
    paths = {name: root / name for name in found.labelled}
    if survey is not None:
        paths = {frame.name: frame.path for frame in survey.frames}
    if lost := changed(found.labelled, paths):
        raise TableError(
            f"{where}: is for another survey: {len(lost)} of its {frames_text(len(found.labelled))} are not in {root} "
            f"as they were, such as {lost[0]}; give the FRAMES that it was made for, or --alpha"
        )
