"""The engines by name, apart from what runs them, so that each engine can say its own."""

from typing import Final

AUTO: Final = "auto"
TORCH: Final = "torch"
ONNX: Final = "onnx"
OPENVINO: Final = "openvino"
# OpenVINO in bfloat16, where the processor has it: faster again, but probabilities differ in the second decimal. For
# decisions at sea, not for scores, so section `predict` does not offer it.
OPENVINO_BF16: Final = "openvino-bf16"
ENGINES: Final = (AUTO, TORCH, ONNX, OPENVINO, OPENVINO_BF16)
CPU: Final = "cpu"
ONNX_SUFFIX: Final = ".onnx"
