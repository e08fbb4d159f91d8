"""What one has to know of a model to use it rightly, whatever runs it."""

from dataclasses import dataclass
from typing import Any


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
    """

    classes: tuple[str, ...]
    patch_size_px: int
    input_size_px: int
    resize: str
    decode: str
    alpha: str | None
    sha256: str
    backbone: str

    def geometry(self) -> dict[str, Any]:
        """Return how patches have to be cut and resized, as `data/patches/geometry.json` says it."""
        return {
            "patch_size_px": self.patch_size_px,
            "input_size_px": self.input_size_px,
            "resize": self.resize,
            "decode": self.decode,
        }
