"""Decoding: the one function through which every reader gets its pixels.

Rules, the same everywhere:
- The format is told by content, never by extension. One decoder for each format: libjpeg-turbo for JPEG, Pillow for
  PNG, BMP and TIFF. The first picture of a file counts.
- Pixels come as stored: an EXIF orientation is ignored, because annotations are in stored-pixel coordinates.
- Whatever the mode, RGB comes out. Transparency is dropped; of 16 bits the upper eight are kept (scaled, not clipped).
- Fewer bits in a 16-bit file (10, 12 or 14, as industrial cameras have them) are scaled by their own range where the
  file says what it is (MaxSampleValue, BitsPerSample, sBIT), else refused: they would come out black.
- RAW files begin as TIFF, and what a TIFF reader finds in them is a thumbnail: they are refused as a format.
- A file that ends early or is damaged as far as its format can tell is an error, never a half-grey picture. A JPEG has
  no checksum: damage that still decodes without a complaint cannot be told from a strange picture.

- Whoever needs less than every pixel says how many: a JPEG is then decoded at the smallest eighth of its size that has
  as many, which saves the decoder work. The whole file is read, and refused if damaged, all the same.

Reasons (column `reason` of `quarantine.csv`): see `REASONS`.

The pixels of a frame also where it came as patches that somebody cut beforehand.
"""

import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import simplejpeg
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from reseed.base.errors import ImageError
from reseed.base.files import read_regular
from reseed.sources.inventory import BMP, HEAD_BYTES, JPEG, PNG, READABLE, TIFF, UNREAD_SUFFIXES, sniff_format

if TYPE_CHECKING:
    import pandas as pd  # a boat has no need of it

# Recorded with every packed patch and every model, so that a change of these rules is noticed.
DECODE_RULE: Final = (
    "stored pixels, orientation ignored, RGB, upper 8 of 16 bits, transparency dropped; "
    "JPEG frames at the smallest eighth of their size that covers the grid"
)

REASONS: Final = {
    "empty_file": "zero bytes long",
    "all_nul": "nothing but NUL bytes: the recorder lost power, or the copy failed",
    "unreadable": "the operating system does not let it be read, or it is no regular file, or above 1 GiB",
    "not_an_image": "the content is no image of any known format",
    "unsupported_format": "an image, but of a format that is not read: save it as JPEG, PNG, BMP or TIFF",
    "unsupported_mode": "pixel values without a known range, such as floating point",
    "unknown_bit_depth": "16-bit values that use the lower bits only: 10-, 12- or 14-bit data of unknown range",
    "too_many_pixels": "declares more pixels than catalog.max_pixels, or gives more as patches; not used",
    "truncated": "ends before the picture does",
    "corrupt": "damaged inside",
}

_JPEG_END: Final = b"\xff\xd9"
_PADDED: Final = "extraneous bytes before marker 0xd9"
_ORIENTATION_TAG: Final = 274
# What undoes each EXIF orientation. Pillow turns TIFF pictures by it on loading, and no other format.
_TURN_BACK: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
_DEEP_GRAY: Final = ("I;16", "I;16L", "I;16B")
_DEEP_BITS: Final = 16
_FEWER_BITS: Final = 14  # the most that a camera stores unscaled in 16
_NEW_SUBFILE_TYPE, _BITS_PER_SAMPLE, _MAX_SAMPLE_VALUE, _DNG_VERSION = 254, 258, 281, 50706

_EIGHTHS: Final = 8

