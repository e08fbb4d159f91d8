"""Tables of data/catalog: the usable frames (`frames.csv`), and what each annotator answered (`annotations.csv`)."""

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


FRAMES = Table(
    columns=(
        Column("frame_id", "text", "POSIX path below data/raw, extension kept"),
        Column("source", "text", "name of the entry in pull.sources"),
        Column("site", "text", "reef site"),
        Column("sequence", "text", "one tow or drop: frames that follow each other"),
        Column("width_px", "int", "stored width"),
        Column("height_px", "int", "stored height"),
        Column("captured_at", "text", "ISO 8601, UTC; empty if unknown"),
        Column("latitude_deg", "float", "WGS 84, south negative; empty if unknown"),
        Column("longitude_deg", "float", "WGS 84, west negative; empty if unknown"),
        Column("water_depth_m", "float", "surface to seabed"),
        Column("altitude_m", "float", "camera to seabed"),
        Column("sha256", "text", "digest of the image file"),
        Column("synthetic", "int", "1 if rendered by the demo, else 0"),
        Column("given_split", "text", "train, val or test if the data brings it, else empty"),
    ),
    key=("frame_id",),
)


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


QUARANTINE = Table(
    columns=(
        Column("path", "text", "POSIX path below data/raw"),
        Column("reason", "text", "code such as truncated, not_an_image, too_many_pixels"),
        Column("detail", "text", "what was found"),
    ),
    key=("path",),
)
