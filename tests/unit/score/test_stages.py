"""The stages aggregate and evaluate on a run small enough to score by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reseed.artifacts.predictions import FRAME_PREDICTIONS, PATCH_PREDICTIONS, REPEAT_DECISIONS
from reseed.base.errors import TableError
from reseed.base.files import read_json, write_text
from reseed.params.evaluate import EvaluateParams
from stages import aggregate, evaluate
from tests.unit.score.runs import write_run

METRICS = Path("metrics/metrics.json")
DETAILS = Path("metrics/details.json")
SETTINGS = EvaluateParams(mistakes=2, resamples=100, seed=0, cost_false_deploy=3.0, cost_missed_deploy=1.0)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path)
    return tmp_path


def edit(path: str, column: str, rows: Any, value: object) -> None:
    table = PATCH_PREDICTIONS if "patches" in path else FRAME_PREDICTIONS
    df = table.read(Path(path))
    df.loc[rows(df), column] = value
    table.write(df, Path(path))


def score(*, figures: bool = False) -> dict[str, Any]:
    aggregate.main([])
    evaluate.main([] if figures else ["--no-figures"])  # drawing takes ten times as long as scoring
    content: dict[str, Any] = read_json(METRICS)
    return content


def test_aggregate_picks_alpha_on_validation_and_decides_every_frame(run: Path) -> None:
    aggregate.main([])
    frames = FRAME_PREDICTIONS.read(run / "data/predictions/frames.csv")
    # Validation: Brampton_0000 has 2 of 4 Deploy (gold Deploy), Brampton_0001 1 of 4 (gold No-Deploy): both are right
    # for 0.25 <= alpha < 0.5; auto takes the middle of 0.25 to 0.49.
    assert set(frames["alpha"]) == {0.37}
    assert len(frames) == 10
    assert frames["deploy_count"].tolist() == [2, 0, 2, 1, 1, 1, 0, 3, 4, 0]
    assert frames.loc[frames["decision"] == "Deploy", "frame_id"].tolist() == [
        "demo/Aldgate/Aldgate_0000.jpg",
        "demo/Brampton/Brampton_0000.jpg",
        "demo/Dory/Dory_0001.jpg",
        "demo/Ewing/Ewing_0000.jpg",
    ]


def test_a_number_is_used_as_it_is(run: Path) -> None:
    write_run(run, alpha="0.25")
    aggregate.main([])
    frames = FRAME_PREDICTIONS.read(run / "data/predictions/frames.csv")
    assert set(frames["alpha"]) == {0.25}
    # 1 of 4 is not above 0.25
    assert frames.set_index("frame_id").loc["demo/Coil/Coil_0000.jpg", "decision"] == "No-Deploy"


def test_auto_without_labelled_validation_frames_is_an_error(run: Path) -> None:
    write_run(run, frame_labels=False)
    with pytest.raises(TableError, match="none of the 2 validation frames has a frame label"):
        aggregate.main([])
    assert not (run / "data/predictions/frames.csv").exists()


def test_metrics_by_hand(run: Path) -> None:
    # Test patches (gold predicted): Coil DD DC NN | NN CC CC ND, Dory NN NN CC CC | DD DD NN CD: 15 labelled.
    # Deploy: tp 3 (1 + 2), fp 2 (ND, CD), fn 1 (DC): F1 6/9. Coral: tp 4, fp 1, fn 1: 8/10.
    # No-Deploy: tp 5 (NN: 1 + 1 + 2 + 1), fn 1 (ND), fp 0: 10/11. Right: 3 + 4 + 5 = 12 of 15.
    # Test frames at 0.37: Coil_0000 gold Deploy, 1 of 4: missed. Coil_0001 right. Dory_0001, 3 of 4: false.
    # Accuracy 1/3; No-Deploy: tp 1, fn 1, fp 1: F1 1/2; Deploy: 0. Macro F1 1/4.
    # Validation patches: Brampton DD DD NN CC | ND NN CC CN: D 4/5, N 2*2/(2*2+1+1) = 2/3, C 4/5.
    assert score() == {
        "patch": {
            "macro_f1": round(100 * (6 / 9 + 8 / 10 + 10 / 11) / 3, 4),
            "macro_f1_mean": round(100 * (6 / 9 + 8 / 10 + 10 / 11) / 3, 4),
            "macro_f1_sd": "n/a",  # one training
            "macro_f1_low": "n/a",  # 2 test groups
            "macro_f1_high": "n/a",
            "accuracy": 80.0,
            "n": 15,
            "no_deploy_f1": 90.9091,
            "coral_f1": 80.0,
            "deploy_f1": 66.6667,
        },
        "frame": {
            "alpha": 0.37,
            "accuracy": 33.3333,
            "macro_f1": 25.0,
            "macro_f1_mean": 25.0,
            "macro_f1_sd": "n/a",
            "deploy_precision": 0.0,
            "deploy_recall": 0.0,
            "deploy_f1": 0.0,
            "n": 3,
        },
        "data": {"synthetic": True},
    }
    assert list(read_json(METRICS)) == ["patch", "frame", "data"]
    assert sum(map(len, read_json(METRICS).values())) <= 20
    details = read_json(DETAILS)
    assert details["patch"]["val"]["macro_f1"] == round(100 * (0.8 + 2 / 3 + 0.8) / 3, 4)
    assert details["frame"]["val"]["macro_f1"] == 100.0
    assert details["data"]["frames"] == {"train": 2, "val": 2, "test": 4}


def test_every_training_of_the_recipe_is_scored_by_hand(run: Path) -> None:
    # Two further trainings: one calls everything Deploy, one everything No-Deploy. Test patches: 6 No-Deploy, 5 Coral,
    # 4 Deploy. All Deploy: F1 2 * 4 / (4 + 15) = 8/19, over three classes 8/57. All No-Deploy: 12/21 / 3 = 4/21.
    write_run(run, repeats="DN")
    metrics = score()
    first = (6 / 9 + 8 / 10 + 10 / 11) / 3
    values = 100 * np.array([first, 8 / 57, 4 / 21])
    assert metrics["patch"]["macro_f1"] == pytest.approx(100 * first, abs=1e-4)
    assert metrics["patch"]["macro_f1_mean"] == pytest.approx(values.mean(), abs=1e-4)
    assert metrics["patch"]["macro_f1_sd"] == pytest.approx(values.std(ddof=1), abs=1e-4)
    # Test frames: 1 Deploy, 2 No-Deploy. Validation has one of each. Training 1 is right in 1 of 2 at any alpha; the
    # middle of 0.00 to 1.00 is 0.50.
    repeated = REPEAT_DECISIONS.read(run / "data/predictions/repeat_frames.csv")
    assert repeated.groupby("repeat")["decision"].unique().map(list).tolist() == [["Deploy"], ["No-Deploy"]]
    assert repeated.loc[repeated["repeat"] == 1, "alpha"].unique().tolist() == [0.5]
    # Deploy of everything: F1 2/4 and 0; No-Deploy of everything: 4/5 and 0; the first: 25 %.
    frame = 100 * np.array([0.25, 0.25, 0.4])
    assert metrics["frame"]["macro_f1_mean"] == pytest.approx(frame.mean(), abs=1e-4)
    assert metrics["frame"]["macro_f1_sd"] == pytest.approx(frame.std(ddof=1), abs=1e-4)
    found = read_json(DETAILS)["trainings"]
    assert found["n"] == 3
    assert found["patch"]["macro_f1"]["values"] == pytest.approx(values, abs=1e-4)
    assert "2 clusters" in found["patch"]["macro_f1"]["reason"]


def test_a_training_of_other_patches_is_refused(run: Path) -> None:
    write_run(run, repeats="D")
    path = run / "data/predictions/repeats.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(TableError, match="training 1 answers other patches than"):
        aggregate.main([])


def test_details_by_hand(run: Path) -> None:
    score()
    details = read_json(DETAILS)
    test = details["patch"]["test"]
    assert (test["n"], test["unlabelled"]) == (15, 1)
    assert test["confusion"]["counts"] == [[5, 0, 1], [0, 4, 1], [0, 1, 3]]
    assert test["classes"]["deploy"] == {"precision": 60.0, "recall": 75.0, "f1": 66.6667, "support": 4, "predicted": 5}
    # all 16 test patches, the unlabelled one too: 6 No-Deploy, 5 Coral, 5 Deploy
    assert test["predicted_share"] == {"no_deploy": 37.5, "coral": 31.25, "deploy": 31.25}
    assert details["frame"]["val"]["confusion"]["counts"] == [[1, 0], [0, 1]]
    assert details["alpha"]["best_on_validation"] == {
        "alpha": 0.37,
        "plateau": {"low": 0.25, "high": 0.49},
        "frame_macro_f1": 100.0,
        "n": 2,
    }
    assert details["alpha"]["best_on_test_in_hindsight"]["n"] == 3
    assert details["data"]["frames"] == {"train": 2, "val": 2, "test": 4}
    assert details["data"]["sources"][0]["sha256"] == "ab" * 32


def test_sites_by_hand(run: Path) -> None:
    score()
    sites = pd.read_csv(run / "metrics/by_site.csv").set_index("site")
    assert sites.index.tolist() == ["Coil", "Dory", "Brampton"]
    # Coil: N tp 2, fn 1 -> 4/5; C tp 2, fp 1 -> 4/5; D tp 1, fp 1, fn 1 -> 1/2
    assert sites.loc["Coil", "macro_f1"] == pytest.approx(70.0)
    assert sites.loc["Coil", ["n_patches", "n_frames", "deploy_frames"]].tolist() == [7, 2, 1]
    assert sites.loc["Dory", "frame_accuracy"] == 0.0
    assert sites.loc["Dory", ["no_deploy_support", "coral_support", "deploy_support"]].tolist() == [3, 3, 2]
    assert "," + "70.0000" + "," in (run / "metrics/by_site.csv").read_text()


def test_plot_tables(run: Path) -> None:
    score()
    patches = pd.read_csv(run / "plots/confusion_patches.csv")
    assert list(patches.columns) == ["actual", "predicted"]
    assert len(patches) == 15
    assert (patches["actual"] == patches["predicted"]).sum() == 12
    assert pd.read_csv(run / "plots/confusion_frames.csv").to_numpy().tolist() == [
        ["Deploy", "No-Deploy"],
        ["No-Deploy", "No-Deploy"],
        ["No-Deploy", "Deploy"],
    ]
    curve = pd.read_csv(run / "plots/alpha_curve.csv")
    assert curve["alpha"].tolist() == [round(step / 100, 2) for step in range(101)]
    assert curve.loc[49, ["macro_f1", "accuracy", "validation_macro_f1"]].tolist() == [25.0, 33.3333, 100.0]
    assert curve.loc[100, "deploy_recall"] == 0.0


def test_without_figures_the_scores_are_the_same_and_the_pictures_stay_as_they_are(run: Path) -> None:
    write_text(run / "plots/figures/alpha_curve.png", "of an earlier run")
    metrics = score()
    assert [path.name for path in (run / "plots/figures").iterdir()] == ["alpha_curve.png"]
    assert (run / "plots/figures/alpha_curve.png").read_text() == "of an earlier run"
    assert score(figures=True) == metrics
    assert (run / "plots/figures/alpha_curve.png").read_bytes().startswith(b"\x89PNG")


def test_every_picture_is_drawn(run: Path) -> None:
    score(figures=True)
    names = ["alpha_curve", "baselines", "by_site", "conditions", "confusion_frames", "confusion_patches"]
    names += ["coral_cover", "frames", "mistakes", "precision_recall", "reliability", "training"]
    assert sorted(path.name for path in (run / "plots/figures").iterdir()) == [f"{name}.png" for name in names]


def test_twice_gives_the_same_bytes(run: Path) -> None:
    def outputs() -> dict[str, bytes]:
        score(figures=True)
        found = [
            *run.glob("metrics/*"),
            *run.glob("plots/**/*.*"),
            run / "data/predictions/frames.csv",
        ]
        return {str(path): path.read_bytes() for path in sorted(found)}

    once = outputs()
    assert len(once) == 5 + 6 + 1 + 12 + 1
    assert outputs() == once


def test_without_frame_labels_frame_scores_are_not_made_up(run: Path) -> None:
    write_run(run, frame_labels=False, alpha="0.5")
    metrics = score(figures=True)
    assert metrics["patch"]["accuracy"] == 80.0
    assert metrics["frame"] == {
        "alpha": 0.5,
        **dict.fromkeys(("accuracy", "macro_f1", "deploy_precision", "deploy_recall", "deploy_f1"), "n/a"),
        **dict.fromkeys(("macro_f1_mean", "macro_f1_sd"), "n/a"),
        "n": 0,
    }
    frame = read_json(DETAILS)["frame"]["test"]
    assert frame == {
        "n": 0,
        "unlabelled": 4,
        "scores": "n/a",
        "reason": "no frame of the test split has a reference decision",
        "intervals": "n/a: 0 clusters; an interval needs at least 5",
    }
    assert pd.read_csv(run / "plots/alpha_curve.csv")["macro_f1"].isna().all()
    assert (run / "plots/figures/alpha_curve.png").exists()


def test_without_labelled_test_patches_there_is_no_headline(run: Path) -> None:
    edit("data/predictions/patches.csv", "gold", lambda df: df["split"] == "test", "")
    aggregate.main([])
    with pytest.raises(TableError, match="none of the 16 test patches has a reference class"):
        evaluate.main(["--no-figures"])
    assert not (run / "metrics").exists()
    assert not (run / "plots/figures").exists()


def test_a_real_survey_is_not_marked_synthetic(run: Path) -> None:
    write_run(run, synthetic=False)
    assert score()["data"]["synthetic"] is False
    assert read_json(DETAILS)["data"]["synthetic_frames"] == {"train": 0, "val": 0, "test": 0}


def test_synthetic_training_frames_alone_do_not_mark_a_field_score(run: Path) -> None:
    path = run / "data/catalog/frames.csv"
    lines = [line if "Aldgate" in line else line.replace(",1,", ",0,") for line in path.read_text().splitlines()]
    write_text(path, "\n".join(lines) + "\n")
    assert score()["data"]["synthetic"] is False
    assert read_json(DETAILS)["data"]["synthetic_frames"]["train"] == 2


def test_the_surest_mistake_leads_and_its_picture_is_its_own(run: Path) -> None:
    aggregate.main([])
    evidence = evaluate.read_evidence(SETTINGS)
    mistakes = evaluate.confident_mistakes(evidence, 2)
    assert mistakes["patch_id"].tolist() == ["demo/Dory/Dory_0001.jpg#r001c001", "demo/Coil/Coil_0000.jpg#r000c001"]
    assert mistakes["probability"].tolist() == [0.95, 0.9]
    index = evaluate.PATCH_INDEX.read(run / "data/patches/index.csv")
    assert evaluate.patch_rows(mistakes, index, 40).tolist() == [31, 17]
    with pytest.raises(TableError, match=r"lists 40 patches, patches\.npy holds 39"):
        evaluate.patch_rows(mistakes, index, 39)
    with pytest.raises(TableError, match="no patch demo/Dory"):
        evaluate.patch_rows(mistakes, index.iloc[:20], 20)


def stale_frame(frames: pd.DataFrame) -> np.ndarray:
    return frames["frame_id"].to_numpy() == "demo/Coil/Coil_0000.jpg"


@pytest.mark.parametrize(
    ("path", "column", "value", "message"),
    [
        ("data/predictions/frames.csv", "frame_id", "demo/Coil/gone.jpg", "only one of the prediction tables, first"),
        ("data/predictions/frames.csv", "alpha", 0.1, "2 values of alpha"),
        ("data/predictions/frames.csv", "decision", "Coral", "'Coral' is unknown; allowed: No-Deploy, Deploy"),
        ("data/predictions/patches.csv", "gold", "Sand", "'Sand' is unknown"),
    ],
)
def test_tables_that_do_not_fit_are_refused(run: Path, path: str, column: str, value: object, message: str) -> None:
    aggregate.main([])
    edit(path, column, stale_frame, value)
    with pytest.raises(TableError, match=message):
        evaluate.main(["--no-figures"])


def test_a_frame_without_a_catalog_row_is_refused(run: Path) -> None:
    aggregate.main([])
    path = run / "data/catalog/frames.csv"
    write_text(path, "\n".join(line for line in path.read_text().splitlines() if "Coil_0000" not in line) + "\n")
    with pytest.raises(TableError, match=r"1 predicted frames are not in .*Coil_0000"):
        evaluate.main(["--no-figures"])


def test_metrics_hold_only_what_dvc_shows(run: Path) -> None:
    score()
    groups = json.loads((run / METRICS).read_text())
    values = [value for group in groups.values() for value in group.values()]
    assert len(values) == 20
    assert all(isinstance(value, int | float | str | bool) for value in values)
