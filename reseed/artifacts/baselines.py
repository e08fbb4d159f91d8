"""`data/predictions/baselines.csv` and `conditions.csv`: what simpler answers say, and each frame's light."""

from typing import Final

from reseed.artifacts.table import Column, Table

# Names of the baselines, and what each is called for people.
BASELINES: Final = {
    "largest_class": "largest class",
    "no_deploy": "always No-Deploy",
    "mean_colour": "mean colour",
    "whole_image": "whole image",
}

BASELINE_PREDICTIONS = Table(
    columns=(
        Column("baseline", "text", "largest_class, no_deploy, mean_colour or whole_image"),
        Column("kind", "text", "patch or frame: what is answered"),
        Column("item", "text", "patch_id or frame_id, of val and test only"),
        Column("predicted", "text", "class of the patch, or decision of the frame"),
    ),
    key=("baseline", "kind", "item"),
)

CONDITIONS = Table(
    columns=(
        Column("frame_id", "text", "frame"),
        Column("contrast", "float", "standard deviation of luma over the frame, share of full scale, 0-0.5"),
        Column("blue_red_ratio", "float", "mean blue over mean red: water takes red first; empty without any red"),
    ),
    key=("frame_id",),
)
