"""OpenVINO on the CPU: an optional extra, the fastest on Intel."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reseed.base.errors import ModelError
from reseed.base.probabilities import logits_in_batches
from reseed.engines.engine import CPU, OPENVINO, OPENVINO_BF16, UNBOUNDED
from reseed.engines.facts import ModelFacts
from reseed.engines.onnx_engine import INPUT, LOGITS, OnnxEngine, step_patches

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
