"""Parameters of the demo reef (`demo.*`): how much of it there is and how its two annotators err."""

from pydantic import Field

from reseed.params.load import Section


class DemoParams(Section):
    """The procedural survey that stands in for real frames; every pixel and every label of it is synthetic."""

    seed: int = Field(ge=0, le=2**32 - 1, description="Seed of the reef and of its annotators; another reef per seed.")
    sites: int = Field(ge=1, le=26, description="Number of sites, each with its own water, light and substrates.")
    sequences_per_site: int = Field(ge=1, le=9, description="Number of towed sequences at each site.")
    frames_per_sequence: int = Field(
        ge=1, le=100, description="Delivered frames of each sequence; more frames leave the earlier ones as they are."
    )
    width_px: int = Field(ge=112, le=5312, description="Frame width in pixels; 1328 is a quarter of a ReefScan frame.")
    height_px: int = Field(
        ge=64, le=3040, description="Frame height in pixels; the seafloor is drawn to this scale (reference: 760)."
    )
    jpeg_quality: int = Field(ge=50, le=100, description="JPEG quality of the frames, in Pillow's units.")
    deploy_frame_share: float = Field(
        ge=0.0,
        le=1.0,
        description="Share of the frames of each sequence that show abundant rock, spread evenly along the track.",
    )
    frame_alpha: float = Field(
        ge=0.0,
        le=1.0,
        description="The annotators call a frame Deploy when more than this share of its 7 x 4 tiles is Deploy.",
    )
    annotation_px: int = Field(
        ge=8, le=1024, description="Target edge in pixels of the annotators' rectangles, independent of the patch size."
    )
    rectangle_error_a: float = Field(
        ge=0.0, le=0.5, description="Share of rectangles that annotator A labels wrongly, mostly at boundaries."
    )
    rectangle_error_b: float = Field(
        ge=0.0, le=0.5, description="Share of rectangles that annotator B labels wrongly, mostly at boundaries."
    )
    frame_error_a: float = Field(
        ge=0.0,
        le=0.5,
        description="Chance that annotator A misjudges a frame right at frame_alpha; clearer ones less.",
    )
    frame_error_b: float = Field(
        ge=0.0,
        le=0.5,
        description="Chance that annotator B misjudges a frame right at frame_alpha; clearer ones less.",
    )
