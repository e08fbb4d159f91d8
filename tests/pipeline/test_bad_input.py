"""What users get wrong ends in one clear message and exit code 2, with nothing half-written."""

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from tests.pipeline.clone import Clone, environment

pytestmark = pytest.mark.slow


def stage(clone: Clone, name: str) -> str:
    """Run a stage and return its message; it must end with exit code 2 and without a traceback."""
    done = subprocess.run(
        ["python", "-m", f"stages.{name}"],
        cwd=clone.root,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert not list(clone.root.rglob("*.part"))
    return done.stderr


@pytest.fixture
def survey(finished: Clone, clone: Clone, tmp_path: Path) -> Path:
    """A writable copy of the demo survey that `clone` uses as a folder source."""
    folder = tmp_path / "survey"
    shutil.copytree(finished.root / "data/raw/demo", folder)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    use(clone, folder)
    return folder


def use(clone: Clone, folder: Path, sha256: str | None = None) -> None:
    entry = {"name": "demo", "kind": "folder", "uri": str(folder), "layout": "survey", "sha256": sha256}
    clone.set_params(pull__sources=[entry | {"licence": "mine", "citation": "unknown", "split": None}])


def test_all_problems_of_the_parameters_come_at_once_and_nothing_is_written(clone: Clone) -> None:
    before = clone.read("dvc.lock")
    clone.set_params(train__lr=-1, extract__patch_size=3, aggregate__alpha=2)
    clone.edit("params.yaml", "split:", "splits:")
    done = subprocess.run(
        ["python", "-m", "reseed", "check"],
        cwd=clone.root,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    for key in (
        "train.lr: got -1",
        "extract.patch_size: got 3",
        "aggregate.alpha",
        "splits: unknown",
        "split: missing",
    ):
        assert key in done.stderr
    assert clone.read("dvc.lock") == before


def test_a_source_that_is_not_there(clone: Clone, tmp_path: Path) -> None:
    use(clone, tmp_path / "nowhere")
    assert "nowhere" in stage(clone, "pull")
    assert (clone.root / "data/raw/demo").is_dir()  # what was there stays


def test_a_source_without_images(clone: Clone, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    use(clone, tmp_path / "empty")
    assert "empty" in stage(clone, "pull")
    (tmp_path / "empty/readme.txt").write_text("nothing to see")
    assert "image" in stage(clone, "pull")


def test_a_pinned_source_that_changed_names_both_digests(clone: Clone, survey: Path) -> None:
    pinned = "0" * 64
    digest = clone.run("python", "-m", "reseed", "pin", str(survey)).split()[0]
    use(clone, survey, sha256=pinned)
    message = stage(clone, "pull")
    assert pinned in message
    assert digest in message
    use(clone, survey, sha256=digest)
    clone.dvc("repro", "pull")


def test_an_annotation_of_a_frame_that_is_not_there(clone: Clone, survey: Path) -> None:
    clone.dvc("repro", "catalog")
    next(survey.glob("*/*.jpg")).unlink()
    clone.dvc("repro", "--force", "--single-item", "pull")
    message = stage(clone, "catalog")
    assert ".jpg" in message
    assert "annotations" in message


def test_a_frame_label_that_is_neither_decision(clone: Clone, survey: Path) -> None:
    path = survey / "frame_labels_A.csv"
    labels = pd.read_csv(path)
    labels.loc[2, "label"] = "Coral"
    labels.to_csv(path, index=False)
    clone.dvc("repro", "--force", "--single-item", "pull")
    message = stage(clone, "catalog")
    assert "'Coral'" in message
    assert "No-Deploy, Deploy" in message


def test_a_class_without_any_training_patch(clone: Clone) -> None:
    path = clone.root / "data/patches/labels.csv"
    labels = pd.read_csv(path, keep_default_na=False)
    labels.loc[labels["label"] == "Deploy", "label"] = "Coral"
    path.unlink()
    labels.to_csv(path, index=False)
    message = stage(clone, "train")
    assert "Deploy" in message
    assert "train" in message


def test_no_labelled_validation_frame_to_choose_alpha_on(clone: Clone) -> None:
    path = clone.root / "data/catalog/frame_labels.csv"
    labels = pd.read_csv(path)
    path.unlink()
    labels.assign(gold=0).to_csv(path, index=False)
    assert "auto" in stage(clone, "aggregate")
