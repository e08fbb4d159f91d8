"""What a model card says of every result of this project, whatever its scores."""

from typing import Final

WHAT: Final = (
    "A network calls each patch of a downward camera frame No-Deploy, Coral or Deploy; the frame is Deploy where the "
    "share of Deploy patches is above alpha. Method: Raine et al. 2025 (arXiv:2509.01019). Code: reseed, Apache-2.0."
)
RECORDED: Final = "All parameters stand in `params.yaml`, the digest of every input in `dvc.lock` of that revision."
USES: Final = (
    (
        "For: deciding, under the eyes of people who know the reef, where a vessel drops coral reseeding devices; and"
        " for comparing such classifiers."
    ),
    "Users: reef restoration and marine robotics teams.",
    (
        "Not for: another camera, height or reef than those below without scoring it there first; measuring coral "
        "cover or its change (the cover of a frame is a by-product); navigation; any use that no person can stop."
    ),
)
FACTORS: Final = (
    "Light, water and seabed differ from site to site, with depth, distance to the seabed, haze and the colour of the"
    " water. Evaluated: test sites {sites}, and quarters of the test frames by depth, altitude, contrast and blue-red"
    " ratio (`metrics/by_condition.csv`). Not evaluated: other cameras, other seasons, night."
)
METRICS: Final = (
    "Patch macro F1 leads: the plain mean of the F1 of the three classes, so that failure on the rare one shows. "
    "Frame scores judge the decisions: of the frames where a device would be dropped, how many deserve it "
    "(precision), and of those that deserve it, how many get one (recall). 95 % intervals: cluster bootstrap over "
    "whole groups of the split."
)
CEILING: Final = "Annotator {name}, scored like the network on {n:,} of these {items}: macro F1 {score}."
CEILING_MEANS: Final = "No score means much above what people agree on."
ETHICS: Final = (
    "A wrong Deploy drops a device on sand, algae or living coral: it wastes what was bred for it and can harm what "
    "lives there. A missed Deploy leaves a place without help. The two cost differently; `evaluate.cost_false_deploy`"
    " and `evaluate.cost_missed_deploy` say how much, and people who answer for the reef set them. Frames carry "
    "positions: those of rare or protected places may not be for everybody."
)
INTERVAL_LIMIT: Final = (
    "An interval speaks of other groups of the same kind: of no other kind of reef, no other camera and no other "
    "training run."
)
BEFORE_USE: Final = (
    "Before use elsewhere: label frames of that place by people, score them as a test split, choose alpha on others, "
    "and look at the surest mistakes (`plots/figures/`)."
)
