"""`data/predictions/patches.csv`, `repeats.csv` and `frames.csv`: what the network says, and what would be done."""

from reseed.artifacts.table import Column, Table

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
