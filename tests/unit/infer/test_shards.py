"""Runs in shards: the bytes of a run in one process, whatever happens to the workers."""

import csv
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import psutil
import pytest

from reseed.base.appearance import Familiar
from reseed.base.errors import ModelError, ReseedError, SourceError, TableError
from reseed.base.parallel import usable_cores
from reseed.cli.main import main
from reseed.infer import cluster, shards, tables
from reseed.infer.deciding import Rule
from reseed.infer.frames import ListSource
from reseed.infer.geotags import Logs
from reseed.infer.run_folder import Frame, find_frames
from reseed.infer.running import TABLES, decide_all
from reseed.infer.shards import MANIFEST_FILE, Job, Manifest, decide_shard, merge
from reseed.network.checkpoint import describe_model, save_model
from reseed.patches.resize import RESIZE_RULE
from reseed.survey.imagery import DECODE_RULE
from tests.unit.infer.boat import PATCH, ColourEngine, write_tow
from tests.unit.network.lively import lively

REPOSITORY = Path(__file__).parents[3]
TOW = ["dddddccc", "ddddnnnn", "nnnnnnnn", "cccccccc", "dddddddd"] * 5  # 25 frames


def rows_but_latency(out: Path) -> list[list[str]]:
    """Everything in the decisions but the time that each took."""
    with (out / tables.DECISIONS_FILE).open(encoding="utf-8", newline="") as reader:
        found = list(csv.reader(reader))
    latency = found[0].index("latency_ms")
    return [[*row[:latency], *row[latency + 1 :]] for row in found]


def require_same(out: Path, single: Path) -> None:
    for name in TABLES:
        if name == tables.DECISIONS_FILE:
            assert rows_but_latency(out) == rows_but_latency(single)
        else:
            assert (out / name).read_bytes() == (single / name).read_bytes(), name


@pytest.fixture
def frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Frame, ...]:
    monkeypatch.setattr(shards, "SHARD_FRAMES", 4)
    monkeypatch.setattr(shards, "open_engine", lambda *_, **__: ColourEngine())
    paths = write_tow(tmp_path / "frames/tow_1", TOW)
    paths[9].write_bytes(paths[9].read_bytes()[:200])
    (tmp_path / "out").mkdir()
    return find_frames([tmp_path / "frames"], tmp_path / "out").frames


def job(tmp_path: Path, sha256: str = "a" * 64) -> Job:
    shards._opened.cache_clear()
    where = (tmp_path / "out", tmp_path / "frames", tmp_path / "colours")
    return Job(*where, sha256, "onnx", "cpu", PATCH, Fraction(1, 2), "0.5")


def decide_some(job: Job, manifest: Manifest, numbers: Sequence[int]) -> list[int]:
    return [decide_shard(job, n, manifest.starts[n], manifest.frames_of(n)) for n in numbers]


def test_shards_in_any_order_give_the_bytes_of_one_process(tmp_path: Path, frames: tuple[Frame, ...]) -> None:
    single = tmp_path / "single"
    single.mkdir()
    rule = Rule(ColourEngine(), PATCH, Fraction(1, 2), "0.5")
    logs = Logs(tmp_path / "frames", growing=False)
    decide_all(ListSource(frames), rule, logs, single, workers=2, ahead=True, total=None)

    manifest = Manifest(frames)
    assert manifest.begin(tmp_path / "out") == [0, 1, 2, 3, 4, 5, 6]  # 25 frames, 4 in each but the last
    assert [manifest.frames_of(n) for n in (0, 5, 6)] == [4, 4, 1]
    assert decide_some(job(tmp_path), manifest, [6, 2, 0, 5, 1, 3, 4]) == [0, 1, 0, 0, 0, 0, 0]  # the tenth is cut off
    assert [*merge(tmp_path / "out", 7).values()] == [7]
    require_same(tmp_path / "out", single)


def test_what_is_done_is_not_done_again_and_what_was_unusable_is(tmp_path: Path, frames: tuple[Frame, ...]) -> None:
    manifest, run = Manifest(frames), job(tmp_path)
    manifest.begin(tmp_path / "out")
    decide_some(run, manifest, [0, 2, 3])
    killed = tmp_path / "out/parts/.000004-0123"
    killed.mkdir()
    before = (tmp_path / "out/parts/000000/part.json").stat().st_mtime_ns
    assert Manifest(frames).begin(tmp_path / "out") == [1, 2, 4, 5, 6]
    assert not killed.exists()
    decide_some(run, manifest, [0])
    assert (tmp_path / "out/parts/000000/part.json").stat().st_mtime_ns == before


def test_a_frame_that_changes_is_named(tmp_path: Path, frames: tuple[Frame, ...]) -> None:
    manifest = Manifest(frames)
    manifest.begin(tmp_path / "out")
    manifest.require_same(tmp_path / "out")
    frames[5].path.write_bytes(b"another")
    with pytest.raises(TableError, match=rf"{MANIFEST_FILE}: {frames[5].name} is new, gone or changed"):
        Manifest(frames).require_same(tmp_path / "out")
    with pytest.raises(SourceError, match="has changed since the run began, or is not there on a worker"):
        decide_some(job(tmp_path), manifest, [1])
    assert not (tmp_path / "out/parts/000001").exists()


def test_another_model_on_a_worker_is_refused(tmp_path: Path, frames: tuple[Frame, ...]) -> None:
    manifest = Manifest(frames)
    manifest.begin(tmp_path / "out")
    with pytest.raises(ModelError, match="is another model on a worker"):
        decide_some(job(tmp_path, "b" * 64), manifest, [0])


