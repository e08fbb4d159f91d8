"""`data/catalog/splits.csv`: which frame is in train, val or test."""

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
