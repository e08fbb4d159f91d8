"""ONNX Runtime and OpenVINO on the CPU, and what a file of `python -m reseed export` records of itself. No torch.

OpenVINO is an optional extra, the fastest on Intel.
"""

import os
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError
from reseed.base.probabilities import logits_in_batches
from reseed.engines.engine import CPU, ONNX, OPENVINO, OPENVINO_BF16, UNBOUNDED
from reseed.engines.facts import RENDERED, ModelFacts, brief, require_plausible

INPUT: Final = "images"
LOGITS: Final = "logits"
# Patches of 256 px that go through the network at once: more no longer fit the cache of a core (one thread, 28 patches:
# 61 ms by fours, 88 ms all at once).
_STEP_PIXELS: Final = 4 * 256 * 256
_IMAGE_AXES: Final = 4
_NO_FOLDER: Final = "/no folder: a model is one file"


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
        facts = facts_of(session.get_modelmeta().custom_metadata_map, where)
        _require_signature(session, facts, where)
        return cls(session, facts, version)

    def logits(
        self, images: npt.NDArray[np.uint8], batch_size: int = UNBOUNDED, rows: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.float64]:
        """Return what `Engine.logits` does."""

        def run(batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
            try:
                out: npt.NDArray[np.float32] = self.session.run([LOGITS], {INPUT: batch})[0]
            except Exception as error:  # as in `_session`
                raise ModelError(f"the network cannot be run: {brief(' '.join(str(error).split()))}") from error
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
            calibration=metadata.get("calibration", ""),
            familiar=metadata.get("familiar", ""),
        )
    except (KeyError, ValueError) as error:
        raise ModelError(
            f"{where}: no file of `python -m reseed export` ({type(error).__name__}: {brief(str(error))} in its "
            "metadata); export the model again"
        ) from error
    if facts.classes != CLASSES:
        raise ModelError(f"{where}: classes are {brief(', '.join(facts.classes))}; here they are {', '.join(CLASSES)}")
    return require_plausible(facts, where)


def _require_signature(session: Any, facts: ModelFacts, where: str) -> None:
    """Check that the graph takes the patches that its metadata speak of, and gives logits."""
    edge_px = facts.input_size_px
    inputs = [(each.name, each.type, each.shape) for each in session.get_inputs()]
    fits = len(inputs) == 1 and inputs[0][:2] == (INPUT, "tensor(uint8)") and len(inputs[0][2]) == _IMAGE_AXES
    if not fits or any(
        isinstance(given, int) and given != needed
        for given, needed in zip(inputs[0][2][1:], (edge_px, edge_px, 3), strict=True)
    ):
        raise ModelError(
            f"{where}: takes {brief('; '.join(map(str, inputs)))}; needed: {INPUT}, uint8, (patches, {edge_px}, "
            f"{edge_px}, 3); export the model again"
        )
    if LOGITS not in [each.name for each in session.get_outputs()]:
        raise ModelError(f"{where}: gives no {LOGITS}; export the model again")


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
    options.log_severity_level = 4  # an error is raised too; a hint is no business of the user's
    # Weights in other files would be read from wherever the command runs: a model is one file.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", _NO_FOLDER)
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library raises its own classes, which share no base
        said = brief(" ".join(str(error).split()))
        raise ModelError(f"{where}: not readable as ONNX ({said}); export it again") from error
    return session, str(onnxruntime.__version__)


_CAP = "ONEDNN_MAX_CPU_ISA"


@dataclass(frozen=True)
class OpenvinoEngine:
    """A network in OpenVINO.

    Args:
        compiled: The compiled model.
        facts: What its metadata say.
        version: Of OpenVINO.
        name: `openvino` or `openvino-bf16`.
    """

    compiled: Any
    facts: ModelFacts
    version: str
    name: str
    device: str = CPU

    @classmethod
    def open(cls, data: bytes, where: str, threads: int, name: str = OPENVINO) -> "OpenvinoEngine":
        """Compile a model.

        Args:
            data: Bytes of a file of `python -m reseed export`.
            where: Its path, for messages.
            threads: CPU threads of one call.
            name: `openvino` computes in float32, `openvino-bf16` in bfloat16.

        Raises:
            ModelError: If OpenVINO is missing, the processor has no bfloat16, or the file is broken or was made by
                something else.
        """
        os.environ.setdefault("OPENVINO_TELEMETRY_OPT_OUT", "1")
        try:
            import openvino  # noqa: PLC0415  # an optional extra
        except ImportError as error:
            raise ModelError(
                f"engine openvino needs OpenVINO ({error}): pip install -r requirements-extras.txt -c "
                "requirements.lock; or use engine onnx"
            ) from error
        facts = OnnxEngine.open(data, where, threads).facts  # also names a broken file
        # Its own oneDNN reads this at the first compilation, and bfloat16 under the cap of torch's numerics crashes.
        capped = os.environ.pop(_CAP, None)
        try:
            return cls._compile(openvino, data, facts, threads, name)
        finally:
            if capped is not None:
                os.environ[_CAP] = capped

    @classmethod
    def _compile(cls, openvino: Any, data: bytes, facts: ModelFacts, threads: int, name: str) -> "OpenvinoEngine":
        core = openvino.Core()
        if name == OPENVINO_BF16 and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            raise ModelError("engine openvino-bf16: this processor has no bfloat16; use engine openvino or onnx")
        # A stream serves one caller at a time, and the number of threads is that of all streams together.
        streams = max(1, (os.cpu_count() or 1) // threads)
        options = {
            # By itself it would take bfloat16 wherever the processor has it.
            "INFERENCE_PRECISION_HINT": "bf16" if name == OPENVINO_BF16 else "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": streams * threads,
            "NUM_STREAMS": streams,
            # Threads that are tied to a core wait for whatever else runs there, such as the decoding of frames.
            "ENABLE_CPU_PINNING": False,
        }
        compiled = core.compile_model(core.read_model(data), "CPU", options)
        return cls(compiled, facts, str(openvino.__version__), name)

    def logits(
        self, images: npt.NDArray[np.uint8], batch_size: int = UNBOUNDED, rows: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.float64]:
        """Return what `Engine.logits` does."""
        request = self.compiled.create_infer_request()  # one for each call: a request serves one thread at a time

        def run(batch: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
            out: npt.NDArray[np.float32] = request.infer({INPUT: batch})[LOGITS]
            return out

        return logits_in_batches(run, images, min(batch_size, step_patches(images)), rows)