# From the stored width and height of an image to the fewest pixels that the caller needs along each.
Need = Callable[[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Decoded:
    """An image, perhaps smaller than it is stored.

    Args:
        width_px: Stored width.
        height_px: Stored height.
        eighths: 8 if every stored pixel is there. Else 8 stored pixels along an edge became this many.
        pixels: (ceil(height_px * eighths / 8), ceil(width_px * eighths / 8), 3) uint8, RGB.
    """

    width_px: int
    height_px: int
    eighths: int
    pixels: NDArray[np.uint8]


# Pillow's own limit is process-wide and cannot follow a parameter; `decode_bytes` checks the declared pixels itself,
# and no other function decodes.
Image.MAX_IMAGE_PIXELS = None


def decode_rgb(path: Path, max_pixels: int) -> NDArray[np.uint8]:
    """Decode the image file at `path`.

    Args:
        path: Any JPEG, PNG, BMP or TIFF file, whatever its name.
        max_pixels: An image that declares more is not decoded.

    Returns:
        Stored pixels, (H, W, 3) uint8, RGB.

    Raises:
        ImageError: With one of `REASONS` if the file holds no whole image.
    """
    return decode_bytes(read_image_file(path), max_pixels)


def read_image_file(path: Path) -> bytes:
    """Return the content of an image file.

    Raises:
        ImageError: `unreadable` if the operating system refuses, or if it is no regular file or larger than memory;
            `unsupported_format` for RAW, HEIC and the like.
    """
    try:
        data = read_regular(path)
    except OSError as error:
        raise ImageError("unreadable", error.strerror or str(error)) from error
    except MemoryError as error:
        raise ImageError("unreadable", "larger than the memory that is free") from error
    suffix = path.suffix.casefold()
    plain = sniff_format(data[:HEAD_BYTES]) in (JPEG, PNG, BMP) or not data.strip(b"\0")
    if suffix in UNREAD_SUFFIXES and not plain:
        raise ImageError("unsupported_format", f"{suffix[1:].upper()}; read are {', '.join(READABLE)}")
    return data


def decode_bytes(data: bytes, max_pixels: int) -> NDArray[np.uint8]:
    """Decode the content of an image file; see `decode_rgb`."""
    return decode_at_least(data, max_pixels, lambda width_px, height_px: (width_px, height_px)).pixels


def decode_at_least(data: bytes, max_pixels: int, need: Need) -> Decoded:
    """Decode the content of an image file at the smallest size that is large enough.

    Args:
        data: Content of any JPEG, PNG, BMP or TIFF file. Only JPEG is ever decoded smaller than it is stored.
        max_pixels: An image that declares more is not decoded.
        need: Called with the stored width and height; returns the fewest pixels needed along each.

    Raises:
        ImageError: With one of `REASONS` if the file holds no whole image.
    """
    kind = _require_readable(data)
    if kind == JPEG:
        return _decode_jpeg(data, max_pixels, need)
    pixels = _decode_other(data, kind, max_pixels)
    return Decoded(pixels.shape[1], pixels.shape[0], _EIGHTHS, pixels)


def _require_readable(data: bytes) -> str:
    if not data:
        raise ImageError("empty_file", "0 bytes")
    if data[0] == 0 and not data.strip(b"\0"):
        raise ImageError("all_nul", f"{len(data)} NUL bytes")
    kind = sniff_format(data[:HEAD_BYTES])
    if kind is None:
        raise ImageError("not_an_image", f"{len(data)} bytes that start with {data[:8].hex(' ')}")
    if kind not in READABLE:
        raise ImageError("unsupported_format", f"{kind}; read are {', '.join(READABLE)}")
    return kind


def _require_pixels(width: int, height: int, max_pixels: int) -> None:
    if width < 1 or height < 1:
        raise ImageError("corrupt", f"declares {width} x {height} px")
    if width * height > max_pixels:
        raise ImageError("too_many_pixels", f"declares {width} x {height} px; catalog.max_pixels is {max_pixels}")


def _decode_jpeg(data: bytes, max_pixels: int, need: Need) -> Decoded:
    # simplejpeg gives the pixels Pillow gives (both are libjpeg-turbo) at about twice the speed, and in strict mode
    # makes an error of every warning, where Pillow returns what it got of a picture with damage inside.
    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(data, strict=True)
        _require_pixels(width, height, max_pixels)
        eighths = _eighths((width, height), need(width, height))
        # It takes the smallest scale that reaches both.
        least = {"min_width": -(-width * eighths // _EIGHTHS), "min_height": -(-height * eighths // _EIGHTHS)}
        if colours in ("CMYK", "YCCK"):
            ink = simplejpeg.decode_jpeg(data, colorspace="CMYK", strict=True, **least)
            # Adobe, and with it everyone, stores ink inverted.
            image = Image.frombytes("CMYK", (ink.shape[1], ink.shape[0]), ink.tobytes(), "raw", "CMYK;I")
            pixels = np.array(image.convert("RGB"))
        else:
            pixels = np.asarray(simplejpeg.decode_jpeg(data, colorspace="RGB", strict=True, **least), dtype=np.uint8)
    except (ValueError, RuntimeError, MemoryError) as error:
        detail = str(error) or type(error).__name__
        bare = _without_padding(data)
        if _PADDED in detail and len(bare) < len(data):
            return _decode_jpeg(bare, max_pixels, need)
        early = "premature end" in detail.casefold() or not data.rstrip(b"\0").endswith(_JPEG_END)
        raise ImageError("truncated" if early else "corrupt", detail) from error
    assert pixels.shape == (least["min_height"], least["min_width"], 3), (pixels.shape, least)
    return Decoded(width, height, eighths, pixels)


def _eighths(stored_px: tuple[int, int], needed_px: tuple[int, int]) -> int:
    """Return the fewest eighths, 1 to 8, of both stored edges that reach what is needed; 8 where even that does not."""
    fewest = max(-(-_EIGHTHS * needed // stored) for stored, needed in zip(stored_px, needed_px, strict=True))
    return min(max(fewest, 1), _EIGHTHS)


def _without_padding(data: bytes) -> bytes:
    """Return a JPEG without the NUL bytes that some recorders put before its end mark; they are no damage."""
    end = data.rfind(_JPEG_END)
    return data[:end].rstrip(b"\0") + _JPEG_END if end > 0 else data


def _decode_other(data: bytes, kind: str, max_pixels: int) -> NDArray[np.uint8]:
    if kind == TIFF:
        _require_tiff_directory(data)
    try:
        with Image.open(io.BytesIO(data), formats=[kind]) as image:
            _require_pixels(image.width, image.height, max_pixels)
            if kind == PNG:
                _require_whole_png(data)
            turned = image.getexif().get(_ORIENTATION_TAG, 1) if kind == TIFF else 1
            declared = _declared_range(image, data, kind)
            deep = _is_deep_colour(image)
            image.load()
            pixels = _to_rgb(image, _TURN_BACK.get(turned), declared)
            if deep:
                _require_upper_bits(int(pixels.max()) << 8)
            return pixels
    except ImageError:
        raise
    except Exception as error:  # Pillow raises nearly anything on a hostile file, also for want of memory
        if isinstance(error, UnidentifiedImageError):
            raise ImageError("corrupt", f"the header of this {kind} file does not hold together") from error
        early = "truncated" in str(error).casefold() or isinstance(error, EOFError)
        detail = f"{kind}: {error}" if str(error) else f"{kind}: {type(error).__name__}"
        raise ImageError("truncated" if early else "corrupt", detail) from error


def _declared_range(image: Image.Image, data: bytes, kind: str) -> int:
    """Return the largest value that a 16-bit picture may have by its own word; refuse a RAW file.

    Raises:
        ImageError: `unsupported_format` if the first picture of a TIFF is the thumbnail of another.
    """
    if kind == TIFF:
        tags = image.getexif()
        if _DNG_VERSION in tags or int(tags.get(_NEW_SUBFILE_TYPE, 0)) & 1:
            raise ImageError("unsupported_format", "RAW, whose first picture is a thumbnail; save it as JPEG or TIFF")
        # Pillow takes both tags for a single number or for one of each channel.
        top, bits = (np.atleast_1d(tags.get(tag, 0)) for tag in (_MAX_SAMPLE_VALUE, _BITS_PER_SAMPLE))
        return int(top[0]) or (1 << int(bits[0])) - 1
    at = data.find(b"sBIT", 0, data.find(b"IDAT")) if kind == PNG else -1
    return (1 << data[at + 4]) - 1 if at > 0 else 0


def _is_deep_colour(image: Image.Image) -> bool:
    """Whether a picture has several channels of 16 bits, of which Pillow gives the upper eight."""
    tiles = getattr(image, "tile", ())
    return any(f";{_DEEP_BITS}" in str(tile[3]) for tile in tiles) and image.mode not in _DEEP_GRAY


def _require_upper_bits(top: int) -> None:
    if 0 < top < 1 << _FEWER_BITS:
        raise ImageError(
            "unknown_bit_depth",
            f"no value of this 16-bit picture is above {top}: {top.bit_length()}-bit data, or very dark; save it with "
            "values over all 16 bits, or as gray TIFF with MaxSampleValue",
        )


def _to_rgb(image: Image.Image, turn_back: Image.Transpose | None, declared: int) -> NDArray[np.uint8]:
    if image.mode in _DEEP_GRAY:
        gray = np.asarray(image).astype(np.uint16)
        top = int(gray.max())
        if declared and top <= declared < 1 << (_DEEP_BITS - 1):
            gray = (gray.astype(np.uint32) * 255 // declared).astype(np.uint16)
        else:
            _require_upper_bits(top)
            gray >>= 8  # as Pillow does for the channels of a 16-bit RGB picture
        image = Image.fromarray(gray.astype(np.uint8))
    elif image.mode in ("I", "F", "LAB", "HSV"):
        raise ImageError("unsupported_mode", f"pixel mode {image.mode}")
    elif image.mode in ("P", "PA"):
        image = image.convert("RGBA")  # a palette may carry transparency, which is dropped next
    if turn_back is not None:
        image = image.transpose(turn_back)
    return np.array(image.convert("RGB"))


def _require_tiff_directory(data: bytes) -> None:
    """Check that the list of tags is there: it is often written last, and so is the first to be lost."""
    order = "<" if data.startswith(b"II") else ">"
    if len(data) >= 8:
        (at,) = struct.unpack_from(f"{order}I", data, 4)
        if at + 2 <= len(data) and at + 2 + 12 * struct.unpack_from(f"{order}H", data, at)[0] <= len(data):
            return
    raise ImageError("truncated", "TIFF ends before its list of tags does")


def _require_whole_png(data: bytes) -> None:
    """Check that the chunks run to the end mark and fit their checksums, which Pillow does not for pixel data."""
    at = 8
    while True:
        head = data[at : at + 8]
        if len(head) < 8:
            raise ImageError("truncated", "PNG without its end mark")
        length, name = struct.unpack(">I4s", head)
        end = at + 12 + length
        if end > len(data):
            raise ImageError("truncated", f"PNG ends inside its chunk {name!r}")
        if zlib.crc32(data[at + 4 : end - 4]) != struct.unpack_from(">I", data, end - 4)[0]:
            raise ImageError("corrupt", f"PNG chunk {name!r} does not fit its checksum")
        if name == b"IEND":
            return
        at = end


def pieces_of_frames(pieces: "pd.DataFrame") -> "dict[str, pd.DataFrame]":
    """Return the pieces of each frame that came in pieces, by frame_id, by row and column.

    Args:
        pieces: Table PIECES.
    """
    return {str(frame_id): part for frame_id, part in pieces.sort_values(["row", "col"]).groupby("frame_id")}


def frame_pixels(
    raw: Path,
    frame_id: str,
    pieces: "pd.DataFrame | None",
    width_px: int,
    height_px: int,
    least_px: int | None = None,
) -> NDArray[np.uint8]:
    """Decode a frame.

    Args:
        raw: Folder that frame ids are relative to.
        frame_id: Frame.
        pieces: Its rows of PIECES, None if it is one image.
        width_px: Its width by the catalog.
        height_px: Its height by the catalog.
        least_px: A height that is enough: a JPEG may then be decoded smaller, at an eighth to seven eighths.

    Returns:
        (height_px, width_px, 3) uint8, or smaller if `least_px` is given; black where a frame in pieces lacks one.

    Raises:
        ImageError: If an image cannot be decoded, or is larger than the catalog says.
    """
    if pieces is None and least_px is not None:
        data = read_image_file(raw / frame_id)
        return decode_at_least(data, width_px * height_px, lambda w, h: (-(-least_px * w // h), least_px)).pixels
    if pieces is None:
        return decode_rgb(raw / frame_id, max_pixels=width_px * height_px)
    frame = np.zeros((height_px, width_px, 3), np.uint8)
    for piece in pieces.to_dict("records"):
        x0, y0, x1, y1 = (int(piece[edge]) for edge in ("x0", "y0", "x1", "y1"))
        frame[y0:y1, x0:x1] = decode_rgb(raw / str(piece["path"]), max_pixels=(x1 - x0) * (y1 - y0))
    return frame
