"""Stage catalog: list every usable frame and every label, and what cannot be used and why."""

import sys
from pathlib import Path

from reseed.artifacts.catalog import ANNOTATIONS, FRAME_LABELS, FRAMES, PIECES, QUARANTINE
from reseed.artifacts.raw import read_raw
from reseed.base.files import write_bytes, write_json
from reseed.figures.contact_sheet import survey_sheet
from reseed.figures.style import png_bytes
from reseed.params.catalog import CatalogParams
from reseed.params.load import load_section
from reseed.sources.inventory import require_stored
from reseed.survey.catalog import build_catalog, summary
from stages.runner import parse_arguments, run_stage


def main(argv: list[str] | None = None) -> None:
    """Decode every image once, read every table, and write what is there."""
    arguments = parse_arguments(__doc__, argv, no_figures="write the tables, leave plots/contact_sheet.png as it is")
    params = load_section(Path("params.yaml"), "catalog", CatalogParams)
    sources = read_raw(Path("data/raw.json"))
    require_stored(sources)
    catalog = build_catalog(sources, Path("data/raw"), params)
    out = Path("data/catalog")
    FRAMES.write(catalog.frames, out / "frames.csv")
    PIECES.write(catalog.pieces, out / "pieces.csv")
    ANNOTATIONS.write(catalog.annotations, out / "annotations.csv")
    FRAME_LABELS.write(catalog.frame_labels, out / "frame_labels.csv")
    QUARANTINE.write(catalog.quarantine, out / "quarantine.csv")
    write_json(out / "counts.json", catalog.counts)
    if not arguments.no_figures:
        sheet = survey_sheet(catalog.frames, catalog.pieces, Path("data/raw"))
        write_bytes(Path("plots/contact_sheet.png"), png_bytes(sheet))
    sys.stdout.write(summary(catalog.counts))
    for remark in catalog.remarks:
        sys.stderr.write(f"catalog: {remark}\n")


if __name__ == "__main__":
    run_stage(main)
