"""Tables of data/predictions: the answers of the network and of simpler rules, and the light in each frame."""

from typing import Final

from reseed.artifacts.table import Column, Table
from reseed.base.appearance import STATISTICS

PATCH_PREDICTIONS = Table(
    columns=(
        Column("patch_id", "text", "patch"),
        Column("frame_id", "text", "frame the patch is cut from"),
        Column("split", "text", "train, val, test or none"),
        Column("gold", "text", "reference class; empty if the patch has no label"),
        Column("p_no_deploy", "float", "softmax probability of No-Deploy, 0-1"),
        Column("p_coral", "float", "softmax probability of Coral, 0-1"),
        Column("p_deploy", "float", "softmax probability of Deploy, 0-1"),
        Column("predicted", "text", "class of the highest probability, ties to the lower class index"),
    ),
    key=("patch_id",),
)

REPEAT_PREDICTIONS = Table(
    columns=(
        Column("repeat", "int", "which training of the recipe, from 1; the first of all, 0, is patches.csv"),
        Column("patch_id", "text", "patch, one of patches.csv"),
        Column("p_no_deploy", "float", "softmax probability of No-Deploy, 0-1"),
        Column("p_coral", "float", "softmax probability of Coral, 0-1"),
        Column("p_deploy", "float", "softmax probability of Deploy, 0-1"),
        Column("predicted", "text", "class of the highest probability, ties to the lower class index"),
    ),
    key=("repeat", "patch_id"),
)

FRAME_PREDICTIONS = Table(
    columns=(
        Column("frame_id", "text", "frame"),
        Column("split", "text", "train, val, test or none"),
        Column("n_patches", "int", "patches of the frame"),
        Column("deploy_count", "int", "patches predicted Deploy"),
        Column("coral_count", "int", "patches predicted Coral"),
        Column("deploy_ratio", "float", "deploy_count / n_patches, for people; decisions use the counts"),
        Column("coral_cover", "float", "coral_count / n_patches"),
        Column("decision", "text", "Deploy or No-Deploy, by aggregate.rule"),
        Column("gold", "text", "reference decision; empty if the frame has no label"),
        Column("alpha", "float", "threshold used"),
        Column("rule", "text", "ratio or logistic: which of the next two columns is the decision"),
        Column(
            "familiarity",
            "float",
            "p-value of its looks among train and val, 0-1; empty with aggregate.ask none",
        ),
        Column("ask", "text", "why a person should look at it instead; empty for most"),
        Column("ratio_decision", "text", "Deploy if deploy_count / n_patches > alpha, else No-Deploy"),
        Column("logistic_decision", "text", "by the rule fitted on validation frames; empty if it cannot be fitted"),
    ),
    key=("frame_id",),
)

REPEAT_DECISIONS = Table(
    columns=(
        Column("repeat", "int", "which training of the recipe, from 1; the first of all, 0, is frames.csv"),
        Column("frame_id", "text", "frame, one of frames.csv"),
        Column("deploy_count", "int", "patches that this training predicts to be Deploy"),
        Column("coral_count", "int", "patches that it predicts to be Coral"),
        Column("decision", "text", "Deploy or No-Deploy, by aggregate.rule"),
        Column("alpha", "float", "threshold used: with aggregate.alpha auto the best for this training"),
    ),
    key=("repeat", "frame_id"),
)


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
        *(Column(name, "float", f"what the frame looks like: {meaning}") for name, meaning, *_ in STATISTICS),
    ),
    key=("frame_id",),
)
