"""Leaflet, the map library, from the installed package XStatic-Leaflet; map.html carries it inside."""

import base64
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from reseed.base.errors import ReseedError

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
