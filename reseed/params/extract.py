"""Section `extract`: how frames become patches."""

from pydantic import Field

from reseed.params.load import Section


class ExtractParams(Section):
    """Section `extract`."""

    patch_size: int = Field(ge=8, description="target edge of a patch in stored pixels, at least 8")
    input_size: int = Field(ge=32, le=1024, description="edge of a patch as the network sees it, 32 to 1024 px")
    min_purity: float = Field(ge=0, le=1, description="0 to 1: below it a patch gets no label")