def test_a_folder_that_a_worker_does_not_see_is_named(tmp_path: Path, frames: tuple[Frame, ...]) -> None:
    with pytest.raises(SourceError, match=f"{MANIFEST_FILE}: is not there on a worker; give --out a folder that all"):
        decide_some(job(tmp_path), Manifest(frames), [0])


def test_shards_of_different_processors_are_counted(
    tmp_path: Path, frames: tuple[Frame, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest, run = Manifest(frames), job(tmp_path)
    manifest.begin(tmp_path / "out")
    monkeypatch.setattr(shards, "processor", lambda: "an old one")
    decide_some(run, manifest, [0, 1])
    monkeypatch.setattr(shards, "processor", lambda: "a new one")
    decide_some(run, manifest, [2, 3, 4, 5, 6])
    assert merge(tmp_path / "out", 7) == {"colours 1 on an old one": 2, "colours 1 on a new one": 5}


def test_workers_ask_about_the_same_frames(
    tmp_path: Path, frames: tuple[Frame, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    shards._opened.cache_clear()
    known = Familiar(np.zeros(16), np.ones(16), np.eye(16), (np.ones(3),), Fraction(1, 20))
    rule = Rule(ColourEngine(), PATCH, Fraction(1, 2), "0.5", replace(known, share=Fraction(1, 10)), Fraction(1, 4))
    job = Job.of(rule, tmp_path / "out", tmp_path / "frames", tmp_path / "colours", "onnx", "cpu")
    with pytest.raises(ModelError, match="does not know on a worker what familiar frames look like"):
        shards._opened(job)
    monkeypatch.setattr(shards, "familiar_in", lambda *_: known)
    found, _ = shards._opened(job)
    assert found.familiar is not None
    assert (found.familiar.share, found.doubt_from) == (Fraction(1, 10), Fraction(1, 4))
    assert (found.patch_size_px, found.alpha, found.alpha_text) == (PATCH, Fraction(1, 2), "0.5")


def test_how_much_work_it_is(tmp_path: Path, frames: tuple[Frame, ...]) -> None:
    manifest, rule = Manifest(frames), Rule(ColourEngine(), PATCH, Fraction(1, 2), "0.5")
    n_bytes = sum(frame.path.stat().st_size for frame in frames)
    text = shards.estimate(manifest, frames, rule)
    assert text.startswith(f"25 frames, {n_bytes:,} bytes, 7 shards of up to 4 frames; ")
    assert "from 7 frames decided here" in text  # every fourth of 25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "1", "--watch"], "leave out --watch and --threads"),
        (["--workers", "1", "--threads", "1"], "leave out --watch and --threads"),
        (["--dry-run", "--watch"], "--dry-run is for frames that are all there"),
        (["--workers", "0"], "--workers is 0; allowed: 1 to"),
    ],
)
def test_options_that_do_not_fit(
    tmp_path: Path, frames: tuple[Frame, ...], options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed", reason="the optional extra is not installed")
    out = ["--model", "colours", "--out", str(tmp_path / "out")]
    assert main(["infer", str(tmp_path / "frames"), *out, *options]) == 2
    assert message in capsys.readouterr().err


def test_without_dask_the_way_to_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(
        ReseedError, match=r"need Dask, which is not installed: pip install -r requirements-extras\.txt"
    ):
        cluster.require_dask()


def command(tmp_path: Path, out: str, *options: str) -> list[str]:
    start = [sys.executable, "-m", "reseed", "infer", str(tmp_path / "frames"), "--model", str(tmp_path / "reef.onnx")]
    return [*start, "--out", str(tmp_path / out), *options]


def run(tmp_path: Path, out: str, *options: str) -> None:
    done = subprocess.run(
        command(tmp_path, out, *options), cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def begun(out: Path) -> set[str]:
    return {part.name for part in out.glob("parts/*")}


def worker_processes(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    below = psutil.Process(process.pid).children(recursive=True)
    return [child for child in below if "spawn_main" in " ".join(child.cmdline())]


@pytest.mark.slow
def test_workers_that_are_killed_and_a_run_that_goes_on(tmp_path: Path) -> None:
    """Eight shards: a worker dies three times, the whole command once, and another start finishes."""
    pytest.importorskip("distributed", reason="the optional extra is not installed")
    geometry = {"patch_size_px": PATCH, "input_size_px": 32, "resize": RESIZE_RULE, "decode": DECODE_RULE}
    card = describe_model("mobilenet_v3_small", 1, 0, 1, "cpu", (32, 32), geometry, {"weights": "none"})
    save_model(lively("mobilenet_v3_small"), card, tmp_path / "model.pt", tmp_path / "model.json")
    assert main(["export", "--model", str(tmp_path), "--alpha", "0.3", "--out", str(tmp_path / "reef.onnx")]) == 0
    paths = write_tow(tmp_path / "frames", TOW)
    for number in range(2000):
        (tmp_path / f"frames/copy_{number:04d}.jpg").hardlink_to(paths[number % len(paths)])
    run(tmp_path, "single")
    workers = ("--workers", str(min(2, usable_cores())))
    with subprocess.Popen(
        command(tmp_path, "out", *workers), cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        seen: set[str] = set()
        for chosen in (0, -1, 0):
            until = time.monotonic() + 60
            while (now := begun(tmp_path / "out")) <= seen:  # a shard is begun
                assert process.poll() is None, process.stdout and process.stdout.read()
                assert time.monotonic() < until
                time.sleep(0.02)
            seen = now
            worker_processes(process)[chosen].kill()
        time.sleep(0.5)
        process.kill()
    assert {name for name in begun(tmp_path / "out") if name.isdigit()} < set(map("{:06d}".format, range(8)))
    run(tmp_path, "out", *workers)
    require_same(tmp_path / "out", tmp_path / "single")
    assert begun(tmp_path / "out") == set(map("{:06d}".format, range(8)))
