"""`map.html`: one file that shows the run on a map, with no network at all."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.base.classes import CLASS_COLOURS, CLASSES, CORAL, DEPLOY, NO_DEPLOY
from reseed.base.errors import ReseedError
from reseed.base.files import write_text
from reseed.base.grid import Grid
from reseed.engines.facts import RENDERED
from reseed.infer.geotags import GAP_M, by_sequence
from reseed.infer.tables import THUMBNAIL_COLUMNS, THUMBNAILS_FILE, FrameRow, read_lines, writing

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


def thumbnail_jpeg(images: NDArray[np.uint8], grid: Grid) -> bytes:
    """Return a JPEG of the whole frame, patch borders at even distances as the grid that is drawn on it has them.

    Single pixels are taken, in the middle of what each stands for: nobody sees the difference to an average at this
    size, which would take four times as long (5 ms, a twentieth of the whole frame).

    Args:
        images: (rows * cols, S, S, 3) uint8, row by row.
        grid: Rows and columns.
    """
    edge_px = images.shape[1]
    small_px = max(1, min(edge_px, _WIDTH_PX // grid.cols))
    taken = (2 * np.arange(small_px) + 1) * edge_px // (2 * small_px)
    tiles = images[:, taken[:, None], taken].reshape(grid.rows, grid.cols, small_px, small_px, 3).swapaxes(1, 2)
    whole = np.ascontiguousarray(tiles.reshape(grid.rows * small_px, grid.cols * small_px, 3))
    return bytes(simplejpeg.encode_jpeg(whole, quality=_QUALITY, colorspace="RGB", colorsubsampling="420"))


# A browser opens a page of this size at once; above it some frames go without a thumbnail.
THUMBNAILS_BYTES: Final = 32 << 20
# Also where the frames themselves are real.
RENDERED_NOTICE: Final = f"network trained on {RENDERED}"

_ASSETS: Final = Path(__file__).with_name("map")
_SCRIPTS: Final = ("page", "frame", "strips", "map")
_MARK = re.compile(r"\{\{(\w+)\}\}")
# Whatever a file name holds, it cannot end the block of data or start markup.
_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True)
class Story:
    """What the page says beside the frames.

    Args:
        title: Heading.
        alone: Name of the sequence of frames that lie in no folder below the common one.
        alpha: Decimal text.
        model: One line about the network.
        remarks: What is missing, sentence by sentence.
        trained_on_rendered: Whether the network is known to have been trained on rendered frames.
    """

    title: str
    alone: str
    alpha: str
    model: str
    remarks: tuple[str, ...]
    trained_on_rendered: bool = False


def write_map(
    out: Path, path: Path, story: Story, rows: Sequence[FrameRow], classes: Mapping[str, str], gold: Mapping[str, str]
) -> int:
    """Write the page.

    Args:
        out: Folder of the run, for the thumbnails.
        path: The page.
        story: Title and remarks.
        rows: Frames in the order of capture.
        classes: Class digits of the patches by frame.
        gold: Reference decision by frame.

    Returns:
        n: every n-th frame has a thumbnail.

    Raises:
        TableError: If a table is damaged or the page cannot be written.
    """
    every = _thinned(out)
    thumbnails = {
        cells["frame"]: cells["jpeg_base64"]
        for number, cells in enumerate(read_lines(out / THUMBNAILS_FILE, THUMBNAIL_COLUMNS))
        if number % every == 0
    }
    with writing(path):
        write_text(path, page(story, rows, classes, gold, thumbnails, every))
    return every


def page(
    story: Story,
    rows: Sequence[FrameRow],
    classes: Mapping[str, str],
    gold: Mapping[str, str],
    thumbnails: Mapping[str, str],
    every: int = 1,
) -> str:
    """Return the page as HTML; arguments as `write_map`, thumbnails as base64 by frame."""
    leaflet = read_leaflet()
    script = _script()
    data = page_data(story, rows, classes, gold, thumbnails, every)
    filled = {
        "title": html.escape(story.title),
        "policy": policy(leaflet.script, script),
        "leaflet_style": leaflet.style,
        "style": (_ASSETS / "map.css").read_text(encoding="utf-8"),
        "data": in_script(json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))),
        "leaflet_script": leaflet.script,
        "script": script,
    }
    return _MARK.sub(lambda found: filled[found[1]], (_ASSETS / "map.html").read_text(encoding="utf-8"))


def page_data(
    story: Story,
    rows: Sequence[FrameRow],
    classes: Mapping[str, str],
    gold: Mapping[str, str],
    thumbnails: Mapping[str, str],
    every: int,
) -> dict[str, Any]:
    """Return what the script of the page reads; keys are short because they repeat for each frame."""
    shift = _shift_deg(rows)
    known = [row for row in rows if row.frame in gold]
    notices = [SYNTHETIC_NOTICE] * any(row.synthetic for row in rows) + [RENDERED_NOTICE] * story.trained_on_rendered
    return {
        "title": story.title,
        "notice": "; ".join(notices),
        "alpha": story.alpha,
        "gap": GAP_M,
        "model": story.model,
        "remarks": [*story.remarks, *([f"Thumbnails of one frame in {every}, to keep the page small."] * (every > 1))],
        "classes": [{"name": name, "colour": CLASS_COLOURS[name]} for name in CLASSES],
        "colours": {
            "deploy": CLASS_COLOURS[DEPLOY],
            "noDeploy": CLASS_COLOURS[NO_DEPLOY],
            "coral": CLASS_COLOURS[CORAL],
        },
        "nFrames": len(rows),
        "nDeploy": sum(row.decision == DEPLOY for row in rows),
        "gold": {"known": len(known), "same": sum(row.decision == gold[row.frame] for row in known)},
        "sequences": [
            {
                "name": name,
                "frames": [_frame(row, shift, classes, gold, thumbnails) for row in members],
            }
            for name, members in by_sequence(rows, story.alone).items()
        ],
    }


def _frame(
    row: FrameRow, shift: float, classes: Mapping[str, str], gold: Mapping[str, str], thumbnails: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "name": row.frame,
        "time": row.captured_at,
        "at": None if row.place is None else [row.place[0], row.place[1] + (shift if row.place[1] < 0 else 0)],
        "lon": None if row.place is None else row.place[1],
        "depth": row.water_depth_m,
        "rows": row.rows,
        "cols": row.cols,
        "patches": classes.get(row.frame, ""),
        "deploy": row.deploy_count,
        "coral": row.coral_count,
        "yes": row.decision == DEPLOY,
        "gold": None if row.frame not in gold else gold[row.frame] == DEPLOY,
        "jpeg": thumbnails.get(row.frame),
        "ms": row.latency_ms,
    }


def _script() -> str:
    """Return the script of the page, which leaves nothing behind in the browser but `reseed`."""
    parts = [(_ASSETS / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def _shift_deg(rows: Sequence[FrameRow]) -> float:
    """Return what to add to western longitudes so that a survey across the antimeridian lies in one piece."""
    longitudes = [row.place[1] for row in rows if row.place is not None]
    return 360.0 if longitudes and max(longitudes) - min(longitudes) > 180 else 0.0


def in_script(text: str) -> str:
    """Return JSON that can neither end the block of data it stands in nor start markup."""
    return re.sub("[<>&\u2028\u2029]", lambda found: _ESCAPES[found[0]], text)


def policy(*scripts: str) -> str:
    """Return a content security policy: these scripts and pictures inside the page, and nothing from anywhere."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:"


def _thinned(out: Path) -> int:
    path = out / THUMBNAILS_FILE
    return max(1, -(-(path.stat().st_size if path.is_file() else 0) // THUMBNAILS_BYTES))
