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
