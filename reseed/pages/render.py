"""Pages from a template, plain JavaScript and data, complete in one file."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reseed.base.classes import CLASS_COLOURS, CLASSES
from reseed.pages.parts import Leaflet, in_script, policy
from reseed.score.registry import NOT_AVAILABLE

_ASSETS: Final = Path(__file__).with_name("report")


def html_page(
    template: str, scripts: Sequence[str], data: Mapping[str, Any], leaflet: Leaflet | None, **context: Any
) -> str:
    """Return a page for a browser from its template, scripts and data.

    Args:
        template: File below `report`; its values are escaped.
        scripts: Files below `report` without `.js`, in order; nothing of them is left in the browser but `reseed`.
        data: What the scripts read.
        leaflet: The map library, where the page has a map.
        **context: What the template shows; a name that is missing is an error.
    """
    environment = Environment(
        loader=FileSystemLoader(_ASSETS),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["percent"] = percent
    parts = [(_ASSETS / f"{name}.js").read_text(encoding="utf-8") for name in scripts]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    known = {"classes": [{"name": name, "colour": CLASS_COLOURS[name]} for name in CLASSES], **data}
    return environment.get_template(template).render(
        policy=policy(*([leaflet.script] if leaflet else []), script),
        leaflet=leaflet,
        style=(_ASSETS / "page.css").read_text(encoding="utf-8"),
        script=script,
        data=in_script(json.dumps(known, ensure_ascii=False, allow_nan=False, separators=(",", ":"))),
        colours={name.lower(): colour for name, colour in CLASS_COLOURS.items()},
        **context,
    )


def percent(value: float | str | None, decimals: int = 1) -> str:
    """Return percent as people read it; the word that stands for no score as it is."""
    if value is None or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN
        return NOT_AVAILABLE
    return value if isinstance(value, str) else f"{value:.{decimals}f} %"
