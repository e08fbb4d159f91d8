"""Examining every image of a source: each is read and decoded in full once, and all that is kept of it is small."""

import hashlib
import warnings
from dataclasses import dataclass

from reseed.base.errors import ImageError
from reseed.base.parallel import ordered_map
from reseed.sources.inventory import Inventory
from reseed.survey.geotag import Facts, read_exif
from reseed.survey.imagery import decode_bytes, read_image_file


@dataclass(frozen=True)
class ImageFacts:
    """What is kept of a usable image.

    Args:
        width_px: Stored width.
        height_px: Stored height.
        sha256: Digest of the file, 64 hex digits.
        exif: What its EXIF block says.
    """

    width_px: int
    height_px: int
    sha256: str
    exif: Facts


@dataclass(frozen=True)
class Images:
    """The images of one source, by POSIX path below the source, sorted bytewise; each in exactly one of the two groups.

    Args:
        usable: Those that decode in full.
        quarantined: Those that do not, with reason and detail.
    """

    usable: dict[str, ImageFacts]
    quarantined: dict[str, ImageError]


def examine_images(inventory: Inventory, max_pixels: int) -> Images:
    """Decode every image of a source, several at a time, with a progress bar on a terminal.

    Args:
        inventory: The files of the source.
        max_pixels: An image that declares more is quarantined without being decoded.
    """

    def examine(path: str) -> ImageFacts | ImageError:
        try:
            data = read_image_file(inventory.root / path)
            height, width, _ = decode_bytes(data, max_pixels).shape
        except ImageError as error:
            return ImageError(error.reason, error.detail)  # the one caught keeps its traceback, and with it the picture
        return ImageFacts(width, height, hashlib.sha256(data).hexdigest(), read_exif(data))

    with warnings.catch_warnings():
        # Pillow warns of broken metadata; what cannot be read of it is missing, and is counted. The filter is set here,
        # around all threads, because it holds for the whole process.
        warnings.filterwarnings("ignore", module=r"PIL\.")
        results = list(
            ordered_map(
                examine, inventory.images, total=len(inventory.images), unit="image", what=f"decode {inventory.source}"
            )
        )
    pairs = list(zip(inventory.images, results, strict=True))
    return Images(
        {path: result for path, result in pairs if isinstance(result, ImageFacts)},
        {path: result for path, result in pairs if isinstance(result, ImageError)},
    )
