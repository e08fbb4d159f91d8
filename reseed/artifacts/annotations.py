"""`data/catalog/annotations.csv` and `frame_labels.csv`: what each annotator said."""

from typing import Final

from reseed.artifacts.table import Column, Table

# Column `kind`: how near the label is to what somebody saw there.
GRID: Final = "grid"
RECT: Final = "rect"
POINT: Final = "point"
WEAK: Final = "weak"
MACHINE: Final = "machine"
FRAME: Final = "frame"

ANNOTATIONS = Table(
    columns=(
        Column("frame_id", "text", "frame that the rectangle is on"),
        Column("annotator", "text", "who labelled it"),
        Column("x0", "int", "left edge, stored-pixel coordinates (px)"),
        Column("y0", "int", "top edge (px)"),
        Column("x1", "int", "right edge, exclusive (px)"),
        Column("y1", "int", "bottom edge, exclusive (px)"),
        Column("label", "text", "No-Deploy, Coral or Deploy"),
        Column("kind", "text", "grid, rect, point (1 x 1 px), weak (inherited from the frame) or machine"),
        Column("source_label", "text", "the label as the file has it"),
        Column("gold", "int", "1 if this annotator is the reference (catalog.annotator)"),
    ),
    key=("frame_id", "annotator", "x0", "y0", "x1", "y1"),
)

FRAME_LABELS = Table(
    columns=(
        Column("frame_id", "text", "frame"),
        Column("annotator", "text", "who labelled it"),
        Column("label", "text", "Deploy or No-Deploy"),
        Column("kind", "text", "frame, or machine: no person confirmed it (catalog.machine_labels)"),
        Column("gold", "int", "1 if this annotator is the reference (catalog.annotator)"),
    ),
    key=("frame_id", "annotator"),
)
