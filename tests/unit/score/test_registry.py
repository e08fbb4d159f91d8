"""A new score is a function and an entry: a copy of the project with one more shows it everywhere."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ENTRY = """ENTRIES: Final = (
    Entry(PATCH, "coral_precision", "Coral precision", lambda counts: class_scores(counts).precision[..., 1]),
    Entry(FRAME, "specificity", "specificity", lambda counts: class_scores(counts).recall[..., 0]),
"""
# The pages of a small run, and of two revisions of a written one.
SCRIPT = """
import contextlib, io, json, os, sys
from pathlib import Path
from matplotlib.text import Text
import numpy as np
from reseed.cli.main import main
from reseed.compare.crossval import HELD_OUT
from reseed.figures.alpha_curve import alpha_figure
from reseed.score.alpha_curve import alpha_curve
from reseed.score.bootstrap import Interval
from stages import aggregate, evaluate
from tests.unit.audit.history import History, reef
from tests.unit.audit.results import commit_result
from tests.unit.score.runs import write_run

def said(*argv):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(list(argv)) == 0
    return out.getvalue()

here = Path(sys.argv[1])
os.chdir(here)
write_run(here)
aggregate.main([])
evaluate.main(["--no-figures"])
found = {name: Path(name).read_text() for name in ("metrics/metrics.json", "metrics/details.json",
    "metrics/by_site.csv", "metrics/by_condition.csv", "plots/alpha_curve.csv")}
found["scores"] = said("scores")
patches, frames = "data/predictions/patches.csv", "data/predictions/frames.csv"
found["score patches"] = said("score", patches, patches, "--where", "split=test")
found["score frames"] = said("score", frames, frames, "--task", "frame", "--where", "split=test")
found["crossval"] = " ".join(column.name for column in HELD_OUT)
curve = alpha_curve("test", np.array([1, 3]), np.array([4, 4]), np.array([0, 1]))
figure = alpha_figure(curve, curve, 0.5, 1.0, Interval(0.0, 1.0, 9), None, Interval(0.2, 0.6, 9), synthetic=False)
found["alpha figure"] = " ".join(text.get_text() for text in figure.findobj(Text))
history = History(here / "history")
history.root.mkdir()
os.chdir(history.root)
history.start()
commit_result(history, reef())
commit_result(history, reef())
found["card"] = said("card", "HEAD", "--out", "-")
found["report"] = said("report", "--base", "HEAD~1", "--resamples", "100")
found["compare"] = said("compare", "HEAD~1", "HEAD", "--resamples", "100")
Path(sys.argv[2]).write_text(json.dumps(found))
"""
SHOWN = {
    "metrics/metrics.json": ("coral_precision", "specificity"),
    "metrics/details.json": ("coral_precision", "specificity"),
    "metrics/by_site.csv": ("coral_precision", "frame_specificity"),
    "metrics/by_condition.csv": ("coral_precision", "frame_specificity"),
    "plots/alpha_curve.csv": ("specificity", "validation_specificity"),
    "scores": ("Coral precision", "specificity"),
    "score patches": ("Coral precision",),
    "score frames": ("specificity",),
    "crossval": ("patch_coral_precision", "frame_specificity"),
    "alpha figure": ("Specificity",),
    "card": ("patch Coral precision", "frame specificity"),
    "report": ("patch Coral precision", "frame specificity"),
    "compare": ("patch Coral precision", "frame specificity"),
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    copy, here = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("run")
    for name in ("reseed", "stages", "tests", "params"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (".dvc/config", ".dvcignore", "dvc.yaml", "params.yaml", "pyproject.toml", "requirements.lock"):
        (copy / path).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / path, copy / path)
    registry = copy / "reseed/score/registry.py"
    text = registry.read_text(encoding="utf-8")
    assert "ENTRIES: Final = (\n" in text
    registry.write_text(text.replace("ENTRIES: Final = (\n", ENTRY), encoding="utf-8")
    command = [sys.executable, "-c", SCRIPT, str(here), str(here / "found.json")]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads((here / "found.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("where", SHOWN)
def test_a_new_score_is_found_everywhere(shown: dict[str, str], where: str) -> None:
    for name in SHOWN[where]:
        assert name in shown[where], f"{name} is not in {where}"
