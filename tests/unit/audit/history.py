"""A small repository with git and DVC's cache, its runs written by hand: every revision in milliseconds."""

import hashlib
import os
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from reseed.artifacts.catalog import ANNOTATIONS, FRAME_LABELS, FRAMES
from reseed.artifacts.patches import SPLITS_TABLE
from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS, REPEAT_DECISIONS, REPEAT_PREDICTIONS
from reseed.artifacts.raw import RawSource, write_raw
from reseed.artifacts.table import Table
from reseed.base.classes import CLASSES, DEPLOY, NO_DEPLOY
from reseed.base.files import write_text

GROUPS, FRAMES_EACH, PATCHES_EACH = 8, 3, 12
OUTPUTS = (
    "data/raw.json",
    "data/catalog/frames.csv",
    "data/catalog/annotations.csv",
    "data/catalog/frame_labels.csv",
    "data/catalog/splits.csv",
    "data/predictions/patches.csv",
    "data/predictions/frames.csv",
)
REPEATED = ("data/predictions/repeats.csv", "data/predictions/repeat_frames.csv")


@dataclass(frozen=True)
class Reef:
    """What one run is about.

    Args:
        frames: Frame ids with their group and split.
        gold: Patch id -> class index.
        wrong: Patch ids that are predicted wrongly, as the next class.
        frame_gold: Frame id -> decision.
        wrong_frames: Frame ids decided wrongly.
        sha256: Of the images that are not the usual one.
        params: params.yaml.
        digest: Of the source.
        synthetic: Whether it was rendered.
        repeats: Of each further training, the patch ids that it predicts wrongly; it decides frames as the first.
    """

    frames: dict[str, tuple[str, str]]
    gold: dict[str, int]
    frame_gold: dict[str, str]
    wrong: frozenset[str] = frozenset()
    wrong_frames: frozenset[str] = frozenset()
    sha256: dict[str, str] = field(default_factory=dict)
    params: str = "aggregate:\n  alpha: 0.5\ntrain:\n  lr: 0.001\n  seed: 0\n"
    digest: str = "ab" * 32
    synthetic: bool = False
    repeats: tuple[frozenset[str], ...] = ()

    def but(self, **changes: object) -> "Reef":
        return replace(self, **changes)


def reef() -> Reef:
    """8 test groups of 3 frames of 12 patches, 4 of each class, and one training frame."""
    frames = {f"reef/g{g}/f{f}.jpg": (f"g{g}", "test") for g in range(GROUPS) for f in range(FRAMES_EACH)}
    frames["reef/t/f0.jpg"] = ("t", "train")
    gold = {f"{frame}#r{p // 4:03d}c{p % 4:03d}": p % 3 for frame in frames for p in range(PATCHES_EACH)}
    frame_gold = {frame: DEPLOY if n % 2 else NO_DEPLOY for n, frame in enumerate(frames)}
    return Reef(frames, gold, frame_gold)


def every(ids: dict[str, object] | dict[str, int], step: int, start: int = 0) -> frozenset[str]:
    """Return every step-th id, so that every group has some."""
    return frozenset(list(ids)[start::step])


