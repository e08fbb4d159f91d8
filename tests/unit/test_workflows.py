"""The workflows: who may do what, and that the tools which hold them would notice."""

import base64
import os
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
EXPERIMENT = yaml.safe_load((ROOT / ".github/workflows/experiment.yml").read_text())
FAKE_GH = """#!/bin/sh
printf '%s\\n' "$@" > "$SEEN/arguments"
while [ "$#" -gt 1 ]; do
  if [ "$1" = --body-file ]; then cat "$2" > "$SEEN/body"; fi
  shift
done
"""


def jobs() -> list[tuple[Path, str, dict[str, Any]]]:
    return [(path, name, job) for path in WORKFLOWS for name, job in yaml.safe_load(path.read_text())["jobs"].items()]


def test_only_the_job_that_comments_may_write_and_only_comments() -> None:
    assert EXPERIMENT["permissions"] == {}
    permissions = {name: job["permissions"] for name, job in EXPERIMENT["jobs"].items()}
    assert permissions == {
        "report": {"contents": "read"},
        "comment": {"contents": "read", "pull-requests": "write"},
    }
    # `on` is a truth value to YAML 1.1. Never pull_request_target: it would give forks the rights of the base.
    assert EXPERIMENT[True] == {"pull_request": None}
    assert "head.repo.full_name == github.repository" in EXPERIMENT["jobs"]["comment"]["if"]


def test_every_action_is_pinned_by_commit_with_its_version_beside_it() -> None:
    for path in WORKFLOWS:
        for line in path.read_text().splitlines():
            if "uses:" in line:
                assert re.search(r"uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), f"{path.name}: {line}"


def test_what_a_workflow_runs_lies_in_ci() -> None:
    for path, name, job in jobs():
        for step in job["steps"]:
            if "run" in step:
                script = re.fullmatch(r"bash (\.ci/[\w-]+)( \"\$[\w/.]+\"| \"\$\w+/report\.md\")*", step["run"])
                assert script, f"{path.name}, {name}: {step['run']}"
                assert (ROOT / script[1]).is_file()
            elif step["uses"].startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
    assert EXPERIMENT["jobs"]["report"]["steps"][0]["with"]["fetch-depth"] == 0


def test_whoever_may_write_runs_nothing_of_the_pull_request() -> None:
    for path, name, job in jobs():
        steps, rights = job["steps"], job.get("permissions", {})
        if "write" not in rights.values():
            continue
        checkouts = [step["with"] for step in steps if step.get("uses", "").startswith("actions/checkout@")]
        assert [each["ref"] for each in checkouts] == ["${{ github.event.pull_request.base.sha }}"], f"{path}, {name}"
        # The checkout comes first, nothing else is fetched, and no token is there but where the script runs.
        assert steps[0]["uses"].startswith("actions/checkout@")
        assert [step["run"] for step in steps[1:]] == ["bash .ci/comment"]
        assert "env" not in job
    script = (ROOT / ".ci/comment").read_text()
    assert not re.search(r"git (fetch|checkout|pull)|gh pr checkout|eval|source ", script)


def comment(tmp_path: Path, head: str, text: str) -> subprocess.CompletedProcess[str]:
    gh = tmp_path / "bin/gh"
    gh.parent.mkdir()
    gh.write_text(FAKE_GH)
    gh.chmod(gh.stat().st_mode | stat.S_IXUSR)
    env = {
        "PATH": f"{gh.parent}{os.pathsep}{os.environ['PATH']}",
        "SEEN": str(tmp_path),
        "GH_REPO": "reef/reseed",
        "HEAD_REPO": head,
        "NUMBER": "7",
        "REPORT": base64.b64encode(text.encode()).decode(),
    }
    return subprocess.run(
        ["bash", str(ROOT / ".ci/comment")], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )


def test_the_report_becomes_one_comment_that_is_updated(tmp_path: Path) -> None:
    text = "## Report `$(touch /never)` \"quoted\" 'é' %s\n" + "x" * 60_000
    comment(tmp_path, "reef/reseed", text)
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[:6] == ["pr", "comment", "7", "--edit-last", "--create-if-none", "--body-file"]
    assert (tmp_path / "body").read_text() == text
    assert not Path(arguments[6]).exists()


def test_a_fork_gets_no_comment(tmp_path: Path) -> None:
    done = comment(tmp_path, "diver/reseed", "report")
    assert "diver/reseed is a fork of reef/reseed" in done.stdout
    assert not (tmp_path / "arguments").exists()


@pytest.mark.parametrize("tool", ["zizmor", "check-jsonschema"])
def test_the_tools_hold_the_workflows_and_notice_a_broken_one(tool: str, tmp_path: Path) -> None:
    arguments = {
        "zizmor": ["zizmor", "--offline", "--quiet"],
        "check-jsonschema": ["check-jsonschema", "--builtin-schema", "vendor.github-workflows"],
    }[tool]
    assert " ".join(arguments) in (ROOT / "Makefile").read_text()
    assert subprocess.run([*arguments, *WORKFLOWS], capture_output=True, check=False).returncode == 0
    text = WORKFLOWS[0].read_text()
    broken = {
        # A word of the author of a pull request in the shell.
        "zizmor": text.replace('"$BASE"', "${{ github.event.pull_request.title }}"),
        "check-jsonschema": text.replace("runs-on: ubuntu-latest", "runs-on-what: ubuntu-latest"),
    }[tool]
    assert broken != text
    (tmp_path / "broken.yml").write_text(broken)
    done = subprocess.run([*arguments, tmp_path / "broken.yml"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert {"zizmor": "template-injection", "check-jsonschema": "runs-on"}[tool] in done.stdout + done.stderr
