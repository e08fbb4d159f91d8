"""Peak memory of the stages catalog and extract and of infer: it must not grow with the number of frames.

`python -m benchmarks.memory [frames ...]` writes surveys of 1328 x 760 px frames into a temporary folder, runs the
stages on each in a process of its own, and prints the peak of its resident memory. Exit code 1 if the largest survey
takes more than a tenth above the smallest.

`--full-size` takes 5312 x 3040 px frames instead, repeated by links, 20, 200 and 2,000 of them unless said otherwise
(11 GB of packed patches), for extract and for infer, and fails above 1.2 GB.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from reseed.artifacts.raw import RawSource, write_raw

WIDTH, HEIGHT = 1328, 760
ALLOWED_GROWTH = 1.10
STAGES = ("catalog", "extract")
MOST_MIB = 1200 * 10**6 / 2**20
FULL_SIZE = ("reseed_extract", "reseed_infer")
ROOT = Path(__file__).parents[1]

_PARAMS = """
catalog: {annotator: A, max_pixels: 100000000, strict: true, max_quarantined_pct: 0.0, on_conflict: error,
  label_map: label_map.yaml, unmapped: error, machine_labels: exclude, weak_labels: false, grid_rows: 4, grid_cols: 7}
extract: {patch_size: 200, input_size: 96, min_purity: 0.5}
"""
# The stage in a process of its own, which reports its own peak: in kilobytes on Linux.
_CHILD = """
import importlib, resource, sys
importlib.import_module(f"stages.{sys.argv[1]}").main([])
sys.stderr.write(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}")
"""


def write_survey(folder: Path, n_frames: int) -> None:
    """Write what the pull stage leaves: frames, their log and their annotations, four grids of 7 x 4 cells in turn."""
    sequence = folder / "data/raw/reef/seq"
    sequence.mkdir(parents=True)
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (HEIGHT // 8, WIDTH // 8, 3), dtype=np.uint8)
    picture = Image.fromarray(coarse.repeat(8, axis=0).repeat(8, axis=1))
    labels = ["frame,grid_rows,grid_cols,row,col,label,annotator"]
    log = ["filename_string,latitude,longitude"]
    for number in range(n_frames):
        name = f"20230315_{number // 60:04d}{number % 60:02d}_000_{number:04d}.jpg"
        picture.rotate(number).save(sequence / name, quality=90)
        log.append(f"{name},-9.5,143.75")
        for cell in range(28):
            label = ("No-Deploy", "Coral", "Deploy")[(number + cell) % 3]
            labels.append(f"seq/{name},4,7,{cell // 7},{cell % 7},{label},A")
    (sequence / "photo_log.csv").write_text("\n".join(log) + "\n")
    (sequence.parent / "annotations_A.csv").write_text("\n".join(labels) + "\n")
    source = RawSource("reef", "folder", "x", "survey", "0" * 64, 1, 1, "none", pinned=False, synthetic=True)
    write_raw([source], folder / "data/raw.json")
    (folder / "params.yaml").write_text(_PARAMS)


def peak_mib(folder: Path, stage: str) -> float:
    """Run one stage in `folder` and return the peak of its resident memory in MiB."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, stage],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stderr.rpartition("peak ")[2]) / 1024


def full_size(sizes: list[int]) -> int:
    """Measure extract and infer on frames of 5312 x 3040 px."""
    from benchmarks.bench import Bench  # noqa: PLC0415  # brings torch, which the small surveys do without
    from benchmarks.frames import full_size_frames  # noqa: PLC0415

    peaks: dict[str, list[float]] = {task: [] for task in FULL_SIZE}
    print(f"{'frames':>8}" + "".join(f"{task:>18}" for task in FULL_SIZE) + "   peak of resident memory, MiB")
    for n_frames in sizes:
        with tempfile.TemporaryDirectory() as name:
            bench = Bench(Path(name), full_size_frames()[1], 1, "auto")
            for task in FULL_SIZE:
                peaks[task].append(bench.run(task, n_frames)["peak_mib"])
        print(f"{n_frames:>8}" + "".join(f"{peaks[task][-1]:>18.0f}" for task in FULL_SIZE), flush=True)
    above = [task for task in FULL_SIZE if max(peaks[task]) > MOST_MIB]
    print(f"above {MOST_MIB:.0f} MiB: {', '.join(above) or 'nothing'}")
    _grown(peaks)  # the map of infer holds a thumbnail of every frame
    return 1 if above else 0


def _grown(peaks: dict[str, list[float]]) -> list[str]:
    grown = [name for name, of_name in peaks.items() if of_name[-1] > ALLOWED_GROWTH * of_name[0]]
    print(f"grows with the number of frames: {', '.join(grown) or 'nothing'}")
    return grown


def main(argv: list[str]) -> int:
    """Measure and print a table."""
    sizes = [int(text) for text in argv if text.isdecimal()]
    if "--full-size" in argv:
        return full_size(sizes or [20, 200, 2000])
    sizes = sizes or [20, 200]
    peaks: dict[str, list[float]] = {stage: [] for stage in STAGES}
    print(f"{'frames':>8}" + "".join(f"{stage:>12}" for stage in STAGES) + "   peak of resident memory, MiB")
    for n_frames in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for package in ("reseed", "stages"):  # a stage takes its code from the folder it runs in
                (folder / package).symlink_to(ROOT / package)
            write_survey(folder, n_frames)
            for stage in STAGES:
                peaks[stage].append(peak_mib(folder, stage))
        print(f"{n_frames:>8}" + "".join(f"{peaks[stage][-1]:>12.0f}" for stage in STAGES), flush=True)
    return 1 if _grown(peaks) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