@dataclass(frozen=True)
class History:
    root: Path

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
            cwd=self.root,
            env={k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {"GIT_CONFIG_GLOBAL": os.devnull},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def start(self) -> "History":
        write_text(self.root / ".dvc/config", "[core]\n    analytics = false\n")
        write_text(self.root / ".gitignore", "/data\n/.dvc/cache\n/.dvc/tmp\n/.dvc/config.local\n")
        self.git("init", "--quiet", "--initial-branch", "main")
        return self

    def commit(self, run: Reef, message: str = "Run", **files: str) -> str:
        """Write a run, put its outputs into the cache, commit; `files` are code, by path with `__` for the slash."""
        write_outputs(self.root, run)
        write_text(self.root / "params.yaml", run.params)
        for name, text in files.items():
            write_text(self.root / name.replace("__", "/"), text)
        lines = ["schema: '2.0'", "stages:", "  all:", "    cmd: true", "    outs:"]
        for path in (*OUTPUTS, *(REPEATED if run.repeats else ())):
            content = (self.root / path).read_bytes()
            digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
            cached = self.object(digest)
            cached.parent.mkdir(parents=True, exist_ok=True)
            cached.write_bytes(content)
            lines += [f"    - path: {path}", "      hash: md5", f"      md5: '{digest}'", f"      size: {len(content)}"]
        write_text(self.root / "dvc.lock", "\n".join(lines) + "\n")
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def object(self, digest: str) -> Path:
        return self.root / ".dvc/cache/files/md5" / digest[:2] / digest[2:]

    def digest(self, path: str) -> str:
        return hashlib.md5((self.root / path).read_bytes(), usedforsecurity=False).hexdigest()


def write_outputs(root: Path, run: Reef) -> None:
    data = root / "data"
    patches = [_patch(run, patch, index) for patch, index in run.gold.items()]
    PATCH_PREDICTIONS.write(PATCH_PREDICTIONS.frame(patches), data / "predictions/patches.csv")
    FRAME_PREDICTIONS.write(_decided(run), data / "predictions/frames.csv")
    if run.repeats:
        _write_repeats(data / "predictions", run)
    FRAMES.write(_table(FRAMES, [_frame(run, frame) for frame in run.frames]), data / "catalog/frames.csv")
    splits = [{"frame_id": f, "group": group, "split": split} for f, (group, split) in run.frames.items()]
    SPLITS_TABLE.write(SPLITS_TABLE.frame(splits), data / "catalog/splits.csv")
    labels = [{"frame_id": f, "annotator": "A", "label": said, "gold": 1} for f, said in run.frame_gold.items()]
    FRAME_LABELS.write(FRAME_LABELS.frame(labels), data / "catalog/frame_labels.csv")
    rectangles = [_rectangle(patch, index) for patch, index in run.gold.items()]
    ANNOTATIONS.write(ANNOTATIONS.frame(rectangles), data / "catalog/annotations.csv")
    kind = "demo" if run.synthetic else "folder"
    source = RawSource("reef", kind, "", "survey", run.digest, 1, 1, "x", pinned=False, synthetic=run.synthetic)
    write_raw([source], data / "raw.json")


def _patch(run: Reef, patch: str, index: int) -> dict[str, object]:
    frame = patch.split("#", maxsplit=1)[0]
    said = CLASSES[(index + 1) % 3 if patch in run.wrong else index]
    return {
        "patch_id": patch,
        "frame_id": frame,
        "split": run.frames[frame][1],
        "gold": CLASSES[index],
        "p_no_deploy": 0.3,
        "p_coral": 0.3,
        "p_deploy": 0.4,
        "predicted": said,
    }


def _write_repeats(folder: Path, run: Reef) -> None:
    others = [run.but(wrong=wrong) for wrong in run.repeats]
    patches = [
        _patch(other, patch, index) | {"repeat": number}
        for number, other in enumerate(others, 1)
        for patch, index in run.gold.items()
    ]
    frames = [
        row | {"repeat": number} for number, other in enumerate(others, 1) for row in _decided(other).to_dict("records")
    ]
    names = ((REPEAT_PREDICTIONS, patches, "repeats.csv"), (REPEAT_DECISIONS, frames, "repeat_frames.csv"))
    for table, rows, name in names:
        table.write(table.frame([{key: row[key] for key in table.names} for row in rows]), folder / name)


def _decided(run: Reef) -> pd.DataFrame:
    other = {DEPLOY: NO_DEPLOY, NO_DEPLOY: DEPLOY}
    return FRAME_PREDICTIONS.frame(
        [
            {
                "frame_id": frame,
                "split": split,
                "n_patches": PATCHES_EACH,
                "deploy_count": 4,
                "coral_count": 4,
                "deploy_ratio": 1 / 3,
                "coral_cover": 1 / 3,
                "decision": other[run.frame_gold[frame]] if frame in run.wrong_frames else run.frame_gold[frame],
                "gold": run.frame_gold[frame],
                "alpha": 0.5,
            }
            for frame, (_, split) in run.frames.items()
        ]
    )


def _frame(run: Reef, frame: str) -> dict[str, object]:
    known = {"frame_id": frame, "source": "reef", "sha256": run.sha256.get(frame, "0" * 64)}
    return known | {"synthetic": int(run.synthetic)}


def _table(table: Table, rows: list[dict[str, object]]) -> pd.DataFrame:
    return table.frame([blank(table) | row for row in rows])


def blank(table: Table) -> dict[str, object]:
    """Return a row of empty texts and zeros."""
    return {column.name: "" if column.kind == "text" else 0 for column in table.columns}


def _rectangle(patch: str, index: int) -> dict[str, object]:
    frame, place = patch.split("#")
    y, x = int(place[1:4]), int(place[5:8])
    label = CLASSES[index]
    return {"frame_id": frame, "annotator": "A", "x0": x, "y0": y, "x1": x + 1, "y1": y + 1, "label": label} | {
        "kind": "rect",
        "source_label": label,
        "gold": 1,
    }
