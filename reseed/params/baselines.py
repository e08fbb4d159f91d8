"""Section `baselines`: what simpler answers the network is compared with."""

from pydantic import Field

from reseed.params.load import Section


class BaselinesParams(Section):
    """Section `baselines`."""

    image: bool = Field(
        description="true or false: whether a network of section train is also trained on whole resized frames"
    )
    frame_px: int = Field(ge=32, le=2048, description="image: width of the resized frame, 32 to 2048 px")
