"""Rung rerun: does the whole pipeline, from nothing, in a repository of its own, give the recorded outputs?"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from ruamel.yaml import YAML

from reseed.audit.checks import FAIL, Rung, judged
from reseed.audit.recompute import PICTURES
from reseed.history.snapshot import LOCK, Snapshot

_TAIL_LINES: Final = 5


def check_rerun(snapshot: Snapshot) -> Rung:
    """Run `dvc repro` without a cache and compare every output; training takes as long as it took."""
    folder = snapshot.tree.parent / "rerun"
    shutil.copytree(snapshot.tree, folder)
    for path in (LOCK, *snapshot.outputs):
        (folder / path).unlink(missing_ok=True)
    problem = _repro(folder, snapshot.repository.root)
    if problem:
        return Rung(FAIL, f"`dvc repro` from nothing failed: {problem}")
    stages = YAML(typ="safe", pure=True).load(folder / LOCK)["stages"]
    made = {out["path"]: out["md5"] for stage in stages.values() for out in stage.get("outs") or []}
    differing = [path for path, out in snapshot.outputs.items() if made.get(path) != out.get("md5")]
    return judged(
        [f"{path}: made anew it is another file" for path in differing if path not in PICTURES],
        [],
        f"{len(stages)} stages from nothing: all {len(made)} outputs equal byte by byte",
        [f"{path}: another picture" for path in differing if path in PICTURES],
    )


def _repro(folder: Path, root: Path) -> str:
    """Run the pipeline in `folder`; return why it failed, empty if it did not."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DVC_", "GIT_", "PYTHONPATH"))}
    # DVC starts stages by the name `python`; relative sources start at DVC_ROOT.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    env = kept | {"PATH": path, "DVC_ROOT": str(root.resolve()), "DVC_NO_ANALYTICS": "1"}
    for command in (["git", "init", "--quiet"], [sys.executable, "-m", "dvc", "repro"]):
        done = subprocess.run(
            command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            return " ".join(done.stderr.strip().splitlines()[-_TAIL_LINES:])
    return ""
