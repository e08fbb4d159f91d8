"""The frames that speeds are measured on: real ones where there are some, else the demo reef at their size."""

import os
from pathlib import Path

from reseed.demo.survey import render_survey
from reseed.params.demo import DemoParams
from reseed.params.load import load_section

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[1]
WIDTH_PX, HEIGHT_PX = 5312, 3040


def full_size_frames() -> tuple[str, list[Path]]:
    """Return what the frames are and their paths; the demo is rendered once and kept in `benchmarks/results/frames`."""
    field = os.environ.get("RESEED_FIELD_DATA")
    if field and (Path(field) / "reefscan").is_dir():
        return "real ReefScan frames, 5312 x 3040 px", sorted((Path(field) / "reefscan").rglob("*.jpg"))
    folder = RESULTS / "frames"
    if not list(folder.rglob("*.jpg")):
        demo = load_section(ROOT / "params.yaml", "demo", DemoParams)
        size = {"sites": 4, "sequences_per_site": 1, "width_px": WIDTH_PX, "height_px": HEIGHT_PX}
        render_survey(demo.model_copy(update=size), folder)
    return "rendered demo frames, 5312 x 3040 px", sorted(folder.rglob("*.jpg"))


def repeated(frames: list[Path], number: int, folder: Path) -> list[Path]:
    """Return `number` paths in `folder` that lead to the frames, in turn, so that a few stand for many."""
    folder.mkdir(parents=True, exist_ok=True)
    links = [folder / f"{at:05d}_{frames[at % len(frames)].stem}.jpg" for at in range(number)]
    for at, link in enumerate(links):
        if not link.exists():
            link.symlink_to(frames[at % len(frames)].resolve())
    return links
