"""`data/catalog/pieces.csv`: the images of frames that came as patches cut beforehand."""

from reseed.artifacts.table import Column, Table

PIECES = Table(
    columns=(
        Column("frame_id", "text", "frame that the image is a patch of"),
        Column("row", "int", "grid row from the top"),
        Column("col", "int", "grid column from the left"),
        Column("x0", "int", "left edge on the frame, stored-pixel coordinates (px)"),
        Column("y0", "int", "top edge (px)"),
        Column("x1", "int", "right edge, exclusive (px)"),
        Column("y1", "int", "bottom edge, exclusive (px)"),
        Column("path", "text", "POSIX path of the image below data/raw"),
    ),
    key=("frame_id", "row", "col"),
)
