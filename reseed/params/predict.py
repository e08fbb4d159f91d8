"""Section `predict`: how the network is run over every patch."""

from typing import Literal

from pydantic import Field

from reseed.params.load import Section


class PredictParams(Section):
    """Section `predict`."""

    batch_size: int = Field(ge=1, le=4096, description="patches per step, 1 to 4096; bounds the memory used")
    engine: Literal["auto", "torch", "onnx", "openvino"] = Field(
        description="what runs the network; auto: onnx on the CPU, else torch; openvino needs requirements-extras.txt"
    )
    threads: int = Field(ge=1, le=256, description="CPU threads, 1 to 256; the last decimals depend on it")
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(description="auto: cuda, else mps, else cpu")
    calibrate: Literal["none", "temperature"] = Field(
        description="temperature: probabilities softened or sharpened by one number fitted on validation patches"
    )
