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
    flips: Literal[1, 2, 4] = Field(
        description="1: patches as they are; 2 or 4: the mean over them and their mirror images"
    )
    numerics: Literal["portable", "native"] = Field(
        description="portable: the same bytes on any x86 processor, so engine auto is torch; native: as fast as it goes"
    )
    calibrate: Literal["none", "temperature"] = Field(
        description="temperature: probabilities softened or sharpened by one number fitted on validation patches"
    )
