"""Stages in processes of their own: what they see, what they report, and what is compared."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reseed.audit import stage_process
from reseed.audit.redo import Foreign, Job, compared, made_digest, run_stages, trusted_limits
from reseed.audit.rerun import check_retrain, compare_scores
from reseed.audit.sandbox import Limits
from reseed.audit.trusted import FAIL, NOT_CHECKED, PASS, Code
from reseed.base.files import write_text
from reseed.history.repository import Repository, md5_of
from reseed.history.run import METRICS, Run
from tests.unit.audit.history import History

STAGES = {
    "stages/__init__.py": "",
    "reseed/__init__.py": "",
    "reseed/base/__init__.py": "",
    "reseed/base/errors.py": "class ReseedError(Exception):\n    pass\n",
    "stages/good.py": (
        "from pathlib import Path\ndef main(argv):\n    print('noise')\n    Path('made.txt').write_text(str(argv))\n"
    ),
    "stages/drawing.py": (
        "from pathlib import Path\ndef main(argv):  # no_figures\n    Path('made.txt').write_text(str(argv))\n"
    ),
    "stages/told.py": (
        "from reseed.base.errors import ReseedError\ndef main(argv):\n    raise ReseedError('the table is broken')\n"
    ),
    "stages/bug.py": "def main(argv):\n    return {}['x']\n",
    "stages/leaving.py": "import sys\ndef main(argv):\n    sys.exit(3)\n",
    "stages/dying.py": "import os\ndef main(argv):\n    os._exit(9)\n",
    "stages/lying.py": (
        "import os, sys\ndef main(argv):\n"
        '    os.write(1, b\'not json\\n[1]\\n{"stage": "told", "problem": ""}\\n\')\n    os._exit(0)\n'
    ),
    "stages/seeing.py": (
        "import os, sys\nfrom pathlib import Path\ndef main(argv):\n"
        "    Path('seen.txt').write_text(' '.join([*os.environ, *sys.path]))\n"
    ),
    "json.py": "raise SystemExit('shadowed')\n",
}


@pytest.fixture
def code(tmp_path: Path) -> Code:
    code = Code("x", {path: text.encode() for path, text in STAGES.items()})
    code.ready(tmp_path / "code")
    return code


def run(code: Code, tmp_path: Path, *stages: str, foreign: Foreign | None = None) -> dict[str, str]:
    place = tmp_path / "place"
    place.mkdir(exist_ok=True)
    return run_stages(code, tmp_path / "code", [Job(stage, place) for stage in stages], 0, foreign)


def test_each_stage_reports_how_it_ended(code: Code, tmp_path: Path) -> None:
    assert run(code, tmp_path, "good", "told", "bug", "leaving") == {
        "good": "",
        "told": "the table is broken",
        "bug": "KeyError: 'x'",
        "leaving": "ended with 3",
    }
    assert (tmp_path / "place/made.txt").read_text() == "[]"


def test_a_stage_ends_when_its_audit_is_killed(code: Code, tmp_path: Path) -> None:
    (tmp_path / "code/stages/slow.py").write_text(
        "import time\nfrom pathlib import Path\ndef main(argv):\n    Path('started').touch()\n    time.sleep(4)\n"
        "    Path('late').touch()\n"
    )
    place = tmp_path / "place"
    place.mkdir()
    jobs = json.dumps([["slow", str(place), []]])
    command = [sys.executable, "-I", stage_process.__file__, str(tmp_path / "code"), jobs]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    while not (place / "started").exists():
        time.sleep(0.05)
    assert process.stdin is not None
    process.stdin.close()  # as the system does when whoever holds it dies
    assert process.wait(3) == 1
    assert not (place / "late").exists()


def test_pictures_are_left_out_where_the_stage_can(code: Code, tmp_path: Path) -> None:
    run(code, tmp_path, "drawing")
    assert (tmp_path / "place/made.txt").read_text() == "['--no-figures']"


def test_a_process_that_dies_or_lies_has_failed(code: Code, tmp_path: Path) -> None:
    found = run(code, tmp_path, "dying", "good")
    assert "ended without a word" in found["dying"]
    assert found["good"]
    assert run(code, tmp_path, "lying")["lying"]


def test_what_could_change_imports_or_is_of_the_auditor_does_not_reach_foreign_code(
    code: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AUDITOR_TOKEN", "PYTHONPATH", "DVC_ROOT", "GIT_DIR", "RESEED_FIELD_DATA"):
        monkeypatch.setenv(name, "/secret")
    assert run(code, tmp_path, "seeing") == {"seeing": ""}
    seen = (tmp_path / "place/seen.txt").read_text().split()
    assert "AUDITOR_TOKEN" in seen
    assert not {"PYTHONPATH", "DVC_ROOT", "GIT_DIR", "RESEED_FIELD_DATA", "/secret"} & set(seen)
    foreign = Foreign(sandbox=False, limits=Limits(time_s=60))
    assert run(code, tmp_path, "seeing", foreign=foreign) == {"seeing": ""}
    assert "AUDITOR_TOKEN" not in (tmp_path / "place/seen.txt").read_text().split()


def test_trusted_stages_are_bounded_by_the_machine_and_by_what_is_recorded(tmp_path: Path) -> None:
    limits = trusted_limits(tmp_path, 1000)
    assert limits.memory_bytes > 0
    assert limits.address_space is False
    assert limits.disk_bytes == 2000 + (1 << 30)
    assert trusted_limits(tmp_path, 1 << 60).disk_bytes < shutil.disk_usage(tmp_path).free


def test_what_was_made_is_digested_as_dvc_does_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "place/folder").mkdir(parents=True)
    (tmp_path / "place/a.txt").write_bytes(b"a")
    (tmp_path / "place/folder/b.txt").write_bytes(b"b")
    (tmp_path / "secret.txt").write_bytes(b"a")
    (tmp_path / "place/link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "place/out").symlink_to(tmp_path)
    place = tmp_path / "place"
    assert made_digest(place, "a.txt") == md5_of(b"a")
    assert (
        made_digest(place, "folder") == md5_of(f'[{{"md5": "{md5_of(b"b")}", "relpath": "b.txt"}}]'.encode()) + ".dir"
    )
    assert made_digest(place, "link.txt") == made_digest(place, "out/secret.txt") == made_digest(place, "none") == ""


def test_every_output_of_either_side_is_compared(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    history = History(root).start()
    outs = [
        {"path": path, "md5": md5_of(path.encode())} for path in ("data/same.csv", "data/other.csv", "data/extra.csv")
    ]
    (root / "dvc.lock").write_text(json.dumps({"stages": {"s": {"cmd": "x", "outs": outs}}}))
    history.git("add", "-A")
    history.git("commit", "-q", "-m", "x")
    place = tmp_path / "place/data"
    place.mkdir(parents=True)
    (place / "same.csv").write_text("data/same.csv")
    (place / "other.csv").write_text("something else")
    (place / "new.csv").write_text("new")
    wanted = ["data/same.csv", "data/other.csv", "data/new.csv", "plots/contact_sheet.png"]
    code = Code("x", {"dvc.yaml": json.dumps({"stages": {"s": {"outs": wanted}}}).encode()})
    repository = Repository(root)
    found = compared(Run(repository, repository.resolve("HEAD")), code, "s", tmp_path / "place", "redone")
    assert found.n_same == 1
    assert len(found.failures) == 3
    for path, why in (("extra", "does not write it"), ("new", "has none"), ("other", "gives another file")):
        assert any(line.startswith(f"data/{path}.csv") and why in line for line in found.failures)


@pytest.mark.parametrize(
    ("claimed", "again", "status"),
    [(84.2, 82.9, "PASS"), (82.9, 84.2, "PASS"), (70.0, 84.0, "PASS"), (90.0, 84.9, "FAIL")],
)
def test_a_claim_may_lie_above_another_training_by_the_spread_of_two(claimed: float, again: float, status: str) -> None:
    assert compare_scores(claimed, again).status == status
    assert f"{claimed:.2f}" in compare_scores(claimed, again).reason


def test_the_spread_of_recorded_trainings_is_taken_where_there_is_one() -> None:
    # 80, 82, 84: sd 2; t(2) at 97.5 % is 4.3027; half-width for a difference 4.3027 * 2 * sqrt(2) = 12.17.
    assert "lie up to 12 apart (by 3 trainings, 2 of them claims of the run)" in compare_scores(90, 80, [82, 84]).reason
    assert compare_scores(92.1, 80, [82, 84]).status == "PASS"
    assert compare_scores(92.2, 80, [82, 84]).status == "FAIL"
    assert "lie up to 5 apart (no spread is recorded" in compare_scores(90, 80, [82]).reason


def test_stages_run_after_those_whose_outputs_they_read() -> None:
    stages = {
        "evaluate": {"deps": ["b", "stages/evaluate.py"], "outs": ["c"]},
        "train": {"deps": ["a"], "outs": [{"b": {"desc": "x"}}]},
        "pull": {"outs": ["a"]},
    }
    code = Code("x", {"dvc.yaml": json.dumps({"stages": stages}).encode()})
    assert code.order() == ["pull", "train", "evaluate"]


@pytest.mark.parametrize(
    ("weights", "again", "status"),
    [
        ("none", None, PASS),  # None: the same network byte by byte
        ("none", 80.0, PASS),
        ("imagenet.pt", None, NOT_CHECKED),
        ("imagenet.pt", 80.0, NOT_CHECKED),
        ("imagenet.pt", 50.0, FAIL),
    ],
)
def test_a_training_from_stored_start_weights_proves_nothing_of_them(
    weights: str, again: float | None, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that have learnt the test frames would give the forged score again."""

    def train(*_: object) -> dict[str, str]:
        write_text(tmp_path / "retrain" / METRICS, json.dumps({"patch": {"macro_f1": again}}))
        return {}

    for name, found in (("lay_out_stored", []), ("recorded_bytes", 0), ("made_digest", "" if again else "aa")):
        monkeypatch.setattr(f"reseed.audit.rerun.{name}", lambda *_, found=found: found)
    monkeypatch.setattr("reseed.audit.rerun.run_stages", train)
    monkeypatch.setattr("reseed.audit.rerun.recorded_scores", lambda _: [])
    run: Any = SimpleNamespace(
        params={"train": {"checkpoint": "none", "weights": weights}},
        source=lambda _: b"",
        digests={"models/model.pt": "aa"},
        metrics={"patch": {"macro_f1": 81.0}},
    )
    trusted: Any = SimpleNamespace(outputs=lambda _: set(), inputs=lambda _: [], ready=lambda folder: folder)
    check = check_retrain(run, trusted, tmp_path)
    assert check.status == status
    assert ("imagenet.pt" in check.reason) == (status == NOT_CHECKED)
