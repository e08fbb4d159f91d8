"""Section `catalog`: what counts as usable, and whose labels are the reference."""

from pydantic import Field

from reseed.params.load import Section


class CatalogParams(Section):
    """Section `catalog`."""

    annotator: str = Field(min_length=1, description="annotator whose labels are gold; auto: the only one there is")
    max_pixels: int = Field(ge=1, le=1_000_000_000, description="1 to 1e9: images that declare more are quarantined")
    strict: bool = Field(description="true or false: whether any quarantined image stops the run")
    max_quarantined_pct: float = Field(ge=0, le=100, description="0 to 100: a larger share of unusable images stops")
