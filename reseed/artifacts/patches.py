"""Tables of the patches (`splits.csv`, `index.csv`, `labels.csv`) and of the training that learns from them."""

from typing import Final

from reseed.artifacts.table import Column, Table

TRAIN: Final = "train"
VAL: Final = "val"
TEST: Final = "test"
NONE: Final = "none"
SPLITS: Final = (TRAIN, VAL, TEST)

SPLITS_TABLE = Table(
    columns=(
        Column("frame_id", "text", "frame"),
        Column("group", "text", "site, sequence, block or frame that is never divided"),
        Column("split", "text", "train, val, test or none (guard frames)"),
    ),
    key=("frame_id",),
)


PATCH_INDEX = Table(
    columns=(
        Column("patch_id", "text", "<frame_id>#r003c005 on the grid, <frame_id>#y0671x0217 around a point"),
        Column("frame_id", "text", "frame the patch is cut from"),
        Column("row", "int", "grid row from the top; -1 around a point"),
        Column("col", "int", "grid column from the left; -1 around a point"),
        Column("x0", "int", "left edge, stored-pixel coordinates; negative where a point patch is padded (px)"),
        Column("y0", "int", "top edge (px)"),
        Column("x1", "int", "right edge, exclusive (px)"),
        Column("y1", "int", "bottom edge, exclusive (px)"),
    ),
    key=("patch_id",),
    sort=False,  # row i describes patches.npy[i]
)

PATCH_LABELS = Table(
    columns=(
        Column("patch_id", "text", "patch"),
        Column("annotator", "text", "who labelled it"),
        Column("label", "text", "class of most of the annotated area; empty below extract.min_purity"),
        Column("purity", "float", "share of the annotated area inside the patch that has that class, 0-1"),
        Column("kind", "text", "grid, rect, point, weak (inherited from the frame) or machine: nobody looked at it"),
        Column("gold", "int", "1 if this annotator is the reference (catalog.annotator)"),
    ),
    key=("patch_id", "annotator"),
)


TRAINING_CURVE = Table(
    columns=(
        Column("epoch", "int", "pass over the training patches, from 1"),
        Column("lr", "text", "learning rate used (text: 6 decimals would hide small ones)"),
        Column("train_loss", "float", "mean loss of the augmented training patches"),
        Column("val_loss", "float", "mean loss of the validation patches"),
        Column("val_macro_f1", "float", "validation patch macro F1 (percent)"),
        Column("val_accuracy", "float", "validation patch accuracy (percent)"),
    ),
    key=("epoch",),
)
