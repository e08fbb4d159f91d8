"""What `benchmarks.bench` times, each in a process of its own: `python -m benchmarks.tasks NAME JSON`.

The JSON gives cores, frames (paths) and model (folder); the answer is a line of JSON: seconds, items, peak_mib. Imports
and the opening of what a run needs once are not in the seconds; the whole process is timed from outside.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PATCH_SIZE_PX, INPUT_PX = 800, 256
MAX_PIXELS = 10**8
Work = Callable[[], int]


def published_infer(frames: Sequence[Path], _: dict[str, Any]) -> Work:
    """Decide frames by the published procedure."""
    from benchmarks import published

    net = published.network()
    return lambda: len(published.infer(frames, net))


def published_decode(frames: Sequence[Path], _: dict[str, Any]) -> Work:
    """Decode frames as the published procedure does."""
    from benchmarks import published

    return lambda: sum(1 for path in frames if published.decode(path))


def published_network(frames: Sequence[Path], _: dict[str, Any]) -> Work:
    """Run the published network on as many batches of 28."""
    import torch

    from benchmarks import published

    net, batch = published.network(), torch.rand(28, 3, INPUT_PX, INPUT_PX)

    def work() -> int:
        with torch.no_grad():
            return sum(len(net(batch)) > 0 for _ in frames)

    return work


def published_extract(frames: Sequence[Path], given: dict[str, Any]) -> Work:
    """Write the patches of frames as PNG."""
    from benchmarks import published

    out = Path(given["out"])
    return lambda: published.extract(frames, out, given.get("edge_px")) // 28


def published_train(frames: Sequence[Path], given: dict[str, Any]) -> Work:
    """Train for one epoch on such patches."""
    from benchmarks import published

    files = [Path(given["patches"]) / f"{path.stem}_{index}.png" for path in frames for index in range(28)]
    labels = [number % 3 for number in range(len(files))]
    net = published.network()
    published.train_epoch(files[:64], labels[:64], net)  # libraries prepare themselves for these shapes
    return lambda: published.train_epoch(files, labels, net)


def reseed_infer(frames: Sequence[Path], given: dict[str, Any]) -> Work:
    """Run `python -m reseed infer`, from opening the model to the finished map."""
    from reseed.cli import infer

    listed, out = Path(given["out"]) / "frames.txt", Path(given["out"]) / "run"
    listed.write_text("".join(f"{path}\n" for path in frames))
    parser = argparse.ArgumentParser()
    infer.add_arguments(parser)
    chosen = ["--model", given["model"], "--out", str(out), "--engine", given["engine"], "--alpha", "0.5"]
    args = parser.parse_args([str(listed), *chosen])

    def work() -> int:
        if infer.run(args) != 0:
            raise SystemExit("infer did not decide every frame")
        return len((out / "decisions.csv").read_text().splitlines()) - 1

    return work


def reseed_decode(frames: Sequence[Path], _: dict[str, Any]) -> Work:
    """Decode frames at the scale of the fast path, on all cores."""
    from reseed.survey.imagery import decode_at_least, read_image_file

    def decode(path: Path) -> int:
        needed = (7 * INPUT_PX, 4 * INPUT_PX)
        return decode_at_least(read_image_file(path), MAX_PIXELS, lambda *_: needed).eighths

    return lambda: len(in_threads(decode, frames))


def reseed_network(frames: Sequence[Path], given: dict[str, Any]) -> Work:
    """Run reseed's network on as many batches of 28, on all cores."""
    from reseed.engines.engine import open_engine
    from reseed.patches.resize import load_frame_patches

    engine = open_engine(Path(given["model"]), given["engine"], threads=1)
    images = load_frame_patches(frames[0], PATCH_SIZE_PX, INPUT_PX, MAX_PIXELS).images
    return lambda: len(in_threads(lambda _: engine.logits(images), frames))


def reseed_extract(frames: Sequence[Path], given: dict[str, Any]) -> Work:
    """Pack the patches of frames as stage extract does."""
    import pandas as pd

    from reseed.artifacts.catalog import ANNOTATIONS
    from reseed.params.extract import ExtractParams
    from reseed.patches.extract import cut, plan
    from reseed.patches.store import write_patches
    from reseed.survey.imagery import decode_rgb

    params = ExtractParams(patch_size=PATCH_SIZE_PX, input_size=INPUT_PX, min_purity=0.5)
    height, width, _ = decode_rgb(frames[0], MAX_PIXELS).shape
    table = pd.DataFrame({"frame_id": [str(path) for path in frames], "width_px": width, "height_px": height})
    planned = plan(table, ANNOTATIONS.frame([]), params)

    def work() -> int:
        blocks = cut(planned, Path("/"), PATCH_SIZE_PX, INPUT_PX)
        write_patches(Path(given["out"]) / "patches.npy", blocks, planned.n_patches, INPUT_PX)
        return len(planned.frames)

    return work


def reseed_train(frames: Sequence[Path], given: dict[str, Any]) -> Work:
    """Train for one epoch on packed patches as stage train does."""
    import numpy as np
    import torchvision  # noqa: F401  # imported here, so that its import is not timed

    from reseed.network.patch_set import open_images
    from reseed.network.training import fit
    from reseed.params.train import TrainParams, load_train_params

    params = load_train_params(Path("params.yaml"), TrainParams)
    changed = {"epochs": 1, "threads": given["cores"], "sampler": "none", "precision": given.get("precision", "auto")}
    params = params.model_copy(update=changed)
    images = open_images(Path(given["store"]), 28 * len(frames))
    labels = np.arange(len(images)) % 3
    rows, few = np.arange(len(images)), np.arange(28)
    fit(images, labels, rows[:64], few, params, {})  # libraries prepare themselves for these shapes

    def work() -> int:
        fit(images, labels, rows, few, params, {})
        return len(rows)

    return work


def in_threads(function: Callable[[Path], Any], items: Sequence[Path]) -> list[Any]:
    """Apply `function` to every item, on as many threads as this process has cores."""
    from reseed.base.parallel import usable_cores

    with ThreadPoolExecutor(usable_cores()) as pool:
        return list(pool.map(function, items))


TASKS = {
    task.__name__: task
    for task in (
        published_infer,
        published_decode,
        published_network,
        published_extract,
        published_train,
        reseed_infer,
        reseed_decode,
        reseed_network,
        reseed_extract,
        reseed_train,
    )
}


def main(argv: list[str]) -> None:
    """Run one task and print what it took."""
    name, given = argv[0], json.loads(argv[1])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given["cores"]])
    with tempfile.TemporaryDirectory() as out:
        work = TASKS[name]([Path(path) for path in given["frames"]], {"out": out} | given)
        start = time.perf_counter()
        items = work()
        seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "items": items, "peak_mib": _peak_mib()}))


def _peak_mib() -> float:
    """Return the peak of this process's resident memory; 0 where the system does not say (all but Linux)."""
    status = Path("/proc/self/status")  # getrusage would count the process that started this one
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


if __name__ == "__main__":
    main(sys.argv[1:])
