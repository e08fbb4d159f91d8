"""What one has to know of a model to use it rightly, whatever runs it."""

import json
from dataclasses import dataclass
from typing import Any, Final

from reseed.base.errors import ModelError

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

    def geometry(self) -> dict[str, Any]:
        """Return how patches have to be cut and resized, as `data/patches/geometry.json` says it."""
        return {
            "patch_size_px": self.patch_size_px,
            "input_size_px": self.input_size_px,
            "resize": self.resize,
            "decode": self.decode,
        }


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
