"""`models/training.csv`: how training went, epoch by epoch."""

from reseed.artifacts.table import Column, Table

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
