"""A throw-away clone of this checkout in which tests run DVC as a user would."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
STAGES: tuple[str, ...] = tuple(yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"])


def environment() -> dict[str, str]:
    """The environment of a user who activated the virtual environment and has set nothing else."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("RESEED_", "DVC_", "GIT_"))}
    return kept | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "DVC_NO_ANALYTICS": "1",
        "GIT_AUTHOR_NAME": "tester",
        "GIT_AUTHOR_EMAIL": "tester@example.org",
        "GIT_COMMITTER_NAME": "tester",
        "GIT_COMMITTER_EMAIL": "tester@example.org",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


@dataclass(frozen=True)
class Clone:
    """A git clone with DVC, at `root`."""

    root: Path

    def run(self, *command: str, fails: bool = False, env: dict[str, str] | None = None) -> str:
        """Run a command at the root and return what it printed, standard error included."""
        done = subprocess.run(
            command,
            cwd=self.root,
            env=environment() | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) == fails, f"{command} ended with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def dvc(self, *arguments: str, fails: bool = False, env: dict[str, str] | None = None) -> str:
        return self.run("dvc", *arguments, fails=fails, env=env)

    def stages(self, *, fails: bool = False) -> str:
        """Run every stage in one process, where DVC adds nothing to what is tested: a third of the time."""
        lines = "; ".join(f"import stages.{stage}; stages.{stage}.main([])" for stage in STAGES)
        return self.run("python", "-c", lines, fails=fails)

    def git(self, *arguments: str) -> str:
        return self.run("git", *arguments)

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    def json(self, path: str) -> Any:
        return json.loads((self.root / path).read_text())

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def set_params(self, **changes: Any) -> None:
        """Change parameters by dotted key with `__` for the dot."""
        editor = YAML()
        values = editor.load(self.root / "params.yaml")
        for key, value in changes.items():
            *sections, name = key.split("__")
            place = values
            for section in sections:
                place = place[section]
            place[name] = value
        editor.dump(values, self.root / "params.yaml")

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.root / path
        text = file.read_text()
        assert old in text, f"{path} has no {old!r}"
        file.write_text(text.replace(old, new))

    def copy(self, target: Path) -> "Clone":
        """The same clone, cache and results included, elsewhere."""
        shutil.copytree(self.root, target, symlinks=True)
        return Clone(target)

    def clone(self, target: Path) -> "Clone":
        """A fresh `git clone` of this one: no cache, no outputs."""
        self.run("git", "clone", "--quiet", str(self.root), str(target))
        return Clone(target)


def stages_run(output: str) -> list[str]:
    """Which stages a `dvc repro` or `dvc exp run` really executed, by what it printed."""
    return [stage for stage in STAGES if f"Running stage '{stage}'" in output]


def new_clone(target: Path) -> Clone:
    """Copy what git tracks or would track here, with the tiny parameters, into a repository of its own."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    shutil.copy2(ROOT / "params" / "tiny.yaml", target / "params.yaml")
    for stale in ("dvc.lock", *(f"metrics/{path.name}" for path in (ROOT / "metrics").glob("*.*"))):
        (target / stale).unlink(missing_ok=True)
    made = Clone(target)
    made.git("init", "--quiet", "--initial-branch", "main")
    made.commit("Start")
    return made
