"""What one has to know of a model to use it rightly, whatever runs it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError

_METRICS_FILE: Final = "metrics/metrics.json"
_ENGINE_FILE: Final = "data/predictions/engine.json"
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
        sha256: Digest of `model.pt`, also of the one that a file of `export` was made from.
        backbone: torchvision network below the head.
        trained_on_rendered: Whether it is known to have been trained on rendered frames.
        flips: Mirror images that predictions are the mean over, 1 for none.
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
        return ModelFacts(
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
        )
    except KeyError as error:
        raise ModelError(f"{folder}: the geometry lacks {error}; train or import the model again") from error


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


def _recorded(folder: Path, *names: str, file: str = _METRICS_FILE) -> Any:
    try:
        found = json.loads((folder.resolve().parent / file).read_text(encoding="utf-8"), parse_float=str)
        for name in names:
            found = found[name]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found


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
