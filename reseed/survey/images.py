"""Examining every image of a source: each is read and decoded in full once, and all that is kept of it is small."""

import hashlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PIL import Image

from reseed.base.errors import ImageError
from reseed.base.parallel import ordered_map
from reseed.sources.inventory import JPEG, PNG, Inventory
from reseed.survey.geotag import Facts, read_exif
from reseed.survey.imagery import decode_bytes, read_image_file

_HEAD_BYTES: Final = 1 << 17  # EXIF lies within the first 64 KiB of a JPEG


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
    return _examined(inventory, lambda path: _examine(inventory.root / path, max_pixels), "decode")


def glance_at_images(inventory: Inventory, max_pixels: int) -> Images:
    """Read the header of every image only: seconds where decoding takes minutes, but damage further inside is not seen.

    `sha256` is that of the beginning and the length: enough to tell copies of a picture.

    Args:
        inventory: The files of the source.
        max_pixels: As `examine_images`; an image whose header is not plain is decoded in full.
    """

    def glance(path: str) -> ImageFacts | ImageError:
        file = inventory.root / path
        try:
            with file.open("rb") as reader:
                head = reader.read(_HEAD_BYTES)
            with Image.open(io.BytesIO(head), formats=[JPEG, PNG]) as image:
                width, height = image.size
        except (OSError, ValueError, SyntaxError):  # whatever it is, the full look says what is wrong with it
            return _examine(file, max_pixels)
        if width * height > max_pixels:
            return _examine(file, max_pixels)
        digest = hashlib.sha256(head + str(file.stat().st_size).encode()).hexdigest()
        return ImageFacts(width, height, digest, read_exif(head))

    return _examined(inventory, glance, "look at")


def _examine(file: Path, max_pixels: int) -> ImageFacts | ImageError:
    try:
        data = read_image_file(file)
        height, width, _ = decode_bytes(data, max_pixels).shape
    except ImageError as error:
        return ImageError(error.reason, error.detail)  # the one caught keeps its traceback, and with it the picture
    return ImageFacts(width, height, hashlib.sha256(data).hexdigest(), read_exif(data))


def _examined(inventory: Inventory, examine: Callable[[str], ImageFacts | ImageError], doing: str) -> Images:
    with warnings.catch_warnings():
        # Pillow warns of broken metadata; what cannot be read of it is missing, and is counted. The filter is set here,
        # around all threads, because it holds for the whole process.
        warnings.filterwarnings("ignore", module=r"PIL\.")
        results = list(
            ordered_map(
                examine, inventory.images, total=len(inventory.images), unit="image", what=f"{doing} {inventory.source}"
            )
        )
    pairs = list(zip(inventory.images, results, strict=True))
    return Images(
        {path: result for path, result in pairs if isinstance(result, ImageFacts)},
        {path: result for path, result in pairs if isinstance(result, ImageError)},
    )
