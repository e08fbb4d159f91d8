"""Stage catalog: what is in the data, and what of it is unusable?"""

import sys
from pathlib import Path

from reseed.artifacts.annotations import ANNOTATIONS, FRAME_LABELS
from reseed.artifacts.frames import FRAMES, PIECES, QUARANTINE
from reseed.artifacts.raw import read_raw
from reseed.base.files import write_bytes, write_json
from reseed.figures.contact_sheet import survey_sheet
from reseed.figures.style import png_bytes
from reseed.params.catalog import CatalogParams
from reseed.params.load import load_section
from reseed.survey.catalog import build_catalog, summary
from stages.runner import run_stage, wants_pictures


def main(argv: list[str] | None = None) -> None:
    """Decode every image once, read every table, and write what is there."""
    pictures_wanted = wants_pictures(__doc__, argv)
    params = load_section(Path("params.yaml"), "catalog", CatalogParams)
    catalog = build_catalog(read_raw(Path("data/raw.json")), Path("data/raw"), params)
    out = Path("data/catalog")
    FRAMES.write(catalog.frames, out / "frames.csv")
    PIECES.write(catalog.pieces, out / "pieces.csv")
    ANNOTATIONS.write(catalog.annotations, out / "annotations.csv")
    FRAME_LABELS.write(catalog.frame_labels, out / "frame_labels.csv")
    QUARANTINE.write(catalog.quarantine, out / "quarantine.csv")
    write_json(out / "counts.json", catalog.counts)
    if pictures_wanted:
        sheet = survey_sheet(catalog.frames, catalog.pieces, Path("data/raw"))
        write_bytes(Path("plots/contact_sheet.png"), png_bytes(sheet))
    sys.stdout.write(summary(catalog.counts))


if __name__ == "__main__":
    run_stage(main)
