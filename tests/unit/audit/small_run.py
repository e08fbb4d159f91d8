"""A finished run of two stages: a repository with one commit, and the objects in its cache."""

import hashlib
import json
from pathlib import Path
from typing import Any

from reseed.audit.export_attestation import run_files
from reseed.audit.export_entities import CrateRun
from reseed.audit.trusted import NOT_CHECKED, PASS, Check
from reseed.history.repository import Repository
from reseed.history.run import Run
from tests.unit.audit.history import History

SCORES = {"patch": {"macro_f1": 84.2, "macro_f1_low": "n/a", "n": 436}, "data": {"synthetic": True}}
SOURCE: dict[str, Any] = {
    "name": "reef",
    "kind": "folder",
    "uri": "~/reef",
    "licence": "CC-BY-4.0",
    "citation": "doi:10.1000/reef",
    "sha256": "ab" * 32,
    "pinned": True,
    "synthetic": True,
    "files": 2,
    "bytes": 20,
    "release": "10.1000/reef",
}
# Written by stage train and in the cache, not in git; data/patches/patches.npy is imagery.
CACHED = {
    "models/model.pt": b"tensors",
    "models/model.json": b'{"device": "cpu", "versions": {"torch": "2.14.1"}}',
    "data/pretrained/weights.json": json.dumps({"backbone": "b", "weights": "file", "sha256": "cd" * 32}).encode(),
    "data/patches/patches.npy": b"pixels",
}
FIGURES = {"alpha_curve.png": b"png", "mistakes.png": b"imagery"}
LOST = "data/lost.csv"
PARAMS = {"pull": {"sources": [{"name": "reef"}]}, "train": {"lr": 0.002, "seed": 0, "flip": None, "augment": True}}


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def small_run(root: Path) -> Run:
    """Return the run of tag v1 in a new repository below `root`."""
    tree, cache = root / "repository", root / "repository/.dvc/cache/files/md5"
    code = {f"stages/{name}.py": f"# {name}\n".encode() for name in ("pull", "train")} | {
        "reseed/base/errors.py": b"# e\n"
    }
    tracked = code | {
        "metrics/metrics.json": json.dumps(SCORES).encode(),
        "requirements.lock": b"dvc==3.67.1\ntorch==2.14.1\n",
        "LICENSE": b"Apache License\n",
    }
    for name, content in tracked.items():
        write(tree / name, content)
    for content in (*CACHED.values(), *FIGURES.values()):
        write(cache / md5(content)[:2] / md5(content)[2:], content)
    listing = json.dumps([{"md5": md5(content), "relpath": name} for name, content in FIGURES.items()]).encode()
    write(cache / md5(listing)[:2] / f"{md5(listing)[2:]}.dir", listing)

    def entry(name: str, content: bytes) -> dict[str, Any]:
        return {"path": name, "hash": "md5", "md5": md5(content), "size": len(content)}

    raw = {"path": "data/raw", "hash": "md5", "md5": f"{'0' * 32}.dir", "size": 20, "nfiles": 2}
    read = [entry(name, code[name]) for name in ("stages/train.py", "reseed/base/errors.py")]
    made = [entry(name, content) for name, content in CACHED.items()]
    made.append({"path": "plots/figures", "hash": "md5", "md5": f"{md5(listing)}.dir", "size": 10, "nfiles": 2})
    made.append({"path": LOST, "hash": "md5", "md5": "f" * 32, "size": 7})
    made.append(entry("metrics/metrics.json", tracked["metrics/metrics.json"]))
    stages = {
        "train": {
            "cmd": "python -m stages.train",
            "deps": [*read, raw],
            "params": {"params.yaml": {f"train.{key}": value for key, value in PARAMS["train"].items()}},  # type: ignore[union-attr]
            "outs": made,
        },
        "pull": {
            "cmd": "python -m stages.pull",
            "deps": [entry("stages/pull.py", code["stages/pull.py"])],
            "params": {"params.yaml": {"pull.sources": PARAMS["pull"]["sources"]}},  # type: ignore[index]
            "outs": [raw],
        },
    }
    described = {"train": {"desc": "What did it learn?", "outs": [{"models/model.pt": {"desc": "state_dict"}}]}}
    for name, value in (
        ("dvc.lock", {"schema": "2.0", "stages": stages}),
        ("dvc.yaml", {"stages": described}),
        ("params.yaml", PARAMS),
    ):
        write(tree / name, json.dumps(value).encode())  # JSON is YAML too, and keeps the order: train before pull
    history = History(tree).start()
    history.git("add", "-A")
    history.git("commit", "--quiet", "-m", "Run")
    history.git("tag", "v1")
    repository = Repository(tree)
    return Run(repository, repository.resolve("v1"))


def small_crate(root: Path) -> CrateRun:
    run = small_run(root)
    checks = {"claim": Check(PASS, "it is"), "rerun": Check(NOT_CHECKED, "not asked for")}
    date = "2026-01-02T03:04:05+00:00"
    return CrateRun(run, run.commit, "run of v1", date, run_files(run, root / "files"), (SOURCE,), checks)


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
