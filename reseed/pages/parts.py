"""What every page is made of: the map library, pictures, data that cannot start markup, and a policy of no network."""

import base64
import hashlib
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from reseed.base.errors import ReseedError
from reseed.base.grid import Grid

_PACKAGE: Final = "XStatic-Leaflet"
_FOLDER: Final = "xstatic/pkg/leaflet/data"
_PICTURE = re.compile(r"url\((images/[\w-]+\.png)\)")


@dataclass(frozen=True)
class Leaflet:
    """The library, complete: nothing in it refers to a file.

    Args:
        script: JavaScript, with its copyright notice.
        style: CSS, its pictures inside.
    """

    script: str
    style: str


def read_leaflet() -> Leaflet:
    """Read the library.

    Raises:
        ReseedError: If the package is not installed.
    """
    try:
        # Its own import machinery is a namespace package of an old kind; only the files are wanted.
        folder = Path(str(distribution(_PACKAGE).locate_file(_FOLDER)))
        script = (folder / "leaflet.js").read_text(encoding="utf-8")
        style = _PICTURE.sub(lambda found: _inside(folder / found[1]), (folder / "leaflet.css").read_text("utf-8"))
    except (PackageNotFoundError, OSError) as error:
        raise ReseedError(
            f"map.html needs the package {_PACKAGE} ({error}); pip install -r requirements.txt"
        ) from error
    return Leaflet(re.sub(r"//# sourceMappingURL=.*", "", script), style)


def _inside(picture: Path) -> str:
    return f"url(data:image/png;base64,{base64.b64encode(picture.read_bytes()).decode('ascii')})"


_WIDTH_PX: Final = 336
_QUALITY: Final = 58


def thumbnail_jpeg(images: NDArray[np.uint8], grid: Grid, width_px: int = _WIDTH_PX) -> bytes:
    """Return a JPEG of the whole frame, patch borders at even distances as the grid that is drawn on it has them.

    Single pixels are taken, in the middle of what each stands for: nobody sees the difference to an average at this
    size, which would take four times as long (5 ms, a twentieth of the whole frame).

    Args:
        images: (rows * cols, S, S, 3) uint8, row by row.
        grid: Rows and columns.
        width_px: Of the picture, at most.
    """
    edge_px = images.shape[1]
    small_px = max(1, min(edge_px, width_px // grid.cols))
    taken = (2 * np.arange(small_px) + 1) * edge_px // (2 * small_px)
    tiles = images[:, taken[:, None], taken].reshape(grid.rows, grid.cols, small_px, small_px, 3).swapaxes(1, 2)
    return jpeg(tiles.reshape(grid.rows * small_px, grid.cols * small_px, 3))


def jpeg(image: NDArray[np.uint8]) -> bytes:
    """Return a small JPEG of an image, (H, W, 3) uint8 RGB."""
    whole = np.ascontiguousarray(image)
    return bytes(simplejpeg.encode_jpeg(whole, quality=_QUALITY, colorspace="RGB", colorsubsampling="420"))


# Whatever a file name holds, it cannot end the block of data or start markup.
_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def in_script(text: str) -> str:
    """Return JSON that can neither end the block of data it stands in nor start markup."""
    return re.sub("[<>&\u2028\u2029]", lambda found: _ESCAPES[found[0]], text)


def policy(*scripts: str) -> str:
    """Return a content security policy: these scripts and pictures inside the page, and nothing from anywhere."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:"
