"""`data/catalog/quarantine.csv`: every image that cannot be used, and why."""

from reseed.artifacts.table import Column, Table

QUARANTINE = Table(
    columns=(
        Column("path", "text", "POSIX path below data/raw"),
        Column("reason", "text", "code such as truncated, not_an_image, too_many_pixels"),
        Column("detail", "text", "what was found"),
    ),
    key=("path",),
)
