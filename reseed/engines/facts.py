"""What one has to know of a model to use it rightly, whatever runs it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reseed.base.appearance import Familiar, familiar_of
from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError

_METRICS_FILE: Final = "metrics/metrics.json"
_ENGINE_FILE: Final = "data/predictions/engine.json"
_FAMILIAR_FILE: Final = "data/predictions/familiar.json"
FLIPS: Final = (1, 2, 4)

# What a network was trained on whose frames were rendered: in the metadata of a file of `export`, and in every warning.
RENDERED: Final = "rendered frames: its answers mean nothing in the field"


@dataclass(frozen=True)
class ModelFacts:
    """What one has to know of a model to use it rightly.

    Args:
        classes: Names in the order of the outputs.
        patch_size_px: Target edge of a patch in stored pixels.
        input_size_px: Edge of a patch as the network sees it.
        resize: Name of the resize rule.
        decode: Name of the decoding rule.
        alpha: Decimal text of the threshold that goes with the model, None if none is recorded.
        sha256: Digest of the file that was opened: `model.pt`, or a file of `export`.
        backbone: torchvision network below the head.
        trained_on_rendered: Whether it is known to have been trained on rendered frames.
        flips: Mirror images that predictions are the mean over, 1 for none.
        calibration: `calibration.json` that alpha was taken from, as text; empty if there is none.
        familiar: `familiar.json` of the run, what familiar frames look like, as text; empty if there is none.
    """

    classes: tuple[str, ...]
    patch_size_px: int
    input_size_px: int
    resize: str
    decode: str
    alpha: str | None
    sha256: str
    backbone: str
    trained_on_rendered: bool
    flips: int = 1
    calibration: str = ""
    familiar: str = ""

    def geometry(self) -> dict[str, Any]:
        """Return how patches have to be cut and resized, as `data/patches/geometry.json` says it."""
        return {
            "patch_size_px": self.patch_size_px,
            "input_size_px": self.input_size_px,
            "resize": self.resize,
            "decode": self.decode,
        }


def facts_of_geometry(geometry: dict[str, Any], backbone: str, sha256: str, folder: Path) -> ModelFacts:
    """Return what one has to know to use a model of this code.

    Args:
        geometry: How its patches are cut and resized, as `data/patches/geometry.json` says it.
        backbone: torchvision network below the head.
        sha256: Of `model.pt`; empty for a network that is in no file.
        folder: Its folder; alpha, the kind of data and the flips of its predictions are read from files beside it.

    Raises:
        ModelError: If the geometry lacks a part.
    """
    try:
        facts = ModelFacts(
            classes=CLASSES,
            patch_size_px=int(geometry["patch_size_px"]),
            input_size_px=int(geometry["input_size_px"]),
            resize=str(geometry["resize"]),
            decode=str(geometry["decode"]),
            alpha=recorded_alpha(folder),
            sha256=sha256,
            backbone=backbone,
            trained_on_rendered=trained_on_rendered(folder),
            flips=recorded_flips(folder),
            familiar=recorded_familiar(folder),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise ModelError(
            f"{folder}: the geometry lacks {error}, or it is no number; train or import the model again"
        ) from error
    return require_plausible(facts, str(folder))


def recorded_alpha(folder: Path) -> str | None:
    """Return the decimal text of the alpha in `metrics/metrics.json` beside a model folder, None if there is none.

    The same run wrote both; a folder that was carried elsewhere has no alpha.
    """
    value = _recorded(folder, "frame", "alpha")
    return None if value is None else str(value)


def trained_on_rendered(folder: Path) -> bool:
    """Return whether `metrics/metrics.json` beside a model folder says that frames were rendered."""
    return _recorded(folder, "data", "synthetic") is True


def recorded_flips(folder: Path) -> int:
    """Return the flips in `data/predictions/engine.json` beside a model folder, 1 if none are recorded."""
    value = _recorded(folder, "flips", file=_ENGINE_FILE)
    return value if value in FLIPS else 1


def recorded_familiar(folder: Path) -> str:
    """Return `data/predictions/familiar.json` beside a model folder as text; empty if nobody is asked."""
    return (
        ""
        if _recorded(folder, "share", file=_FAMILIAR_FILE) is None
        else ((folder.resolve().parent / _FAMILIAR_FILE).read_text(encoding="utf-8"))
    )


def familiar_in(facts: ModelFacts, where: str) -> Familiar | None:
    """Return what familiar frames look like to a model, None if it does not know.

    Raises:
        ModelError: If what it says is damaged, or of another version.
    """
    if not facts.familiar:
        return None
    try:
        return familiar_of(json.loads(facts.familiar))
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{where}: what familiar frames look like is not readable ({brief(str(error))}); export the model again, "
            "or give --ask none"
        ) from error


def _recorded(folder: Path, *names: str, file: str = _METRICS_FILE) -> Any:
    try:
        found = json.loads((folder.resolve().parent / file).read_text(encoding="utf-8"), parse_float=str)
        for name in names:
            found = found[name]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found


# As section `extract` has them; the upper end of a patch is more than any camera has.
_PATCH_PX: Final = range(8, 100_001)
_INPUT_PX: Final = range(32, 1025)
_LONGEST_NAME: Final = 100
_LONGEST_TEXT: Final = 300
_HEAD: Final = 60


def require_plausible(facts: ModelFacts, where: str) -> ModelFacts:
    """Return the facts, if a network for patches can have them.

    Args:
        facts: As the model itself has them.
        where: Its path, for messages.

    Raises:
        ModelError: If a size is out of range, or the name of the backbone is none.
    """
    for name, value, allowed in (
        ("patch_size_px", facts.patch_size_px, _PATCH_PX),
        ("input_size_px", facts.input_size_px, _INPUT_PX),
    ):
        if value not in allowed:
            raise ModelError(
                f"{where}: {name} is {value}; allowed: {allowed[0]} to {allowed[-1]}; export or import the model again"
            )
    if not facts.backbone.isprintable() or len(facts.backbone) > _LONGEST_NAME:
        raise ModelError(f"{where}: backbone is {brief(facts.backbone)}, which is no name; export the model again")
    return facts


def brief(text: str) -> str:
    """Return text from a file of others for a message: what does not print is escaped, and the middle left out."""
    short = text if len(text) <= _LONGEST_TEXT else f"{text[:_HEAD]} ... {text[_HEAD - _LONGEST_TEXT :]}"
    return repr(short)[1:-1]


def require_geometry(facts: ModelFacts, geometry: dict[str, Any], where: str) -> None:
    """Check that patches are made as those the model was trained on.

    Args:
        facts: Of the model.
        geometry: How the patches were made, as `data/patches/geometry.json` says it.
        where: Path of the model, for the message.

    Raises:
        ModelError: If they are not; both sides are named.
    """
    if facts.geometry() != geometry:
        raise ModelError(
            f"{where}: geometry of the model is {json.dumps(facts.geometry(), sort_keys=True)}, but here it is "
            f"{json.dumps(geometry, sort_keys=True)}; train again with `dvc repro train`, or check out the code and "
            "parameters that the model was trained with"
        )
