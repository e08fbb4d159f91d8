"""A folder with `model.pt` and `model.json`, for patches yet to be cut as the model says."""

import json
from pathlib import Path
from typing import Any, Final

from reseed.base.errors import ModelError
from reseed.engines.facts import ModelFacts, require_plausible
from reseed.network.checkpoint import ModelCard, load_model
from reseed.network.model import Network

MODEL_FILE: Final = "model.pt"
CARD_FILE: Final = "model.json"
METRICS_FILE: Final = "metrics/metrics.json"


def load_folder(folder: Path) -> tuple[Network, ModelCard]:
    """Return the network and the description in a model folder.

    Raises:
        ModelError: As `load_model`, or if it is a file.
    """
    if folder.is_file():
        raise ModelError(
            f"{folder}: is a file; give the folder that holds {MODEL_FILE} and {CARD_FILE}, or an .onnx file of "
            "`python -m reseed export`"
        )
    return load_model(folder / MODEL_FILE, folder / CARD_FILE, None)


def facts_of_card(card: ModelCard, folder: Path) -> ModelFacts:
    """Return what one has to know to use the model in `folder`.

    Raises:
        ModelError: If the description lacks a part of the geometry.
    """
    try:
        facts = ModelFacts(
            classes=card.classes,
            patch_size_px=int(card.geometry["patch_size_px"]),
            input_size_px=int(card.geometry["input_size_px"]),
            resize=str(card.geometry["resize"]),
            decode=str(card.geometry["decode"]),
            alpha=recorded_alpha(folder),
            sha256=card.sha256,
            backbone=card.backbone,
            trained_on_rendered=trained_on_rendered(folder),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise ModelError(
            f"{folder / CARD_FILE}: its geometry lacks {error}, or it is no number; train or import the model again"
        ) from error
    return require_plausible(facts, str(folder / CARD_FILE))


def recorded_alpha(folder: Path) -> str | None:
    """Return the decimal text of the alpha in `metrics/metrics.json` beside a model folder, None if there is none.

    The same run wrote both; a folder that was carried elsewhere has no alpha.
    """
    value = _recorded(folder, "frame", "alpha")
    return None if value is None else str(value)


def trained_on_rendered(folder: Path) -> bool:
    """Return whether `metrics/metrics.json` beside a model folder says that frames were rendered."""
    return _recorded(folder, "data", "synthetic") is True


def _recorded(folder: Path, group: str, name: str) -> Any:
    path = folder.resolve().parent / METRICS_FILE
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_float=str)[group][name]
    except (OSError, ValueError, KeyError, TypeError):
        return None
