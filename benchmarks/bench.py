"""How fast reseed is beside the published procedure: `make bench`, or `python -m benchmarks.bench`.

Every comparison runs both sides in turn, five times, each run a process of its own on the same frames and cores, and
takes the median; the spread is that of the pairs. Beside each stand both sides' bare decoding and network, so that a
slowed-down opponent would show. Prints a table, writes `benchmarks/results/bench.json`. Half an hour on two idle cores;
on a busy machine the ratios hold roughly, the seconds do not. Exit code 1 if a row is below what it must reach.
"""

import argparse
import datetime as dt
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.frames import RESULTS, ROOT, full_size_frames, repeated
from benchmarks.machine import describe, load
from benchmarks.rows import Row, ratio_row, show
from benchmarks.tasks import INPUT_PX, PATCH_SIZE_PX
from reseed.base.parallel import usable_cores
from reseed.engines.export import export_network
from reseed.engines.predictions import load_folder
from reseed.network.checkpoint import describe_model, save_model
from reseed.network.model import Network
from reseed.patches.resize import RESIZE_RULE
from reseed.survey.imagery import DECODE_RULE


class Bench:
    """Runs tasks in processes of their own and keeps every number.

    Args:
        folder: Temporary; patches of both sides lie in it.
        frames: Paths of the frames.
        runs: Pairs of runs behind a median.
        engine: Engine of reseed's network.
    """

    def __init__(self, folder: Path, frames: list[Path], runs: int, engine: str) -> None:
        self.folder, self.frames, self.runs, self.engine = folder, frames, runs, engine
        self.model = folder / "model"
        self.taken: list[dict[str, Any]] = []
        _write_model(self.model)

    def run(self, task: str, n_frames: int, cores: int | None = None, **given: Any) -> dict[str, Any]:
        """Run one task on `n_frames` frames and return seconds, items, peak_mib, rate (items a second), process_s."""
        frames = repeated(self.frames, n_frames, self.folder / "frames")
        asked = {
            "frames": [str(path) for path in frames],
            "cores": cores or usable_cores(),
            "model": str(self.model if self.engine == "torch" else self.model / "model.onnx"),
            "engine": self.engine,
        } | given
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.tasks", task, json.dumps(asked)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{task} failed:\n{done.stderr}")
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        result |= {"rate": result["items"] / result["seconds"], "process_s": time.perf_counter() - start}
        self.taken.append({"task": task, "frames": n_frames, "cores": asked["cores"], "load": load()} | result)
        return result

    def pairs(self, theirs: Callable[[], float], ours: Callable[[], float]) -> list[tuple[float, float]]:
        """Return the rates of both sides, run in turn."""
        return [(theirs(), ours()) for _ in range(self.runs)]


def _write_model(folder: Path) -> None:
    torch.manual_seed(0)
    network = Network("mobilenet_v3_small").eval()
    geometry = {
        "patch_size_px": PATCH_SIZE_PX,
        "input_size_px": INPUT_PX,
        "resize": RESIZE_RULE,
        "decode": DECODE_RULE,
    }
    described = describe_model(
        backbone="mobilenet_v3_small",
        best_epoch=1,
        seed=0,
        threads=1,
        device="cpu",
        input_px=(INPUT_PX, INPUT_PX),
        geometry=geometry,
        pretrained={},
    )
    folder.mkdir(parents=True)
    save_model(network, described, folder / "model.pt", folder / "model.json")
    (folder / "model.onnx").write_bytes(
        export_network(*load_folder(folder))
    )  # what a boat has, by `python -m reseed export`


