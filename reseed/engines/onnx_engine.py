"""ONNX Runtime on the CPU, and what a file of `python -m reseed export` says of itself. No torch."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError
from reseed.base.probabilities import logits_in_batches
from reseed.engines.engine import CPU, ONNX, UNBOUNDED
from reseed.engines.facts import RENDERED, ModelFacts

INPUT: Final = "images"
LOGITS: Final = "logits"
# Patches of 256 px that go through the network at once: more no longer fit the cache of a core (one thread, 28 patches:
# 61 ms by fours, 88 ms all at once).
_STEP_PIXELS: Final = 4 * 256 * 256


@dataclass(frozen=True)
class OnnxEngine:
    """A network in ONNX Runtime.

    Args:
        session: The open file.
        facts: What its metadata say.
        version: Of ONNX Runtime.
    """

    session: Any
    facts: ModelFacts
    version: str
    name: str = ONNX
    device: str = CPU

    @classmethod
    def open(cls, data: bytes, where: str, threads: int) -> "OnnxEngine":
        """Open a model.

        Args:
            data: Bytes of a file of `python -m reseed export`.
            where: Its path, for messages.
            threads: CPU threads of one call.

        Raises:
            ModelError: If ONNX Runtime is missing, or the file is broken or was made by something else.
        """
        session, version = _session(data, where, threads)
        return cls(session, facts_of(session.get_modelmeta().custom_metadata_map, where), version)

    def logits(
        self, images: npt.NDArray[np.uint8], batch_size: int = UNBOUNDED, rows: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.float64]:
        """Return what `Engine.logits` does."""

        def run(batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
            out: npt.NDArray[np.float32] = self.session.run([LOGITS], {INPUT: batch})[0]
            return out

        return logits_in_batches(run, images, min(batch_size, step_patches(images)), rows)


def step_patches(images: npt.NDArray[np.uint8]) -> int:
    """Return how many of (N, S, S, 3) images to send through a network at once."""
    return max(1, _STEP_PIXELS // int(np.prod(images.shape[1:3])))


def facts_of(metadata: dict[str, str], where: str) -> ModelFacts:
    """Read the metadata that `python -m reseed export` wrote.

    Raises:
        ModelError: If a key is missing or the classes are others than here.
    """
    try:
        facts = ModelFacts(
            classes=tuple(metadata["classes"].split(", ")),
            patch_size_px=int(metadata["patch_size_px"]),
            input_size_px=int(metadata["input_size_px"]),
            resize=metadata["resize"],
            decode=metadata["decode"],
            alpha=metadata.get("alpha"),
            sha256=metadata["model_sha256"],
            backbone=metadata["backbone"],
            trained_on_rendered=metadata.get("trained_on") == RENDERED,
            flips=int(metadata.get("flips", "1")),  # files from before there were any lack it
        )
    except (KeyError, ValueError) as error:
        raise ModelError(
            f"{where}: no file of `python -m reseed export` ({type(error).__name__}: {error} in its metadata); export "
            "the model again"
        ) from error
    if facts.classes != CLASSES:
        raise ModelError(f"{where}: classes are {', '.join(facts.classes)}; here they are {', '.join(CLASSES)}")
    return facts


def _session(data: bytes, where: str, threads: int) -> tuple[Any, str]:
    try:
        import onnxruntime  # noqa: PLC0415  # the other engines do not need it
    except ImportError as error:
        raise ModelError(
            f"engine onnx needs ONNX Runtime ({error}): pip install -r requirements.txt -c requirements.lock; "
            "or use engine torch"
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Idle threads of the pool would otherwise keep cores busy that decode the next frame.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors; a hint is no business of the user's
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library raises its own classes, which share no base
        raise ModelError(f"{where}: not readable as ONNX ({' '.join(str(error).split())}); export it again") from error
    return session, str(onnxruntime.__version__)
