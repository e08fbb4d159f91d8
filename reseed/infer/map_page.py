"""`map.html`: one file that shows the run on a map, with no network at all."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.base.classes import ASK, ASK_COLOUR, CLASS_COLOURS, CLASSES, CORAL, DEPLOY, NO_DEPLOY
from reseed.base.files import write_text
from reseed.engines.facts import RENDERED
from reseed.infer.geotags import GAP_M, by_sequence
from reseed.infer.tables import THUMBNAIL_COLUMNS, THUMBNAILS_FILE, FrameRow, read_lines, writing
from reseed.pages.parts import in_script, policy, read_leaflet

# A browser opens a page of this size at once; above it some frames go without a thumbnail.
THUMBNAILS_BYTES: Final = 32 << 20
# Also where the frames themselves are real.
RENDERED_NOTICE: Final = f"network trained on {RENDERED}"

_ASSETS: Final = Path(__file__).with_name("map")
_SCRIPTS: Final = ("page", "frame", "strips", "map")
_MARK = re.compile(r"\{\{(\w+)\}\}")


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
        reload_s: A browser loads the page again after so many seconds, while the run goes on; 0: never.
    """

    title: str
    alone: str
    alpha: str
    model: str
    remarks: tuple[str, ...]
    trained_on_rendered: bool = False
    reload_s: int = 0


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
        "reload": f'<meta http-equiv="refresh" content="{story.reload_s}">' if story.reload_s else "",
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
    known = [row for row in rows if row.frame in gold and row.decision != ASK]
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
            "ask": ASK_COLOUR,
        },
        "nFrames": len(rows),
        "nDeploy": sum(row.decision == DEPLOY for row in rows),
        "nAsk": sum(row.decision == ASK for row in rows),
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
        "ask": row.ask_reason or None,
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


def _thinned(out: Path) -> int:
    path = out / THUMBNAILS_FILE
    return max(1, -(-(path.stat().st_size if path.is_file() else 0) // THUMBNAILS_BYTES))
