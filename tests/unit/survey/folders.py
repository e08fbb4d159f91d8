"""Examining and reading small sources in tests of the layouts."""

from pathlib import Path

from reseed.sources.inventory import take_inventory
from reseed.survey.images import examine_images
from reseed.survey.layouts.detect import LAYOUTS, Recognised, recognise
from reseed.survey.layouts.reading import Reading
from tests.unit.survey.surveys import catalog_params, encoded, picture


def put(root: Path, path: str, seed: int = 0, width: int = 16, height: int = 12) -> None:
    """Write a picture of its own for each seed; the suffix says the format."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    kind = {".png": "PNG", ".jpg": "JPEG", ".bmp": "BMP", ".tif": "TIFF"}[file.suffix]
    file.write_bytes(encoded(picture(seed, width, height), kind))


def read(root: Path, layout: str, **params: object) -> Reading:
    inventory = take_inventory("src", root)
    return LAYOUTS[layout](inventory, examine_images(inventory, 1_000_000), catalog_params(**params))


def recognised(root: Path, **params: object) -> Recognised:
    return recognise(take_inventory("src", root), "auto", catalog_params(**params))