def infer_rows(bench: Bench, n_frames: int) -> list[Row]:
    """Compare infer with theirs and with its own bound: decoding and network alone, perfectly overlapped."""

    def mine() -> float:
        # More frames, as its time includes opening the model and making the map.
        return float(bench.run("reseed_infer", 4 * n_frames)["rate"])

    pairs = bench.pairs(lambda: float(bench.run("published_infer", n_frames)["rate"]), mine)
    row = ratio_row("infer", 7, 12, pairs, "frames/s")
    few = max(8, n_frames // 2)
    row.beside["their_decode_ms"] = 1000 / bench.run("published_decode", few)["rate"]
    row.beside["their_network_ms"] = 1000 / bench.run("published_network", few)["rate"]
    shares, parts = [], []
    for _ in range(bench.runs):
        infer, decode, network = (
            float(bench.run(task, 4 * n_frames)["rate"]) for task in ("reseed_infer", "reseed_decode", "reseed_network")
        )
        parts.append((1000 / decode, 1000 / network))
        shares.append(100 * infer * (1 / decode + 1 / network))
    beside = {
        "our_decode_ms": statistics.median(decode for decode, _ in parts),
        "our_network_ms": statistics.median(network for _, network in parts),
        "note": "milliseconds of all cores for one frame",
    }
    bound = Row(
        "infer against its bound", 75, 90, statistics.median(shares), min(shares), max(shares), "%", beside=beside
    )
    return [row, bound]


def extract_rows(bench: Bench, n_frames: int) -> list[Row]:
    """Compare extraction; theirs writes the crops at full size, as the published patches are."""
    few = max(2, n_frames // 8)
    pairs = bench.pairs(
        lambda: float(bench.run("published_extract", few)["rate"]),
        lambda: float(bench.run("reseed_extract", n_frames)["rate"]),
    )
    row = ratio_row("extract", 8, 15, pairs, "frames/s")
    small = float(bench.run("published_extract", few, edge_px=INPUT_PX)["rate"])
    row.beside["ratio if theirs wrote 256 px"] = row.beside["ours"] / small
    return [row]


def train_rows(bench: Bench, n_frames: int) -> list[Row]:
    """Compare training, theirs from its PNG patches, ours from its packed store, one epoch each."""
    store, files, small = (bench.folder / name for name in ("store", "png", "png_256"))
    for folder in (store, files, small):
        folder.mkdir()
    bench.run("reseed_extract", n_frames, out=str(store))
    bench.run("published_extract", n_frames, out=str(files))
    bench.run("published_extract", n_frames, out=str(small), edge_px=INPUT_PX)
    pairs = bench.pairs(
        lambda: float(bench.run("published_train", n_frames, patches=str(files))["rate"]),
        lambda: float(bench.run("reseed_train", n_frames, store=str(store / "patches.npy"))["rate"]),
    )
    row = ratio_row("train", 2.5, 4, pairs, "patches/s")
    theirs = float(bench.run("published_train", n_frames, patches=str(small))["rate"])
    plain = float(bench.run("reseed_train", n_frames, store=str(store / "patches.npy"), precision="float32")["rate"])
    row.beside["ratio if theirs read 256 px"] = row.beside["ours"] / theirs
    row.beside["ours in float32"] = plain
    return [row]


def no_op_row(runs: int) -> Row | None:
    """Time a `dvc repro` that has nothing to do, less the start of dvc; None where the pipeline has not run."""
    if subprocess.run(["dvc", "status", "-q"], cwd=ROOT, check=False, capture_output=True).returncode:
        return None
    more = []
    for _ in range(runs):
        taken = []
        for command in (["dvc", "version"], ["dvc", "repro"]):
            start = time.perf_counter()
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
            taken.append(time.perf_counter() - start)
        more.append(taken[1] - taken[0])
    middle = statistics.median(more)
    return Row("no-op dvc repro", 1.5, 0.7, middle, min(more), max(more), "s", smaller_is_better=True)


def growth(bench: Bench, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Time both sides, process start included, for more frames and for one core and two."""
    table = []
    for cores in (1, 2):
        for n_frames in sizes:
            theirs = bench.run("published_infer", n_frames, cores)
            ours = bench.run("reseed_infer", n_frames, cores)
            table.append(
                {
                    "cores": cores,
                    "frames": n_frames,
                    "theirs_s": theirs["process_s"],
                    "ours_s": ours["process_s"],
                    "ratio": theirs["process_s"] / ours["process_s"],
                    "ours_peak_mib": ours["peak_mib"],
                }
            )
    return table


ROWS = ("infer", "extract", "train", "no-op", "growth")


def main(argv: list[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=ROWS, action="append", help="measure only this; may be given again")
    parser.add_argument("--frames", type=int, default=34, help="frames of one run")
    parser.add_argument("--runs", type=int, default=5, help="pairs of runs behind a median")
    parser.add_argument("--engine", default="auto", help="engine of reseed's network: auto, torch, onnx or openvino")
    asked = parser.parse_args(argv)
    wanted = asked.only or ROWS
    what, frames = full_size_frames()
    before, rows, grown = load(), [], []
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), frames, asked.runs, asked.engine)
        if "infer" in wanted:
            rows += infer_rows(bench, asked.frames)
        if "extract" in wanted:
            rows += extract_rows(bench, asked.frames)
        if "train" in wanted:
            rows += train_rows(bench, max(4, asked.frames // 3))
        if "no-op" in wanted:
            row = no_op_row(asked.runs)
            rows += [row] if row else []
            if row is None:
                print("no-op dvc repro: not measured, as something is out of date here; `make repro` first")
        if "growth" in wanted:
            grown = growth(bench, (20, 40, 80))
        taken = bench.taken
    machine = describe()
    print(show(rows, grown))
    print(f"\n{what}; {machine['processor']}, {machine['cores']} cores, load {before} before, {load()} after")
    RESULTS.mkdir(exist_ok=True)
    result = {
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "frames": what,
        "engine": asked.engine,
        "machine": machine,
        "load": [before, load()],
        "rows": [asdict(row) | {"verdict": row.verdict} for row in rows],
        "growth": grown,
        "runs": taken,
    }
    (RESULTS / "bench.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # dvc of this environment
    sys.exit(main(sys.argv[1:]))
