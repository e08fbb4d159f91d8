"""`data/catalog/frames.csv`: every usable frame, where and when it was taken."""

from reseed.artifacts.table import Column, Table

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
