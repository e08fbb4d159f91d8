"""Frames that a person should look at: what is familiar, what is not, and how often one is taken for the other."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.metrics import roc_auc_score

from reseed.artifacts.predictions import FRAME_PREDICTIONS
from reseed.base.appearance import NAMES, NEAR_ALPHA, frame_appearance
from reseed.base.errors import TableError
from reseed.base.files import read_json
from reseed.demo.survey import render_survey
from reseed.params.aggregate import AggregateParams
from reseed.params.demo import DemoParams
from reseed.patches.resize import frame_patches
from reseed.score.ask import fit_familiar, with_asked
from reseed.score.decisions import doubted_alpha
from stages import aggregate, evaluate
from tests.unit.score.runs import write_run

ROOT = Path(__file__).parents[3]
Fault = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def tables(looks: NDArray[np.float64], groups: list[str], splits: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    names = [f"f{number:04d}" for number in range(len(looks))]
    conditions = pd.DataFrame(looks, columns=list(NAMES)).assign(frame_id=names)
    return conditions, pd.DataFrame({"frame_id": names, "group": groups, "split": splits})


def test_familiar_frames_are_asked_about_as_often_as_promised() -> None:
    # Simulated surveys: 20 groups of 4 frames that are alike within a group, 60 new groups, share 0.1.
    rng, asked, n = np.random.default_rng(0), [], 80
    for _ in range(40):
        centres = rng.normal(size=(n, 1, 16)) * rng.uniform(0.2, 2, 16)
        looks = (centres + rng.normal(size=(n, 4, 16)) * 0.5).reshape(-1, 16)
        groups = [f"g{number:02d}" for number in range(n) for _ in range(4)]
        splits = ["train" if number < 20 else "test" for number in range(n) for _ in range(4)]
        conditions, table = tables(looks, groups, splits)
        familiar = fit_familiar(conditions, table, Fraction(1, 10))
        asked.append(np.mean([familiar.asks(familiar.p_value(row)) for row in looks[80:]]))
    error = np.std(asked) / np.sqrt(len(asked))
    assert np.mean(asked) <= 0.1 + 2 * error
    assert np.mean(asked) > 0.03  # and not because nothing is ever asked


def test_too_few_groups_promise_nothing() -> None:
    conditions, splits = tables(
        np.random.default_rng(0).normal(size=(12, 16)), [f"g{i // 2}" for i in range(12)], ["val"] * 12
    )
    with pytest.raises(TableError, match=r"aggregate\.ask is 0\.05: needs 19 groups in train and val, there are 6"):
        fit_familiar(conditions, splits, Fraction(1, 20))
    with pytest.raises(TableError, match="there are 0"):
        fit_familiar(conditions, splits.assign(split="test"), Fraction(1, 20))


def test_a_frame_of_train_is_compared_with_the_other_groups() -> None:
    looks = np.random.default_rng(0).normal(size=(40, 16))
    looks[0] += 50  # its group is odd: against a fit with it inside it would look familiar
    conditions, splits = tables(looks, [f"g{i // 2:02d}" for i in range(40)], ["train"] * 20 + ["val"] * 20)
    familiar = fit_familiar(conditions, splits, Fraction(1, 10))
    decided = pd.DataFrame({"frame_id": splits["frame_id"], "deploy_count": 1, "n_patches": 4, "alpha": 0.5})
    found = with_asked(decided, conditions, splits, familiar, None)
    assert found.loc[0, "familiarity"] == pytest.approx(1 / 20)  # further than all 19 other groups
    assert found.loc[0, "ask"].startswith("unlike the training frames: ")
    assert (found["ask"] != "").sum() <= 5


def test_the_doubt_of_a_promise_by_hand() -> None:
    # 19 No-Deploy frames, one with 2 of 4 Deploy patches, the others with 0. At 0.05 the labels alone allow
    # 0.05 x 19 = 0.95 wrong drops, so none, and alpha is 2/4. At 0.1 they allow 1.9, so one, and alpha is 0.
    shares = [2] + [0] * 18
    for target, expected in (("0.05", Fraction(1, 2)), ("0.1", Fraction(0))):
        patches = pd.DataFrame(
            [
                {"frame_id": f"f{i:02d}", "split": "val", "predicted": "Deploy" if k < share else "Coral"}
                for i, share in enumerate(shares)
                for k in range(4)
            ]
        )
        labels = pd.DataFrame({"frame_id": [f"f{i:02d}" for i in range(19)], "label": "No-Deploy", "gold": 1})
        params = AggregateParams.model_validate(
            {"rule": "ratio", "alpha": f"guaranteed {target} by frame", "ask": "none"}
        )
        splits = pd.DataFrame({"frame_id": labels["frame_id"], "group": "g", "split": "val"})
        assert doubted_alpha(patches, labels, params, splits) == expected
    number = params.model_copy(update={"alpha": 0.5})
    assert doubted_alpha(patches, labels, number, splits) is None


def test_frames_between_the_labels_and_the_promise_are_asked_about() -> None:
    decided = pd.DataFrame({"frame_id": ["a", "b", "c"], "deploy_count": [1, 2, 3], "n_patches": 4, "alpha": 0.5})
    found = with_asked(decided, pd.DataFrame(), pd.DataFrame(), None, Fraction(1, 4))
    # a: 1/4 is not above 1/4; b: above 1/4, not above the promised 2/4; c: above both, dropped on
    assert found["ask"].tolist() == ["", NEAR_ALPHA, ""]
    assert found["familiarity"].isna().all()


def test_scores_stand_with_and_without_the_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path, ask="0.34")  # needs 2 groups in train and val, there are 2
    aggregate.main([])
    frames = FRAME_PREDICTIONS.read(tmp_path / "data/predictions/frames.csv")
    assert frames["familiarity"].between(0, 1).all()
    assert read_json(tmp_path / "data/predictions/familiar.json")["share"] == "0.34"
    evaluate.main(["--no-figures"])
    details = read_json(tmp_path / "metrics/details.json")
    test = frames[frames["split"] == "test"]
    assert details["ask"]["test_frames"] == 4
    assert test.loc[test["ask"] != "", "frame_id"].tolist() == ["demo/Coil/Coil_0001.jpg"]  # the odd one
    assert (details["ask"]["asked"], details["ask"]["unfamiliar"], details["ask"]["asked_share"]) == (1, 1, 25.0)
    rest = test[(test["ask"] == "") & (test["gold"] != "")]
    right = 100 * (rest["gold"] == rest["decision"]).mean()
    assert details["ask"]["without_asked"]["accuracy"] == pytest.approx(right, abs=1e-4)
    headline = read_json(tmp_path / "metrics/metrics.json")["frame"]["accuracy"]
    write_run(tmp_path)
    aggregate.main([])
    evaluate.main(["--no-figures"])
    assert read_json(tmp_path / "metrics/metrics.json")["frame"]["accuracy"] == headline  # Ask hides no score
    assert read_json(tmp_path / "metrics/details.json")["ask"] == "n/a"
    assert read_json(tmp_path / "data/predictions/familiar.json") == {"share": None}


def level(value: float) -> Fault:
    return lambda images: images * np.float32(value)


def fog(images: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(0.4 * images + 0.6 * np.array([150, 190, 200], np.float32))


def noise(images: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(images + np.random.default_rng(3).normal(0, 25, images.shape))


def sand(images: NDArray[np.float32]) -> NDArray[np.float32]:
    grain = np.random.default_rng(4).normal(0, 6, (*images.shape[:3], 1))
    return np.asarray(np.array([200, 190, 160]) + grain)


def seagrass(images: NDArray[np.float32]) -> NDArray[np.float32]:
    blades = ndimage.gaussian_filter(np.random.default_rng(5).normal(size=images.shape[:3]), (0, 5, 0.7))[..., None]
    return np.asarray(np.array([50, 90, 40]) + np.array([20, 35, 15]) * blades / blades.std())


def dead_columns(images: NDArray[np.float32]) -> NDArray[np.float32]:
    dead = images.copy()
    dead[:, :, ::12] = 255
    return dead


FAULTS: dict[str, Fault] = {
    "fog": fog,
    "dark": level(0.25),
    "overexposed": level(2.2),
    "noise": noise,
    "blur": lambda images: ndimage.gaussian_filter(images, (0, 1.5, 1.5, 0)),
    "sand": sand,
    "seagrass": seagrass,
    "dead columns": dead_columns,
    "swapped red and blue": lambda images: images[..., ::-1],
    "warm camera": lambda images: images * np.array([1.35, 1, 0.7], np.float32),
    "cold camera": lambda images: images * np.array([0.7, 1, 1.35], np.float32),
    "gray camera": lambda images: np.repeat(images.mean(axis=-1, keepdims=True), 3, axis=-1),
}


@pytest.fixture(scope="module")
def reef(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[NDArray[np.uint8]], list[str]]:
    """Patches and site of two frames of each of 48 sites, on two rendered reefs."""
    values = yaml.safe_load((ROOT / "params.yaml").read_text())["demo"]
    images, sites = [], []
    for seed in (1, 2):
        folder = tmp_path_factory.mktemp(f"reef{seed}")
        small = {"seed": seed, "sites": 24, "frames_per_sequence": 2, "width_px": 448, "height_px": 256}
        render_survey(DemoParams(**(values | small)), folder)
        for path in sorted(folder.rglob("*.jpg")):
            images.append(frame_patches(path.read_bytes(), 64, 64, 10**8).images)
            sites.append(f"{seed}/{path.parent.name}")
    return images, sites


def test_what_no_reef_looks_like_is_told_from_new_sites(reef: tuple[list[NDArray[np.uint8]], list[str]]) -> None:
    images, sites = reef
    looks = np.stack([frame_appearance(frame) for frame in images])
    chosen = set(np.random.default_rng(0).permutation(sorted(set(sites)))[:24])
    splits = ["train" if site in chosen else "test" for site in sites]
    familiar = fit_familiar(*tables(looks, sites, splits), Fraction(1, 10))
    new = [number for number, split in enumerate(splits) if split == "test"]
    usual = [familiar.distance(looks[number]) for number in new]
    found = {}
    for name, fault in FAULTS.items():
        odd = [fault(images[number].astype(np.float32)).clip(0, 255).astype(np.uint8) for number in new]
        far = [familiar.distance(frame_appearance(frame)) for frame in odd]
        found[name] = roc_auc_score([0] * len(usual) + [1] * len(far), usual + far)
    assert {name: round(area, 3) for name, area in found.items() if area < 0.95} == {}
    asked = np.mean([familiar.asks(familiar.p_value(looks[number])) for number in new])
    assert asked <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / 24)  # 24 new sites
